"""The spans of tokens in a text.

The tokens of a text, joined, are its UTF-8 bytes. So the lengths of the tokens determine their byte spans. A token's
character span covers every character of which it has a byte: if tokens share a character, the span of each covers it.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from pairloom.reference.encoder import encode
from pairloom.reference.vocabulary import Model

Span = tuple[int, int]


def byte_spans(lengths: Sequence[int]) -> list[Span]:
    """Returns the spans of adjacent tokens with these lengths.

    >>> byte_spans([2, 1])
    [(0, 2), (2, 3)]
    """
    return list(pairwise(accumulate(lengths, initial=0)))


def char_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """Returns the span of the characters that each byte span of the text touches.

    >>> char_spans("aé", [(0, 2), (2, 3)])  # the first byte of é, and the second
    [(0, 2), (1, 2)]
    """
    character_of_byte = [index for index, character in enumerate(text) for _ in character.encode()]
    return [(character_of_byte[start], character_of_byte[end - 1] + 1) for start, end in spans]


def encode_with_offsets(text: str, model: Model) -> tuple[list[int], list[Span], list[Span]]:
    """Returns the ids of a text, and the byte span and the character span of each."""
    ids = encode(text, model)
    spans = byte_spans([len(token) for token in tokens_of(ids, model)])
    return ids, spans, char_spans(text, spans)


def decode_with_offsets(ids: Sequence[int], model: Model) -> tuple[str, list[int]]:
    """Returns the text of ids, and the index of the character in which each token begins, as tiktoken defines it.

    A token that begins inside a character has that character's index. Raises UnicodeDecodeError if the bytes are not
    UTF-8.
    """
    tokens = tokens_of(ids, model)
    offsets = []
    n_characters = 0
    for token in tokens:
        begins_inside = 0x80 <= token[0] < 0xC0
        offsets.append(max(0, n_characters - begins_inside))
        n_characters += sum(not 0x80 <= byte < 0xC0 for byte in token)
    return b"".join(tokens).decode(), offsets


def tokens_of(ids: Iterable[int], model: Model) -> list[bytes]:
    """Returns the bytes of each id; KeyError for an unknown one."""
    token_of_id = {token_id: token.encode() for token, token_id in model.special_tokens.items()} | model.vocab
    return [token_of_id[token_id] for token_id in ids]
