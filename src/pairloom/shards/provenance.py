"""Provenance: a Parquet table beside each shard that says where each token comes from; see docs/shards.md.

A row stands for a document, in packed shards for a part of one. Rows are in the order of the tokens, and each begins
where the previous one ends. A row group has ROW_GROUP rows, so that the file's bytes do not depend on batch sizes.
"""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom._internal.optional_deps import import_pyarrow
from pairloom.shards.writers.parquet import OpenParquet

ROW_GROUP = 1 << 16

Numbers = npt.NDArray[np.int64]


def name_of(format: str, number: int) -> str:
    """Returns the name of a shard's table; in format parquet, hidden from readers that take all files of a folder."""
    return f"{'.' if format == 'parquet' else ''}shard-{number:05d}.provenance.parquet"


def _schema() -> Any:
    pyarrow = import_pyarrow()
    columns = ("input", "record", "first_token", "end_token", "tokens_before", "bytes")
    numbers = [pyarrow.field(name, pyarrow.int64(), nullable=False) for name in columns]
    return pyarrow.schema([pyarrow.field("id", pyarrow.string()), *numbers])


class ProvenanceRows(NamedTuple):
    """Provenance rows for a batch of ids, in order: int64 [n] each, and a list of n ids (None if ids are not wanted).

    documents: the number, within the batch, of the document that a row belongs to. ends: where the row's ids end.
    before: how many tokens of the document come before the row. n_bytes: the size of the document's text.
    """

    documents: Numbers
    ends: Numbers
    inputs: Numbers
    records: Numbers
    before: Numbers
    n_bytes: Numbers
    ids: list[str | None] | None


class ProvenanceWriter(OpenParquet):
    """Writes the provenance table of one shard."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _schema())
        self._rows = self._schema.empty_table()
        self._end = 0

    def write(self, rows: ProvenanceRows, first: int, stop: int, shift: int) -> None:
        """Appends the rows of documents `first` to `stop`; shift is added to their token positions."""
        pyarrow = import_pyarrow()
        start, end = np.searchsorted(rows.documents, [first, stop]).tolist()
        ends = rows.ends[start:end] + shift
        starts = np.concatenate([[self._end], ends])[:-1]
        self._end = int(ends[-1]) if len(ends) else self._end
        ids = pyarrow.nulls(end - start, pyarrow.string()) if rows.ids is None else rows.ids[start:end]
        inputs, records, before, n_bytes = (column[start:end] for column in rows[2:6])
        columns = [ids, inputs, records, starts, ends, before, n_bytes]
        table = pyarrow.Table.from_arrays(list(map(pyarrow.array, columns)), names=self._schema.names)
        self._rows = pyarrow.concat_tables([self._rows, table.cast(self._schema)])
        while len(self._rows) >= ROW_GROUP:
            self._write(self._rows.slice(0, ROW_GROUP))
            self._rows = self._rows.slice(ROW_GROUP)

    def _write(self, rows: Any) -> None:
        self._write_table(rows.combine_chunks(), ROW_GROUP)

    def finish(self) -> None:
        """Completes the file."""
        self._write(self._rows)
        super().finish()


def read(file: BinaryIO, n_inputs: int) -> Any:
    """Reads the table of a shard, a pyarrow table; raises some error if it is damaged or names an unknown input."""
    # Without threads: one that waits for the interpreter while it ends aborts the process.
    # pyarrow's `read_table` starts one even with use_threads=False.
    table = import_pyarrow("pyarrow.parquet").ParquetFile(file, pre_buffer=False).read(use_threads=False)
    table = table.select(_schema().names).cast(_schema())
    inputs = table.column("input").to_numpy()
    if not ((inputs >= 0) & (inputs < n_inputs)).all():
        raise ValueError("an input is not in the manifest")
    return table


def rows_with(table: Any, ids: list[str]) -> list[int]:
    """Returns the rows of the documents with one of the ids."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("pyarrow.compute")
    found = compute.is_in(table.column("id"), value_set=pyarrow.array(ids, pyarrow.string()))
    rows: list[int] = np.flatnonzero(found.to_numpy()).tolist()
    return rows
