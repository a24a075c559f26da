"""Where tokens lie in a text: byte and character spans from the lengths of tokens. Defined in `reference.offsets`.

Cost: two passes over the ids, and for text that is not ASCII two over its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Spans = npt.NDArray[np.int64]
else:
    from pairloom._internal.lazy import numpy as np


__all__ = ["byte_spans", "char_spans", "starts_of_tokens"]


def byte_spans(lengths: npt.NDArray[np.int64]) -> Spans:
    """The spans [n, 2] of tokens of these lengths, one after the other."""
    ends = np.cumsum(lengths)
    return np.stack([ends - lengths, ends], axis=1)


def char_spans(text: str, spans: Spans) -> Spans:
    """The characters [n, 2] that each byte span of the text touches; spans hold at least a byte."""
    if text.isascii() or not len(spans):
        return spans
    character_of_byte = np.cumsum(_begins_character(text.encode())) - 1
    starts, ends = spans.T
    return np.stack([character_of_byte[starts], character_of_byte[ends - 1] + 1], axis=1)


def starts_of_tokens(blob: bytes, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The character in which each token begins, the tokens being of these lengths in `blob`; as tiktoken has it."""
    if not len(lengths):
        return np.zeros(0, np.int64)
    begins = _begins_character(blob)
    starts = byte_spans(lengths)[:, 0]
    before = np.concatenate([[0], np.cumsum(begins)])[starts]
    offsets: npt.NDArray[np.int64] = np.maximum(before - (begins[starts] == 0), 0)
    return offsets


def _begins_character(data: bytes) -> npt.NDArray[np.bool_]:
    """Of each byte whether it is the first of a character."""
    begins: npt.NDArray[np.bool_] = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
    return begins
