"""Parquet: `shard-00000.parquet`, one row for each document, in a column input_ids of list<uint32>.

A row group ends with the document that brings it to ROW_GROUP_TOKENS, so that the file's bytes do not depend on batch
sizes. Memory is one row group, or the longest document.
"""

import contextlib
import threading
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pairloom._internal.optional_deps import import_pyarrow
from pairloom.errors import FormatError

SUFFIXES = (".parquet",)
COLUMN = "input_ids"
ROW_GROUP_TOKENS = 1 << 21
# The largest 32-bit offset.
_MAX_TOKENS = np.iinfo(np.int32).max


def dtype(n_vocab: int) -> np.dtype[Any]:
    """Returns uint32 for every vocabulary."""
    return np.dtype("<u4")


def _schema() -> Any:
    pyarrow = import_pyarrow()
    return pyarrow.schema([pyarrow.field(COLUMN, pyarrow.list_(pyarrow.uint32()), nullable=False)])


def write_empty(file: Any, metadata: dict[bytes, bytes]) -> None:
    """Writes a file with the shards' schema, `metadata` and no rows into an open file."""
    with import_pyarrow("pyarrow.parquet").ParquetWriter(file, _schema().with_metadata(metadata)):
        pass


def read_metadata(file: BinaryIO) -> dict[bytes, bytes]:
    """Returns the metadata of an open file."""
    found: dict[bytes, bytes] = import_pyarrow("pyarrow.parquet").read_metadata(file).metadata or {}
    return found


def read(files: list[BinaryIO], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Returns (ids, offsets) of one shard."""
    column = import_pyarrow("pyarrow.parquet").read_table(files[0]).column(COLUMN).combine_chunks()
    chunks = getattr(column, "chunks", [column])
    lengths = [chunk.value_lengths().to_numpy(zero_copy_only=False) for chunk in chunks]
    ids = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in chunks]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]), dtype=np.int64)
    return np.concatenate([np.zeros(0, np.uint32), *ids]), offsets


class OpenParquet:
    """A new Parquet file that is being written."""

    def __init__(self, path: Path, schema: Any, **options: Any) -> None:
        # Ctrl-C abandons the file while a thread may be writing: pyarrow crashes if two threads use one writer.
        self._lock = threading.Lock()
        self._schema = schema
        self._file = path.open("xb")
        self._writer = import_pyarrow("pyarrow.parquet").ParquetWriter(self._file, schema, **options)

    def _write_table(self, table: Any, row_group_size: int) -> None:
        with self._lock:
            self._writer.write_table(table, row_group_size=row_group_size)

    def finish(self) -> None:
        """Completes the file."""
        with self._lock:
            self._writer.close()
            self._file.close()

    def abandon(self) -> None:
        """Closes what is open, once nothing is being written."""
        with self._lock:
            # Before the file: a writer that is left open writes when it is garbage-collected.
            with contextlib.suppress(Exception):
                self._writer.close()
            self._file.close()


class Writer(OpenParquet):
    """Writes one shard."""

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        super().__init__(paths[0], _schema(), use_dictionary=False)
        self._ids: list[npt.NDArray[Any]] = []
        self._ends: list[npt.NDArray[np.int64]] = []
        self._n_tokens = 0

    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        """Appends ids; ends: where documents end in them."""
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
        if len(ends):
            self._ends.append(ends + self._n_tokens)
        self._n_tokens += len(ids)

    def _flush(self) -> None:
        pyarrow = import_pyarrow()
        if self._n_tokens > _MAX_TOKENS:
            raise FormatError(
                f"a document has {self._n_tokens} tokens, but a row of Parquet can have at most {_MAX_TOKENS}; pass "
                "a separator to split it, or use npy"
            )
        values = np.concatenate(self._ids).astype(np.uint32, copy=False)
        offsets = np.concatenate([np.zeros(1, np.int64), *self._ends])
        large = pyarrow.LargeListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(values))
        rows = large.cast(self._schema.field(COLUMN).type)
        table = pyarrow.Table.from_arrays([rows], schema=self._schema)
        self._write_table(table, max(len(rows), 1))
        self._ids, self._ends, self._n_tokens = [], [], 0

    def finish(self) -> None:
        """Completes the file."""
        if self._ends:
            self._flush()
        super().finish()
