"""Provenance: beside each shard a Parquet table says of which document each token is. docs/shards.md specifies it.

A row is a document, in packed shards a part of one. Rows are in the order of the tokens, and each begins where the one
before it ends. A row group has ROW_GROUP rows, so that the file's bytes do not depend on the sizes of batches.
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
    """The name of the table of a shard; beside Parquet hidden from readers that take all files of a folder."""
    return f"{'.' if format == 'parquet' else ''}shard-{number:05d}.provenance.parquet"


def _schema() -> Any:
    pyarrow = import_pyarrow()
    columns = ("input", "record", "first_token", "end_token", "tokens_before", "bytes")
    numbers = [pyarrow.field(name, pyarrow.int64(), nullable=False) for name in columns]
    return pyarrow.schema([pyarrow.field("id", pyarrow.string()), *numbers])


class ProvenanceRows(NamedTuple):
    """Rows of a batch of ids, in their order: int64 [n] each, and a list of n ids, None without any.

    documents: the number in the batch of the document that a row is of. ends: where its ids end. before: the tokens of
    its document before it. n_bytes: of the text of its document.
    """

    documents: Numbers
    ends: Numbers
    inputs: Numbers
    records: Numbers
    before: Numbers
    n_bytes: Numbers
    ids: list[str | None] | None


class ProvenanceWriter(OpenParquet):
    """Writes the table of one shard."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _schema())
        self._rows = self._schema.empty_table()
        self._end = 0

    def write(self, rows: ProvenanceRows, first: int, stop: int, shift: int) -> None:
        """Appends the rows of the documents from `first` to `stop`; shift: what is added to their places."""
        pyarrow = import_pyarrow()
        start, end = np.searchsorted(rows.documents, [first, stop]).tolist()
        ends = rows.ends[start:end] + shift
        starts = np.concatenate([[self._end], ends])[:-1]
        self._end = int(ends[-1]) if len(ends) else self._end
        ids = pyarrow.nulls(end - start, pyarrow.string()) if rows.ids is None else rows.ids[start:end]
        inputs, records, before, n_bytes = (column[start:end] for column in rows[2:6])
        columns = [ids, inputs, records, starts, ends, before, n_bytes]
        table = pyarrow.Table.from_arrays(list(map(pyarrow.array, columns)), names=self._schema.names)
        self.append(table.cast(self._schema))

    def append(self, table: Any) -> None:
        """Appends rows as `read` returns them."""
        self._rows = import_pyarrow().concat_tables([self._rows, table])
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
    """The table of a shard, a table of pyarrow; an error of any kind for another one, or a number of no input."""
    # Its threads may still be at work when the interpreter ends, which aborts the process.
    table = import_pyarrow("pyarrow.parquet").read_table(file, use_threads=False, pre_buffer=False)
    table = table.select(_schema().names).cast(_schema())
    inputs = table.column("input").to_numpy()
    if not ((inputs >= 0) & (inputs < n_inputs)).all():
        raise ValueError("an input is none of the manifest's")
    return table


def rows_with(table: Any, ids: list[str]) -> list[int]:
    """The rows of the documents with one of the ids."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("pyarrow.compute")
    found = compute.is_in(table.column("id"), value_set=pyarrow.array(ids, pyarrow.string()))
    rows: list[int] = np.flatnonzero(found.to_numpy()).tolist()
    return rows


def without(table: Any, is_kept: npt.NDArray[np.bool_], lengths: Numbers) -> Any:
    """The rows that are kept, a document each; lengths: the tokens of each of these, which follow each other now."""
    pyarrow, schema, ends = import_pyarrow(), _schema(), np.cumsum(lengths)
    kept = table.filter(pyarrow.array(is_kept))
    for name, tokens in (("first_token", ends - lengths), ("end_token", ends)):
        kept = kept.set_column(schema.get_field_index(name), schema.field(name), pyarrow.array(tokens))
    return kept
