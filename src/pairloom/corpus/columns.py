"""Reads a text column of Parquet, Arrow or a data set as blocks of documents, one document a row.

pyarrow decodes, and the core copies the text from Arrow's buffers. Few rows are decoded at a time, so memory depends on
the size of documents, not on the size of row groups or files.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pairloom import _core
from pairloom._internal.machine import machine_memory
from pairloom._internal.optional_deps import import_pyarrow
from pairloom.corpus.first_bytes import BEGIN_BYTES
from pairloom.corpus.origins import Origins
from pairloom.errors import CorpusError, PairloomError

# Rows that are decoded at a time, where the file does not say how long they are, and at most.
_FEWEST_ROWS, _SOME_ROWS, _MOST_ROWS = 16, 1024, 1 << 13
# A dictionary may hold a text once that many rows repeat. So many bytes of texts may be decoded at a time.
_MOST_DECODED = 1 << 28
# The offset of a row, and what is made of it: rows may be empty.
_ROW_BYTES = 16
# A Parquet file of so many bytes is read without a buffer, a column of a row group at a time.
_SMALL_FILE = 1 << 24
# Of an Arrow file between its last batch and its footer: eight bytes that end the batches, and padding.
_MOST_BETWEEN = 72


Rows = tuple[_core.Documents, int, float, Origins | None]
"""Some rows: documents, rows left out, how much of the file is read by now, from 0 to 1, and origins if wanted."""


class _Step(NamedTuple):
    """A column or a field of a struct, and how many lists are in one another below it."""

    name: str
    n_lists: int

    @classmethod
    def of(cls, name: str) -> "_Step":
        key = name
        while key.endswith("[]"):
            key = key[:-2]
        return cls(key, (len(name) - len(key)) // 2)


class RowsReader:
    """Reads one column; `field` holds its name, and the names of struct fields below it.

    A name that ends with [] holds lists; each element is a row. id_field: the names that lead to the column of the id,
    where ids are wanted.
    """

    def __init__(
        self,
        name: str,
        field: list[str],
        *,
        replace: bool,
        skip: bool,
        piece_bytes: int,
        origins: bool = False,
        id_field: list[str] | None = None,
    ) -> None:
        self._name = name
        self._has_origins = origins
        self._id_field = id_field or []
        self._piece_bytes = piece_bytes
        self._field = [_Step.of(name) for name in field]
        self._shown = ".".join(field)
        # What messages count.
        is_list = any(step.n_lists for step in self._field)
        counted = f"{name}: elements of {self._shown}" if is_list else name
        self._skip = skip
        self._columns = _core.TextColumns(counted, replace=replace, skip=skip)
        # Rows of the file, and texts in them.
        self._n_read = self._n_rows = 0

    def group_bytes(self, file: BinaryIO) -> list[int]:
        """How many bytes each row group of a Parquet file has, uncompressed."""
        with damage_named(self._name, "Parquet", partial(self._damaged, "Parquet", file)):
            metadata = open_parquet(file, buffer_size=0).metadata
            return [max(metadata.row_group(number).total_byte_size, 0) for number in range(metadata.num_row_groups)]

    def parquet(self, file: BinaryIO, row_group: int | None = None) -> Iterator[Rows]:
        """The rows of a Parquet file, or of one of its row groups."""
        with damage_named(self._name, "Parquet", partial(self._damaged, "Parquet", file)):
            # A buffer grows to what a damaged page says that it holds.
            buffer_size = 0 if file.seek(0, os.SEEK_END) <= _SMALL_FILE else 1 << 20
            reader = open_parquet(file, buffer_size=buffer_size)
            self._check(reader.schema_arrow)
            metadata = reader.metadata
            # Below a list Parquet has names of its own.
            is_list = any(step.n_lists for step in self._field)
            path = self._field[0].name if is_list else ".".join(step.name for step in self._field)
            groups = range(metadata.num_row_groups) if row_group is None else [row_group]
            n_rows = (metadata if row_group is None else metadata.row_group(row_group)).num_rows
            for number in groups:
                n_bytes = metadata.row_group(number).total_byte_size
                rows = self._rows_at_a_time(metadata.row_group(number))
                if rows * n_bytes > _MOST_DECODED:
                    rows = min(rows, max(_MOST_DECODED // _longest_in_dictionary(file, metadata, number, path), 1))
                wanted = [path, ".".join(self._id_field)] if self._id_field else [path]
                n_before = self._n_read
                for batch in reader.iter_batches(rows, row_groups=[number], columns=wanted):
                    column, ids = batch.column(self._field[0].name), self._ids(batch)
                    # The memory of this batch is wanted for the next.
                    del batch
                    yield from self._rows(column, n_rows, ids=ids)
                    del column
                n_read, n_there = self._n_read - n_before, metadata.row_group(number).num_rows
                if n_read != n_there:
                    # As pyarrow does it with dictionaries within lists, without an error.
                    raise CorpusError(
                        f"{self._name}: only {n_read} of the {n_there} rows of row group {number} are read; the file is"
                        f" damaged, or write {self._shown} without dictionaries"
                    )

    def arrow(self, file: BinaryIO) -> Iterator[Rows]:
        """The rows of an Arrow file, in the file or the stream format."""
        ipc = import_pyarrow("pyarrow.ipc")
        begin = file.read(6)
        with damage_named(self._name, "Arrow", partial(self._damaged, "Arrow", file)):
            source = _WholeReads(file)
            if begin == b"ARROW1":
                reader = ipc.open_file(source)
                # What was read was the footer, at the end.
                source.furthest = 0
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            else:
                reader = ipc.open_stream(source)
                batches = iter(reader)
            self._check(reader.schema)
            index = reader.schema.get_field_index(self._field[0].name)
            for batch in batches:
                column, ids = batch.column(index), self._ids(batch)
                del batch
                yield from self._rows(column, done=source.share_read, ids=ids)
                del column
            if begin != b"ARROW1" and file.read(1):
                raise CorpusError(
                    f"{self._name}: something follows the end of its Arrow stream; put each stream into its own file"
                )
            if begin == b"ARROW1" and source.furthest and source.n_bytes_before_footer() > _MOST_BETWEEN:
                raise CorpusError(
                    f"{self._name}: something stands between its last batch and its footer, as where Arrow files were"
                    " joined, of which each should be a file of its own"
                )

    def tables(self, tables: Iterator[Any], n_rows: int | None) -> Iterator[Rows]:
        """The rows of Arrow tables."""
        for table in tables:
            self._check(table.schema)
            column = table.column(self._field[0].name)
            for chunk in getattr(column, "chunks", [column]):
                yield from self._rows(chunk, n_rows)

    def _check(self, schema: Any) -> None:
        """Raises CorpusError unless the schema has the column and it is text."""
        pyarrow = import_pyarrow()
        first = self._field[0].name
        # Looked up by name, so that the names of columns that are not wanted need not be UTF-8.
        if len(schema.get_all_field_indices(first)) != 1:
            names = [field.name for field in schema]
            if first in names:
                raise CorpusError(f"{self._name}: {names.count(first)} columns are named {first!r}")
            raise CorpusError(
                f"{self._name}: no column {first!r}; the columns are {', '.join(map(repr, names))}; "
                "name one with text_field"
            )
        types = pyarrow.types
        kind = schema.field(first).type
        for number, step in enumerate(self._field):
            if number:
                if not types.is_struct(kind) or kind.get_field_index(step.name) < 0:
                    remedy = f"; name the elements of its lists with {first}[]" if _is_list(kind) else ""
                    raise CorpusError(
                        f"{self._name}: no field {step.name!r} in column {first!r}, which is {kind}{remedy}"
                    )
                kind = kind.field(kind.get_field_index(step.name)).type
            for _ in range(step.n_lists):
                if not _is_list(kind):
                    raise CorpusError(
                        f"{self._name}: {self._shown!r} asks for the elements of {kind}, which is no list"
                    )
                kind = kind.value_type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if _is_list(kind):
            raise CorpusError(
                f"{self._name}: column {self._shown!r} is {kind}, not string; name its elements with {self._shown}[]"
            )
        if kind not in _bytes_types():
            raise CorpusError(f"{self._name}: column {self._shown!r} is {kind}, not string or binary")
        if self._id_field:
            self._check_id(schema)

    def _check_id(self, schema: Any) -> None:
        """Raises CorpusError unless the schema has the column of the id and it is text or integers."""
        types, name = import_pyarrow().types, ".".join(self._id_field)
        if len(schema.get_all_field_indices(self._id_field[0])) != 1:
            columns = ", ".join(repr(field.name) for field in schema)
            raise CorpusError(f"{self._name}: no column {name!r}; the columns are {columns}; name one with id_field")
        kind = schema.field(self._id_field[0]).type
        for step in self._id_field[1:]:
            if not types.is_struct(kind) or kind.get_field_index(step) < 0:
                raise CorpusError(f"{self._name}: column {name!r} is not there; name one with id_field")
            kind = kind.field(kind.get_field_index(step)).type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if not types.is_integer(kind) and str(kind) not in ("string", "large_string", "string_view", "null"):
            raise CorpusError(f"{self._name}: column {name!r} is {kind}; an id is a string or an integer")

    def _ids(self, batch: Any) -> list[str | None] | None:
        """The ids of the rows of a batch."""
        if not self._id_field:
            return None
        column = batch.column(self._id_field[0])
        column.validate(full=True)
        for step in self._id_field[1:]:
            column = import_pyarrow("pyarrow.compute").struct_field(column, step)
        if import_pyarrow().types.is_dictionary(column.type):
            column = column.dictionary_decode()
        found: list[str | None] = column.cast(import_pyarrow().string()).to_pylist()
        return found

    def _rows_at_a_time(self, group: Any) -> int:
        """How many rows of a row group hold about half a block, at most, unless a dictionary repeats long texts.

        Nothing is read of the metadata of columns: where they are damaged, pyarrow ends the process.
        """
        n_rows, n_bytes = max(group.num_rows, 0), max(group.total_byte_size, 0)
        at_once = min(_MOST_ROWS, self._piece_bytes // 2 * n_rows // max(n_bytes, 1) or _SOME_ROWS)
        return max(_FEWEST_ROWS, at_once)

    def _rows(
        self, column: Any, n_rows: int | None = None, done: float = 0.0, ids: list[str | None] | None = None
    ) -> Iterator[Rows]:
        pyarrow, compute = import_pyarrow(), import_pyarrow("pyarrow.compute")
        # Arrow trusts what a file says of its lengths and offsets.
        column.validate()
        before_all = self._n_read
        # Of each text its row, among these.
        rows = np.arange(len(column)) if self._has_origins else None
        self._n_read += len(column)
        done = self._n_read / n_rows if n_rows else done
        n_nulls = 0
        for number, step in enumerate(self._field):
            if number:
                # Unlike struct.field(), this keeps what is null above.
                column = compute.struct_field(column, step.name)
            for _ in range(step.n_lists):
                n_nulls += self._checked_nulls(column)
                # Whether its texts are UTF-8 is for the reader of documents to say.
                column = column.view(_retyped(column.type, _bytes_types()))
                column.validate(full=True)
                # pyarrow takes no elements of views.
                column = column.cast(_retyped(column.type, {pyarrow.binary_view(): pyarrow.large_binary()}))
                if rows is not None:
                    rows, column = rows[column.is_valid().to_numpy(zero_copy_only=False)], column.drop_null()
                    rows = rows[compute.list_parent_indices(column).to_numpy()]
                # Leaves out null lists.
                column = compute.list_flatten(column)
        column = _as_bytes(column)
        lengths = _lengths(column)
        # Damaged ones may be below 0; they are found when they are read.
        ends = np.cumsum(np.maximum(lengths, 0) + _ROW_BYTES)
        start = 0
        while start < len(column):
            before = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, before + self._piece_bytes, side="right")), start + 1)
            documents, skipped = self._columns.read(column.slice(start, stop - start), self._n_rows)
            origins = None
            if rows is not None:
                kept = np.delete(rows[start:stop], skipped.astype(np.int64) - self._n_rows)
                origins = Origins(kept + before_all, None if ids is None else [ids[row] for row in kept.tolist()])
            self._n_rows += stop - start
            yield documents, len(skipped) + n_nulls, done, origins
            start, n_nulls = stop, 0
        if n_nulls:
            yield _core.Documents.from_texts([]), n_nulls, done, None

    def _checked_nulls(self, lists: Any) -> int:
        """How many lists are null; CorpusError if there are some, unless such rows are left out."""
        if lists.null_count and not self._skip:
            raise CorpusError(f"{self._name}: a row: the list is null; leave such rows out with skip_bad")
        return int(lists.null_count)

    def _damaged(self, kind: str, file: BinaryIO, error: Exception) -> CorpusError:
        file.seek(0)
        begin = file.read(BEGIN_BYTES)
        what = "the file is empty" if not begin else "the file is damaged or was cut short"
        if not begin.startswith(b"PAR1" if kind == "Parquet" else b"ARROW1"):
            what = _core.not_text(begin) or what
        return CorpusError(f"{self._name}: not readable as {kind}: {error}; {what}")


class _WholeReads:
    """A file for pyarrow: reads return as many bytes as are wanted, and take no memory for more than there are.

    A system may return less than what is asked for (Linux 2 GiB at most), which pyarrow takes for the end; and it asks
    for as many bytes as a damaged file says that there are.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        self.tell, self.seek = file.tell, file.seek
        self.furthest = 0
        self.closed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        n_left = max(self._n_bytes - self.tell(), 0)
        wanted = n_left if size < 0 else min(size, n_left)
        self.furthest = max(self.furthest, self.tell() + wanted)
        parts = []
        while wanted and (data := self._file.read(wanted)):
            parts.append(data)
            wanted -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def share_read(self) -> float:
        """How much of the file is read, from 0 to 1, if it is read from its beginning."""
        return self.furthest / max(self._n_bytes, 1)

    def n_bytes_before_footer(self) -> int:
        """How much of an Arrow file stands between what was read furthest and the footer."""
        # After the footer stand its length and six bytes that are the same in each file.
        self.seek(self._n_bytes - 10)
        return self._n_bytes - 10 - int.from_bytes(self._file.read(4), "little") - self.furthest

    def close(self) -> None:
        """Whoever opened the file closes it."""
        self.closed = True


def _is_list(kind: Any) -> bool:
    types = import_pyarrow().types
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(types, test)(kind) for test in tests)


def _retyped(kind: Any, types_of: Mapping[Any, Any]) -> Any:
    """The type with those of texts, also within lists and structs, replaced."""
    pyarrow = import_pyarrow()
    types = pyarrow.types
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_retyped(field.type, types_of)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(_retyped(kind.value_type, types_of), kind.list_size)
    for name, make in (("list", "list_"), ("large_list", "large_list"), ("list_view", "list_view")):
        if getattr(types, f"is_{name}")(kind):
            return getattr(pyarrow, make)(_retyped(kind.value_type, types_of))
    return types_of.get(kind, kind)


def _bytes_types() -> dict[Any, Any]:
    """The types of columns that are read, and those of the same bytes."""
    pyarrow = import_pyarrow()
    texts = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}
    names = {name: name for name in texts.values()} | texts
    return {getattr(pyarrow, name)(): getattr(pyarrow, to)() for name, to in names.items()}


def _as_bytes(column: Any) -> Any:
    """A column of text as one of bytes, once all of its offsets and indices are known to be good.

    What is no UTF-8 is for the reader of documents to replace, leave out or refuse.
    """
    pyarrow = import_pyarrow()
    if pyarrow.types.is_dictionary(column.type):
        column = pyarrow.DictionaryArray.from_arrays(column.indices, _as_bytes(column.dictionary))
    else:
        column = column.view(_bytes_types()[column.type])
    column.validate(full=True)
    return column


def _lengths(column: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The bytes of each row of a column of bytes: int64 [n]; of a null row any number."""
    types, compute = import_pyarrow().types, import_pyarrow("pyarrow.compute")
    if types.is_dictionary(column.type):
        # take() checks that each index is in the dictionary.
        lengths = compute.binary_length(column.dictionary).take(column.indices)
    elif str(column.type) == "binary_view":
        # A view begins with its length; pyarrow does not compute it.
        views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)
        return views[column.offset : column.offset + len(column), 0].astype(np.int64)
    else:
        lengths = compute.binary_length(column)
    found: np.ndarray[Any, np.dtype[np.int64]] = lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _longest_in_dictionary(file: BinaryIO, metadata: Any, group: int, path: str) -> int:
    """The length of the longest text in the dictionaries of a column in a row group, which rows may repeat; at least 1.

    1 where pyarrow cannot tell: of texts that are written as what they add to those before.
    """
    schema = metadata.schema
    leaves = [schema.column(number).path for number in range(len(schema))]
    leaves = [leaf for leaf in leaves if leaf == path or leaf.startswith(f"{path}.")]
    reader = open_parquet(file, buffer_size=1 << 16, read_dictionary=leaves, metadata=metadata)
    try:
        batch = next(reader.iter_batches(1, row_groups=[group], columns=[path]), None)
    except OSError as error:
        if "Not yet implemented" not in str(error):
            raise
        return 1
    return max((_longest(column) for column in batch.columns), default=1) if batch is not None else 1


def _longest(column: Any) -> int:
    """The length of the longest text in the dictionaries of a column, also within structs and lists; at least 1."""
    types, compute = import_pyarrow().types, import_pyarrow("pyarrow.compute")
    if types.is_struct(column.type):
        return max((_longest(column.field(number)) for number in range(column.type.num_fields)), default=1)
    if _is_list(column.type):
        return _longest(column.values)
    if not types.is_dictionary(column.type):
        return 1
    return max(compute.max(compute.binary_length(column.dictionary)).as_py() or 1, 1)


def open_parquet(file: BinaryIO, *, buffer_size: int, **options: Any) -> Any:
    """pyarrow's ParquetFile of an open file, with reads that take no more memory than the file has bytes.

    buffer_size: 0 reads the whole of a column in a row group at once. options: of ParquetFile.
    """
    parquet = import_pyarrow("pyarrow.parquet")
    return parquet.ParquetFile(
        _WholeReads(file), pre_buffer=False, buffer_size=buffer_size, page_checksum_verification=True, **options
    )


@contextlib.contextmanager
def damage_named(name: str, kind: str, damaged: Callable[[Exception], Exception]) -> Iterator[None]:
    """Raises what pyarrow says of a damaged file, of this name and kind, as `damaged` makes it.

    Errors of the system and a lack of memory stay what they are.
    """
    try:
        yield
    except PairloomError:
        raise
    except MemoryError as error:
        # A damaged length asks for more memory than the machine has, and a sound file does not.
        if max(map(int, re.findall(r"\d+", str(error))), default=0) <= machine_memory():
            raise MemoryError(f"{name}: out of memory while reading {kind}: {error}") from error
        raise damaged(error) from error
    except (import_pyarrow().ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged(error) from error
