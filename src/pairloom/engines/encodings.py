"""A tokenizer as datatrove's DocumentTokenizer calls one when it saves losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairloom.engines.shared import specials_options
from pairloom.tokenizer import Tokenizer

__all__ = ["BatchEncoder", "Encoding"]


class Encoding(NamedTuple):
    """What datatrove asks of an encoding when it saves losses."""

    ids: list[int]
    spans: Any

    def char_to_token(self, position: int) -> int | None:
        """The token that holds this character."""
        found = np.flatnonzero((self.spans[:, 0] <= position) & (position < self.spans[:, 1]))
        return int(found[0]) if len(found) else None


class BatchEncoder:
    """A tokenizer as datatrove calls one."""

    def __init__(self, tokenizer: Tokenizer, end: list[int], specials: str) -> None:
        self._tokenizer, self._end = tokenizer, end
        self._options = specials_options(specials)

    def get_vocab_size(self) -> int:
        """The largest id + 1."""
        return self._tokenizer.n_vocab

    def encode_batch(self, texts: list[str]) -> list[Encoding]:
        """An encoding of each text."""
        pairs = [self._tokenizer.encode_with_offsets(text, **self._options) for text in texts]
        return [Encoding(ids + self._end, spans) for ids, spans in pairs]
