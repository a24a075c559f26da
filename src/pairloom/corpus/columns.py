"""A column of Parquet, Arrow or a data set to blocks of documents, from Arrow's own buffers.

Enters: an open file, or tables. Leaves: `_core.Documents`, one document a row, and how many rows were left out.
pyarrow decodes; the text is copied from its buffers as it lies there. Few rows are decoded at a time, so memory
depends on the size of documents and not on that of row groups or files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pairloom import _core
from pairloom.corpus.compression import PIECE_BYTES
from pairloom.errors import CorpusError
from pairloom.extras import extra

__all__ = ["Rows", "RowsReader"]

# Rows that are decoded at a time, where the file does not say how long they are, and at most.
_FEWEST_ROWS, _SOME_ROWS, _MOST_ROWS = 16, 1024, 1 << 17


class Rows(NamedTuple):
    """Some rows: documents, rows left out, and how much of the file is read by now, from 0 to 1."""

    documents: _core.Documents
    n_skipped: int
    done: float


def _pyarrow(module: str = "pyarrow") -> Any:
    return extra(module, "reading Parquet and Arrow")


class RowsReader:
    """Reads one column; `field` holds its name, and the names of struct fields below it."""

    def __init__(self, name: str, field: list[str], *, replace: bool, skip: bool) -> None:
        self._name = name
        self._field = field
        self._replace = replace
        self._skip = skip
        self._n_rows = 0

    def parquet(self, file: BinaryIO) -> Iterator[Rows]:
        """The rows of a Parquet file."""
        pyarrow = _pyarrow()
        try:
            parquet = _pyarrow("pyarrow.parquet").ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
            self._check(parquet.schema_arrow)
            n_rows = parquet.metadata.num_rows
            for batch in parquet.iter_batches(self._rows_at_a_time(parquet.metadata), columns=[".".join(self._field)]):
                yield from self._rows(batch.column(0), self._field[1:], n_rows)
        except MemoryError:
            # One of Arrow's exceptions too: the file is sound.
            raise
        except (pyarrow.ArrowException, OSError) as error:
            raise self._damaged("Parquet", error) from error

    def arrow(self, file: BinaryIO) -> Iterator[Rows]:
        """The rows of an Arrow file, in the file or the stream format."""
        pyarrow, ipc = _pyarrow(), _pyarrow("pyarrow.ipc")
        begin = file.read(6)
        file.seek(0)
        try:
            if begin == b"ARROW1":
                reader = ipc.open_file(file)
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            else:
                reader = ipc.open_stream(file)
                batches = iter(reader)
            self._check(reader.schema)
            for batch in batches:
                yield from self._rows(batch.column(self._field[0]), self._field[1:], None)
        except MemoryError:
            # One of Arrow's exceptions too: the file is sound.
            raise
        except (pyarrow.ArrowException, OSError) as error:
            raise self._damaged("Arrow", error) from error

    def tables(self, tables: Iterator[Any], n_rows: int | None) -> Iterator[Rows]:
        """The rows of Arrow tables."""
        for table in tables:
            self._check(table.schema)
            column = table.column(self._field[0])
            for chunk in getattr(column, "chunks", [column]):
                yield from self._rows(chunk, self._field[1:], n_rows)

    def _check(self, schema: Any) -> None:
        """Raises CorpusError unless the schema has the column and it is text."""
        pyarrow = _pyarrow()
        wanted = ".".join(self._field)
        if self._field[0] not in schema.names:
            raise CorpusError(
                f"{self._name}: no column {self._field[0]!r}; the columns are {', '.join(map(repr, schema.names))}; "
                "name one with text_field"
            )
        kind = schema.field(self._field[0]).type
        for key in self._field[1:]:
            if not pyarrow.types.is_struct(kind) or kind.get_field_index(key) < 0:
                raise CorpusError(f"{self._name}: no field {key!r} in column {self._field[0]!r}, which is {kind}")
            kind = kind.field(kind.get_field_index(key)).type
        if pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
        types = pyarrow.types
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            raise CorpusError(f"{self._name}: column {wanted!r} is {kind}, not string")

    def _rows_at_a_time(self, metadata: Any) -> int:
        """How many rows hold about half a block."""
        n_rows, n_bytes = 0, 0
        wanted = ".".join(self._field)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                column = group.column(place)
                if column.path_in_schema == wanted:
                    n_rows += group.num_rows
                    n_bytes += column.total_uncompressed_size
        return max(_FEWEST_ROWS, min(_MOST_ROWS, PIECE_BYTES // 2 * n_rows // max(n_bytes, 1) or _SOME_ROWS))

    def _rows(self, column: Any, below: list[str], n_rows: int | None) -> Iterator[Rows]:
        pyarrow, compute = _pyarrow(), _pyarrow("pyarrow.compute")
        for key in below:
            # Unlike struct.field(), this keeps what is null above.
            column = compute.struct_field(column, key)
        if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
            column = column.cast(pyarrow.large_string())
        first_row, self._n_rows = self._n_rows, self._n_rows + len(column)
        n_nulls = column.null_count
        if n_nulls:
            if not self._skip:
                row = first_row + compute.index(column.is_null(), True).as_py()
                raise CorpusError(f"{self._name}: row {row}: the text is null; leave such rows out with skip_bad")
            column = column.drop_null()
        for start, stop in _cut(column):
            data, offsets = _buffers(column.slice(start, stop - start))
            documents, n_skipped = _core.Documents.from_column(
                data,
                offsets,
                name=self._name,
                first_row=first_row + start,
                replace=self._replace,
                skip=self._skip,
            )
            yield Rows(documents, n_skipped + n_nulls, self._n_rows / n_rows if n_rows else 0.0)
            n_nulls = 0
        if n_nulls:
            yield Rows(_core.Documents.from_texts([]), n_nulls, self._n_rows / n_rows if n_rows else 0.0)

    def _damaged(self, kind: str, error: Exception) -> Exception:
        """The error of a decoder, with the file and the remedy; errors of the system stay what they are."""
        if isinstance(error, OSError) and error.errno is not None:
            return error
        return CorpusError(f"{self._name}: not readable as {kind}: {error}; the file is damaged or was cut short")


def _cut(column: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about PIECE_BYTES."""
    offsets = _offsets(column)
    start = 0
    while start < len(column):
        stop = int(np.searchsorted(offsets, offsets[start] + PIECE_BYTES, side="left"))
        stop = min(max(stop, start + 1), len(column))
        yield start, stop
        start = stop


def _offsets(column: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """The n + 1 offsets of a column of strings, as they lie there."""
    width = np.int32 if str(column.type) == "string" else np.int64
    buffer = column.buffers()[1]
    if buffer is None or len(column) == 0:
        return np.zeros(1, dtype=width)
    return np.frombuffer(buffer, dtype=width)[column.offset : column.offset + len(column) + 1]


def _buffers(column: Any) -> tuple[memoryview, np.ndarray[Any, np.dtype[np.int64]]]:
    """(text, offsets in it) of a column of strings."""
    offsets = _offsets(column).astype(np.int64)
    data = column.buffers()[2]
    if data is None:
        return memoryview(b""), offsets - offsets[0]
    return memoryview(data).cast("B")[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0]
