"""Reads a text column of Parquet, Arrow or a data set as blocks of documents, one document per row.

pyarrow decodes, and the core copies the text from Arrow's buffers. Few rows are decoded at a time, so memory depends on
the size of documents, not on the size of row groups or files.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arrow import TEXT_TYPES, bytes_type
from pairloom._internal.optional_deps import import_pyarrow
from pairloom.corpus.first_bytes import BEGIN_BYTES
from pairloom.corpus.origins import Origins
from pairloom.errors import CorpusError, PairloomError

if TYPE_CHECKING:
    from pairloom.corpus.corpus import Corpus

# Rows decoded at a time: the minimum, the number if half a block is less than a row, and the maximum.
_MIN_ROWS, _SOME_ROWS, _MAX_ROWS = 16, 1024, 1 << 13
# The most bytes of text to decode at a time, since many rows can repeat one long text that a dictionary holds once.
_MAX_DECODED_BYTES = 1 << 28
# Bytes that each row adds, even an empty one: its offset, and what is made of it.
_ROW_BYTES = 16
# A Parquet file of at most this size is read without a buffer, a column of a row group at a time.
_SMALL_FILE = 1 << 24
# The most bytes between an Arrow file's last batch and its footer: eight that end the batches, and padding.
_MAX_BEFORE_FOOTER = 72


Rows = tuple[_core.Documents, float, Origins | None]
"""Some rows as documents, the share of the file read so far (0 to 1), and origins if wanted."""


class _Step(NamedTuple):
    """A column or a struct field, and how many levels of lists are nested below it; a [] at the end of a name is one.

    Each element of a list is a row.
    """

    name: str
    n_lists: int

    @classmethod
    def of(cls, name: str) -> _Step:
        key = name
        while key.endswith("[]"):
            key = key[:-2]
        return cls(key, (len(name) - len(key)) // 2)


class RowsReader:
    """Reads the column that a corpus wants.

    on_skip: called with the number of rows that are left out, and a message. id_field: the names that lead to the id
    column; empty if ids are not wanted.
    """

    def __init__(
        self,
        corpus: Corpus,
        name: str,
        piece_bytes: int,
        on_skip: Callable[[int, Sequence[str]], None],
        origins: bool,
        id_field: list[str],
    ) -> None:
        self._name = name
        self._has_origins, self._id_field = origins, id_field
        self._piece_bytes, self._on_skip = piece_bytes, on_skip
        self._field = [_Step.of(step) for step in corpus.text_field.split(".")]
        self._shown = corpus.text_field
        # Messages count rows, or elements of lists.
        is_list = any(step.n_lists for step in self._field)
        counted = f"{name}: elements of {self._shown}" if is_list else name
        self._skip = corpus.skip_bad
        self._columns = _core.TextColumns(counted, replace=corpus.input_errors == "replace", skip=self._skip)
        # Rows of the file, and texts in them, read so far.
        self._n_read = self._n_rows = 0

    def parquet(self, file: BinaryIO, row_group: int | None = None) -> Iterator[Rows]:
        """Yields the rows of a Parquet file, or of one of its row groups."""
        with damage_named(self._name, "Parquet", partial(_damaged, self._name, "Parquet", file)):
            # A buffer grows to the size that a damaged page claims to have.
            buffer_size = 0 if file.seek(0, os.SEEK_END) <= _SMALL_FILE else 1 << 20
            reader = open_parquet(file, buffer_size=buffer_size)
            self._check(reader.schema_arrow)
            metadata = reader.metadata
            # Below a list, Parquet uses names of its own.
            is_list = any(step.n_lists for step in self._field)
            path = self._field[0].name if is_list else ".".join(step.name for step in self._field)
            groups = range(metadata.num_row_groups) if row_group is None else [row_group]
            n_rows = (metadata if row_group is None else metadata.row_group(row_group)).num_rows
            for number in groups:
                n_bytes = metadata.row_group(number).total_byte_size
                rows = self._rows_at_a_time(metadata.row_group(number))
                if rows * n_bytes > _MAX_DECODED_BYTES:
                    rows = min(rows, max(_MAX_DECODED_BYTES // _longest_in_dictionary(file, metadata, number, path), 1))
                wanted = [path, ".".join(self._id_field)] if self._id_field else [path]
                n_before = self._n_read
                for batch in reader.iter_batches(rows, row_groups=[number], columns=wanted):
                    column, ids = batch.column(self._field[0].name), self._ids(batch)
                    # Free the memory of this batch for the next.
                    del batch
                    yield from self._rows(column, n_rows, ids=ids)
                    del column
                n_read, n_there = self._n_read - n_before, metadata.row_group(number).num_rows
                if n_read != n_there:
                    # pyarrow reads too few rows, without an error, for dictionaries within lists.
                    raise CorpusError(
                        f"{self._name}: only {n_read} of the {n_there} rows of row group {number} could be read; the "
                        f"file is damaged, or its dictionaries are too large: write {self._shown} without dictionaries"
                    )

    def arrow(self, file: BinaryIO) -> Iterator[Rows]:
        """Yields the rows of an Arrow file, in the file or the stream format."""
        ipc = import_pyarrow("pyarrow.ipc")
        begin = file.read(6)
        with damage_named(self._name, "Arrow", partial(_damaged, self._name, "Arrow", file)):
            source = _WholeReads(file)
            if begin == b"ARROW1":
                reader = ipc.open_file(source)
                # So far only the footer was read, at the end.
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
                    f"{self._name}: there are more bytes after the end of its Arrow stream; put each stream into its "
                    "own file"
                )
            if begin == b"ARROW1" and source.furthest and source.n_bytes_before_footer() > _MAX_BEFORE_FOOTER:
                raise CorpusError(
                    f"{self._name}: there are unexpected bytes between its last batch and its footer, as if Arrow "
                    "files were concatenated; put each one into its own file"
                )

    def tables(self, tables: Iterator[Any], n_rows: int | None) -> Iterator[Rows]:
        """Yields the rows of Arrow tables."""
        for table in tables:
            self._check(table.schema)
            column = table.column(self._field[0].name)
            for chunk in getattr(column, "chunks", [column]):
                yield from self._rows(chunk, n_rows)

    def stream(self, dataset: Any, batch_size: int) -> Iterator[Rows]:
        """Yields the rows of a stream of `datasets`.

        Its Arrow format makes a table of each row and joins them, which is slow, and fails if a row has null.
        """
        pyarrow, name = import_pyarrow(), self._field[0].name
        if name in (dataset.column_names or ()):
            dataset = dataset.select_columns([name])
        for rows in dataset.with_format(None).iter(batch_size=batch_size):
            # If the column is missing, the other names are for the message.
            wanted = {name: rows[name]} if name in rows else {key: [] for key in rows}
            try:
                table = pyarrow.table(wanted)
            except (pyarrow.ArrowException, UnicodeError) as error:
                raise CorpusError(f"{self._name}: column {name!r} is not text in each row: {error}") from error
            yield from self.tables(iter([table]), None)

    def _check(self, schema: Any) -> None:
        """Raises CorpusError unless the schema has the column and it holds text, and the ids text or integers."""
        types, kind = import_pyarrow().types, self._type_of(schema, self._field, self._shown, "text_field")
        if _is_list(kind):
            raise CorpusError(
                f"{self._name}: column {self._shown!r} is {kind}, not string; read its elements with {self._shown}[]"
            )
        if str(kind) not in TEXT_TYPES and not types.is_null(kind):
            raise CorpusError(f"{self._name}: column {self._shown!r} is {kind}, not string or binary")
        if self._id_field:
            name = ".".join(self._id_field)
            kind = self._type_of(schema, [_Step(step, 0) for step in self._id_field], name, "id_field")
            if not types.is_integer(kind) and str(kind) not in ("string", "large_string", "string_view", "null"):
                raise CorpusError(f"{self._name}: column {name!r} is {kind}, but ids must be strings or integers")

    def _type_of(self, schema: Any, steps: list[_Step], shown: str, option: str) -> Any:
        """Returns the type that the steps lead to, of a dictionary that of its values; CorpusError if they do not."""
        types, first = import_pyarrow().types, steps[0].name
        # Look it up by name, so that the names of other columns need not be UTF-8.
        if len(schema.get_all_field_indices(first)) != 1:
            names = [field.name for field in schema]
            if first in names:
                raise CorpusError(f"{self._name}: {names.count(first)} columns are named {first!r}")
            remedy = f"choose one with {option}"
            if shown in names:
                remedy = "dots and [] stand for nested fields and lists, so rename the column"
            raise CorpusError(
                f"{self._name}: no column {first!r}; the columns are {', '.join(map(repr, names))}; {remedy}"
            )
        kind = schema.field(first).type
        for number, step in enumerate(steps):
            if number:
                if not types.is_struct(kind) or kind.get_field_index(step.name) < 0:
                    remedy = f"; read the elements of its lists with {first}[]" if _is_list(kind) else ""
                    raise CorpusError(
                        f"{self._name}: no field {step.name!r} in column {first!r}, which is {kind}{remedy}"
                    )
                kind = kind.field(kind.get_field_index(step.name)).type
            for _ in range(step.n_lists):
                if not _is_list(kind):
                    raise CorpusError(f"{self._name}: {shown!r} asks for the elements of {kind}, which is not a list")
                kind = kind.value_type
        return kind.value_type if types.is_dictionary(kind) else kind

    def _ids(self, batch: Any) -> list[str | None] | None:
        """Returns the ids of the rows of a batch."""
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
        """Returns how many rows to decode at a time: about half a block, unless a dictionary repeats long texts.

        Does not touch the metadata of columns: if they are damaged, pyarrow aborts the process.
        """
        n_rows, n_bytes = max(group.num_rows, 0), max(group.total_byte_size, 0)
        at_once = min(_MAX_ROWS, self._piece_bytes // 2 * n_rows // max(n_bytes, 1) or _SOME_ROWS)
        return max(_MIN_ROWS, at_once)

    def _rows(
        self, column: Any, n_rows: int | None = None, done: float = 0.0, ids: list[str | None] | None = None
    ) -> Iterator[Rows]:
        compute = import_pyarrow("pyarrow.compute")
        # Arrow trusts the lengths and offsets in a file.
        column.validate()
        before_all = self._n_read
        # For each text, its row in this column.
        rows = np.arange(len(column)) if self._has_origins else None
        self._n_read += len(column)
        done = self._n_read / n_rows if n_rows else done
        for number, step in enumerate(self._field):
            if number:
                # Unlike struct.field(), this keeps the nulls of the parent.
                column = compute.struct_field(column, step.name)
            for _ in range(step.n_lists):
                self._check_nulls(column)
                # As bytes: the document reader checks that they are UTF-8.
                column = column.view(_replace_text_types(column.type, bytes_type))
                column.validate(full=True)
                # pyarrow cannot take elements of views.
                column = column.cast(_replace_text_types(column.type, _without_view))
                if rows is not None:
                    rows, column = rows[column.is_valid().to_numpy(zero_copy_only=False)], column.drop_null()
                    rows = rows[compute.list_parent_indices(column).to_numpy()]
                # Drops null lists.
                column = compute.list_flatten(column)
        lengths = _lengths(column)
        # Damaged lengths can be negative; reading them will fail.
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
            self._note_skipped(len(skipped))
            yield documents, done, origins
            start = stop

    def _check_nulls(self, lists: Any) -> None:
        """Leaves out lists that are null; CorpusError if there are any, unless such rows are left out."""
        if lists.null_count and not self._skip:
            raise CorpusError(f"{self._name}: a row: the list is null; skip such rows with skip_bad")
        self._note_skipped(int(lists.null_count))

    def _note_skipped(self, n: int) -> None:
        if n:
            self._on_skip(n, [f"{self._name}: {n} rows whose text is null or not UTF-8"])


def group_bytes(name: str, file: BinaryIO) -> list[int]:
    """Returns the uncompressed size of each row group of a Parquet file."""
    with damage_named(name, "Parquet", partial(_damaged, name, "Parquet", file)):
        metadata = open_parquet(file, buffer_size=0).metadata
        return [max(metadata.row_group(number).total_byte_size, 0) for number in range(metadata.num_row_groups)]


def _damaged(name: str, kind: str, file: BinaryIO, error: Exception) -> CorpusError:
    file.seek(0)
    begin = file.read(BEGIN_BYTES)
    what = "the file is empty" if not begin else "the file is damaged or truncated"
    if "crypt" in str(error):
        what = "the file is encrypted: write it without encryption"
    if not begin.startswith(b"PAR1" if kind == "Parquet" else b"ARROW1"):
        what = _core.not_text(begin) or what
    return CorpusError(f"{name}: not readable as {kind}: {error}; {what}")


class _WholeReads:
    """A file for pyarrow: reads return as many bytes as requested, and allocate no more than the file has.

    The system can return less than requested (Linux: 2 GiB at most), which pyarrow takes for the end of the file. And
    pyarrow requests as many bytes as a damaged file claims to have.
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
        """The share of the file read so far, from 0 to 1, if it is read from its beginning."""
        return self.furthest / max(self._n_bytes, 1)

    def n_bytes_before_footer(self) -> int:
        """Returns how many bytes of an Arrow file lie between the furthest byte read and the footer."""
        # The footer is followed by its length, and by six bytes that are the same in each file.
        self.seek(self._n_bytes - 10)
        return self._n_bytes - 10 - int.from_bytes(self._file.read(4), "little") - self.furthest

    def close(self) -> None:
        """Leaves the file open: whoever opened it closes it."""
        self.closed = True


def _is_list(kind: Any) -> bool:
    types = import_pyarrow().types
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(types, test)(kind) for test in tests)


def _replace_text_types(kind: Any, by: Callable[[Any], Any]) -> Any:
    """Returns the type with the types of texts replaced, also within lists and structs."""
    pyarrow = import_pyarrow()
    types = pyarrow.types
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_replace_text_types(field.type, by)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(_replace_text_types(kind.value_type, by), kind.list_size)
    for name, make in (("list", "list_"), ("large_list", "large_list"), ("list_view", "list_view")):
        if getattr(types, f"is_{name}")(kind):
            return getattr(pyarrow, make)(_replace_text_types(kind.value_type, by))
    return by(kind) if str(kind) in TEXT_TYPES else kind


def _without_view(kind: Any) -> Any:
    return import_pyarrow().large_binary() if str(kind) == "binary_view" else kind


def _lengths(column: Any) -> npt.NDArray[np.int64]:
    """Returns the length in bytes of each row of a text column: int64 [n]; arbitrary for a null row."""
    types, compute = import_pyarrow().types, import_pyarrow("pyarrow.compute")
    if types.is_dictionary(column.type):
        # An index that is not in the dictionary raises IndexError.
        of_texts, indices = np.append(_lengths(column.dictionary), 0), column.indices.fill_null(0).to_numpy()
        of_rows: npt.NDArray[np.int64] = of_texts[indices]
        return of_rows
    if types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if str(column.type).endswith("_view"):
        # A view begins with its length; pyarrow does not compute lengths of views.
        views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)
        return views[column.offset : column.offset + len(column), 0].astype(np.int64)
    found = compute.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    lengths: npt.NDArray[np.int64] = found.astype(np.int64)
    return lengths


def _longest_in_dictionary(file: BinaryIO, metadata: Any, group: int, path: str) -> int:
    """Returns the bytes of the longest text that rows of a row group can repeat from a column's dictionaries.

    At least 1. Returns 1 if pyarrow cannot tell: for delta encoding, which stores what each text adds to the last.
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
    """Returns the longest text in a column's dictionaries, also within structs and lists; at least 1."""
    types, compute = import_pyarrow().types, import_pyarrow("pyarrow.compute")
    if types.is_struct(column.type):
        return max((_longest(column.field(number)) for number in range(column.type.num_fields)), default=1)
    if _is_list(column.type):
        return _longest(column.values)
    if not types.is_dictionary(column.type):
        return 1
    return max(compute.max(compute.binary_length(column.dictionary)).as_py() or 1, 1)


def open_parquet(file: BinaryIO, *, buffer_size: int, **options: Any) -> Any:
    """Opens pyarrow's ParquetFile on an open file; reads allocate no more memory than the file has bytes.

    buffer_size: 0 reads a whole column of a row group at once. options: of ParquetFile.
    """
    parquet = import_pyarrow("pyarrow.parquet")
    return parquet.ParquetFile(
        _WholeReads(file), pre_buffer=False, buffer_size=buffer_size, page_checksum_verification=True, **options
    )


def _machine_memory() -> int:
    """Returns the bytes of memory of this machine; 1 TiB if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 40


@contextlib.contextmanager
def damage_named(name: str, kind: str, damaged: Callable[[Exception], Exception]) -> Iterator[None]:
    """Converts what pyarrow raises for a damaged file, of this name and kind, with `damaged`.

    System errors stay as they are, and a lack of memory stays a MemoryError.
    """
    try:
        yield
    except PairloomError:
        raise
    except MemoryError as error:
        # A damaged length requests more memory than the machine has; a sound file does not.
        if max(map(int, re.findall(r"\d+", str(error))), default=0) <= _machine_memory():
            raise MemoryError(f"{name}: out of memory while reading {kind}: {error}") from error
        raise damaged(error) from error
    except (import_pyarrow().ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged(error) from error
