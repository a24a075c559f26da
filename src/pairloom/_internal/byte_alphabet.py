"""The GPT-2 byte alphabet: each byte as one printable character, as in vocab.json, merges.txt and tokenizer.json.

The 188 bytes that print in Latin-1 stand for themselves; the other 68 are U+0100, U+0101, ... in order, so a space is
U+0120. Source: openai/gpt-2, `bytes_to_unicode`.
"""

from typing import Final

_PRINTABLE: Final = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_UNPRINTABLE: Final = [byte for byte in range(256) if byte not in _PRINTABLE]

ALPHABET: Final = "".join(
    chr(byte) if byte in _PRINTABLE else chr(256 + _UNPRINTABLE.index(byte)) for byte in range(256)
)
"""The character of each byte."""

_TO_CHARACTER: Final = dict(enumerate(ALPHABET))

_BYTE_OF: Final = {character: byte for byte, character in enumerate(ALPHABET)}


def to_alphabet(token: bytes) -> str:
    """Returns the token in the byte alphabet.

    >>> to_alphabet(b" the")
    'Ġthe'
    """
    return token.decode("latin-1").translate(_TO_CHARACTER)


def from_alphabet(text: str) -> bytes | None:
    """Returns the bytes that `text` spells, or None if a character is not in the alphabet.

    >>> from_alphabet("Ġthe")
    b' the'
    >>> from_alphabet("a b") is None
    True
    """
    try:
        return bytes(map(_BYTE_OF.__getitem__, text))
    except KeyError:
        return None
