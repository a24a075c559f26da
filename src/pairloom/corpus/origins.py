"""Where documents come from: the number of each document's record in its input, and its id."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Origins(NamedTuple):
    """For each document its record, int64 [n], and its id or None; `ids` is None unless a field was named.

    The record is the number of the line from 1 (JSON lines), or of the row from 0 (Parquet, Arrow), as in messages; for
    other inputs, the number of the document, from 0.
    """

    records: npt.NDArray[np.int64]
    ids: list[str | None] | None

    def part(self, start: int, stop: int) -> Origins:
        """Returns the origins of the documents from `start` to `stop`."""
        return Origins(self.records[start:stop], None if self.ids is None else self.ids[start:stop])

    def selected(self, is_taken: npt.NDArray[np.bool_]) -> Origins:
        """Returns the origins of the selected documents."""
        ids = None if self.ids is None else list(itertools.compress(self.ids, is_taken.tolist()))
        return Origins(self.records[is_taken], ids)

    @classmethod
    def joined(cls, parts: Sequence[Origins]) -> Origins:
        """Joins the origins of consecutive blocks."""
        ids = None if parts[0].ids is None else [one for part in parts for one in part.ids or ()]
        return cls(np.concatenate([part.records for part in parts]), ids)
