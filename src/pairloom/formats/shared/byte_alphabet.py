"""The GPT-2 byte alphabet: each byte as one printable character, as in vocab.json, merges.txt and tokenizer.json.

The 188 bytes that print in Latin-1 stand for themselves; the other 68 are U+0100, U+0101, ... in order, so a space is
U+0120. Source: openai/gpt-2, `bytes_to_unicode`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_PRINTABLE: Final = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_UNPRINTABLE: Final = [byte for byte in range(256) if byte not in _PRINTABLE]

ALPHABET: Final = "".join(
    chr(byte) if byte in _PRINTABLE else chr(256 + _UNPRINTABLE.index(byte)) for byte in range(256)
)
"""The character of each byte."""

_TO_CHARACTER: Final = dict(enumerate(ALPHABET))

_NO_BYTE: Final = 256


@cache
def _byte_of() -> npt.NDArray[np.uint16]:
    """Returns the table from each character below U+10000 to its byte."""
    import numpy as np

    table = np.full(1 << 16, _NO_BYTE, dtype=np.uint16)
    table[[ord(character) for character in ALPHABET]] = np.arange(256)
    return table


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

    Designed for a whole vocabulary in one string: a table over UTF-16 takes a tenth of the time of str.translate.
    """
    import numpy as np

    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
    found = _byte_of()[units]
    return None if (found == _NO_BYTE).any() else found.astype(np.uint8).tobytes()
