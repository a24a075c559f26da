"""Parquet: `shard-00000.parquet`, one row a document, column input_ids of list<uint32>.

A row group is closed by the document that brings it to ROW_GROUP_TOKENS, so that its bytes do not depend on how the
ids came in; memory is one row group, or the longest document.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.extras import extra

__all__ = ["SUFFIXES", "Writer", "dtype"]

SUFFIXES = (".parquet",)
COLUMN = "input_ids"
ROW_GROUP_TOKENS = 1 << 21


def dtype(n_vocab: int) -> np.dtype[Any]:
    """uint32, whatever the vocabulary."""
    return np.dtype("<u4")


def _pyarrow(module: str = "pyarrow") -> Any:
    return extra(module, "writing Parquet")


class Writer:
    """Writes one shard."""

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        pyarrow = _pyarrow()
        self._schema = pyarrow.schema([pyarrow.field(COLUMN, pyarrow.list_(pyarrow.uint32()), nullable=False)])
        self._file = paths[0].open("wb")
        self._writer = _pyarrow("pyarrow.parquet").ParquetWriter(self._file, self._schema, use_dictionary=False)
        self._ids: list[npt.NDArray[Any]] = []
        self._ends: list[npt.NDArray[np.int64]] = []
        self._n_tokens = 0

    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        """Appends ids, and where documents end in them."""
        while True:
            last = int(np.searchsorted(ends, ROW_GROUP_TOKENS - self._n_tokens))
            if last == len(ends):
                self._keep(ids, ends)
                return
            cut = int(ends[last])
            self._keep(ids[:cut], ends[: last + 1])
            self._flush()
            ids, ends = ids[cut:], ends[last + 1 :] - cut

    def _keep(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        self._ids.append(ids)
        self._ends.append(ends + self._n_tokens)
        self._n_tokens += len(ids)

    def _flush(self) -> None:
        pyarrow = _pyarrow()
        values = np.concatenate(self._ids).astype(np.uint32)
        offsets = np.concatenate([np.zeros(1, np.int64), *self._ends])
        large = pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(values))
        rows = large.cast(self._schema.field(COLUMN).type)
        table = pyarrow.Table.from_arrays([rows], schema=self._schema)
        self._writer.write_table(table, row_group_size=max(len(rows), 1))
        self._ids, self._ends, self._n_tokens = [], [], 0

    def finish(self) -> None:
        """Completes the file."""
        if self._ends:
            self._flush()
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Closes what is open."""
        # Before the file: a writer that is left open writes when it is collected.
        with contextlib.suppress(Exception):
            self._writer.close()
        self._file.close()
