"""Converts Arrow columns of any library to buffers for the core, and the core's results to columns, using pyarrow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.optional_deps import import_pyarrow
from pairloom.errors import CountsError

# Bytes of an offset, or of a view. Keys are names because older releases of pyarrow lack some of the types.
TEXT_TYPES = {"string": 4, "binary": 4, "large_string": 8, "large_binary": 8, "string_view": 16, "binary_view": 16}
_LARGEST_ID_OF_TYPE = {"uint16": 2**16 - 1, "uint32": 2**32 - 1, "int32": 2**31 - 1, "int64": 2**32 - 1}


def _check_arrow(name: str, value: Any) -> None:
    methods = ("__arrow_c_stream__", "__arrow_c_array__")
    if isinstance(value, type) or not any(hasattr(value, method) for method in methods):
        raise TypeError(
            f"{name} must be an Arrow column (anything with {methods[0]} or {methods[1]}: pyarrow, polars, DuckDB, "
            f"pandas, nanoarrow), not {type(value).__name__}"
        )


def _chunked(name: str, value: Any) -> Any:
    """Returns the argument `name`, a column or a table of one column, as a pyarrow.ChunkedArray."""
    _check_arrow(name, value)
    pyarrow = import_pyarrow()
    if isinstance(value, pyarrow.ChunkedArray):
        column = value
    elif isinstance(value, pyarrow.Array) or not hasattr(value, "__arrow_c_stream__"):
        column = pyarrow.chunked_array([pyarrow.array(value)])
    else:
        column = pyarrow.chunked_array(value)
    if pyarrow.types.is_struct(column.type):
        if column.type.num_fields != 1:
            names = ", ".join(f'"{field.name}"' for field in column.type)
            raise ValueError(f"this is a table of {column.type.num_fields} columns ({names}); pass one of them")
        column = column.flatten()[0]
    return column


def _rows(name: str, value: Any) -> Any:
    """Returns the argument `name`, a column of text, as a pyarrow.ChunkedArray.

    Dictionaries are decoded, so that a row is null if its index or its value is null.
    """
    column, pyarrow = _chunked(name, value), import_pyarrow()
    is_dictionary = pyarrow.types.is_dictionary(column.type)
    kind = column.type.value_type if is_dictionary else column.type
    if pyarrow.types.is_null(kind):
        return pyarrow.chunked_array([pyarrow.nulls(len(column), pyarrow.string())])
    if str(kind) not in TEXT_TYPES:
        raise ValueError(f"the column has type {column.type}, not string or binary")
    if not is_dictionary:
        return column
    large, chunks = pyarrow.large_binary(), []
    for chunk in column.chunks:
        # As bytes: the core checks that they are UTF-8.
        texts = chunk.dictionary.view(bytes_type(kind))
        pyarrow.DictionaryArray.from_arrays(chunk.indices, texts, safe=False).validate(full=True)
        # pyarrow's `take` does not support views, and 32-bit offsets can overflow for all rows.
        chunks.append(texts.cast(large).take(chunk.indices))
    return pyarrow.chunked_array(chunks, large)


def bytes_type(kind: Any) -> Any:
    """Returns the type of bytes with the layout of a text type."""
    return getattr(import_pyarrow(), str(kind).replace("string", "binary"))()


def text_chunks(name: str, value: Any) -> list[tuple[int, int, int, list[Any]]]:
    """Returns the chunks of a column of text, for the core.

    Each is (bytes of an offset or of a view, first row in the buffers, number of rows, buffers in Arrow's order).
    Raises TypeError for anything but an Arrow column, ValueError for a column of another type.
    """
    chunks = []
    for chunk in _rows(name, value).chunks:
        buffers = [memoryview(buffer).cast("B") if buffer else b"" for buffer in chunk.buffers()]
        chunks.append((TEXT_TYPES[str(chunk.type)], chunk.offset, len(chunk), buffers))
    return chunks


def _column(kind: Any, n_rows: int, rows: Any, arrays: list[npt.NDArray[Any]], children: Any = None) -> Any:
    """Makes a column of these buffers, with the nulls of `rows`, a ChunkedArray."""
    pyarrow = import_pyarrow()
    validity = None
    if rows.null_count:
        validity = pyarrow.py_buffer(np.packbits(rows.is_valid().to_numpy(), bitorder="little"))
    buffers = [validity, *map(pyarrow.py_buffer, arrays)]
    return pyarrow.Array.from_buffers(kind, n_rows, buffers, rows.null_count, children=children)


def encoded(encoder: _core.Encoder, texts: Any, kind: Any, threads: int, specials: _core.SpecialPolicy | None) -> Any:
    """Returns the ids of each row, as a pyarrow.Array of lists of type `kind`; None means the narrowest type."""
    rows, pyarrow = _rows("texts", texts), import_pyarrow()
    types, item = pyarrow.types, "uint16" if encoder.n_vocab <= 2**16 else "uint32"
    if kind is not None:
        if not isinstance(kind, pyarrow.DataType):
            shown = f"type must be an Arrow type, such as pyarrow.list_(pyarrow.int32()), not {type(kind).__name__}"
            raise TypeError(shown)
        item = str(kind.value_type) if types.is_list(kind) or types.is_large_list(kind) else ""
        if item not in _LARGEST_ID_OF_TYPE:
            raise ValueError(f"type is {kind}, but must be list or large_list of uint16, uint32, int32 or int64")
    if encoder.n_vocab - 1 > _LARGEST_ID_OF_TYPE[item]:
        raise ValueError(
            f"type supports ids up to {_LARGEST_ID_OF_TYPE[item]}, but this tokenizer has ids up to "
            f"{encoder.n_vocab - 1}"
        )
    ids, offsets = encoder.encode_batch_to_numpy(rows, threads, specials, are_rows=True)
    values = pyarrow.array(ids.astype(item, copy=False))
    is_long = int(offsets[-1]) >= 2**31
    if kind is None:
        kind = (pyarrow.large_list if is_long else pyarrow.list_)(values.type)
    if not types.is_large_list(kind):
        if is_long:
            remedy = "pass a large type, or fewer rows"
            raise ValueError(f"{offsets[-1]} items are too many for the 32-bit offsets of this type; {remedy}")
        offsets = offsets.astype(np.int32)
    return _column(kind, len(rows), rows, [offsets], [values])


def n_tokens(encoder: _core.Encoder, texts: Any, threads: int, specials: _core.SpecialPolicy | None) -> Any:
    """Returns the number of ids of each row, as a pyarrow.Array of int64."""
    rows = _rows("texts", texts)
    counts = encoder.count_tokens_batch(rows, threads, specials, are_rows=True)
    return _column(import_pyarrow().int64(), len(rows), rows, [counts])


def decoded(list_of_ids: Any, decode: Callable[[list[npt.NDArray[Any]]], list[str]]) -> Any:
    """Decodes each row of a column of lists of ids; returns a pyarrow.Array of string or large_string."""
    rows, pyarrow, compute = _chunked("list_of_ids", list_of_ids), import_pyarrow(), import_pyarrow("pyarrow.compute")
    types = pyarrow.types
    is_list = types.is_list(rows.type) or types.is_large_list(rows.type) or types.is_fixed_size_list(rows.type)
    if not is_list or not types.is_integer(rows.type.value_type):
        raise ValueError(f"the column has type {rows.type}, not list or large_list of integers")
    lists = rows.chunk(0) if rows.num_chunks == 1 else rows.combine_chunks()
    ends = np.cumsum(compute.list_value_length(lists).fill_null(0).to_numpy(), dtype=np.int64)
    ids = lists.flatten()
    if ids.null_count:
        first = int(np.argmin(ids.is_valid().to_numpy(zero_copy_only=False)))
        row = int(np.searchsorted(ends, first, side="right"))
        raise ValueError(f"list_of_ids[{row}] contains a null; only whole lists can be null")
    texts = decode(np.split(ids.to_numpy(), ends[:-1])) if len(lists) else []
    is_large = 4 * sum(map(len, texts)) >= 2**31
    mask = lists.is_null().to_numpy(zero_copy_only=False)
    return pyarrow.array(texts, pyarrow.large_string() if is_large else pyarrow.string(), mask=mask)


def counts_of_table(table: Any) -> tuple[dict[bytes, bytes], Any, npt.NDArray[np.uint64]]:
    """Returns the metadata of an Arrow table's schema, and its columns "pretoken" and "count", checked."""
    _check_arrow("table", table)
    pyarrow = import_pyarrow()
    if not isinstance(table, pyarrow.Table):
        table = pyarrow.table(table)
    names = table.column_names
    if "pretoken" not in names or "count" not in names:
        raise ValueError(f'counts must be a table with the columns "pretoken" and "count", but this table has {names}')
    counts = table["count"]
    if not pyarrow.types.is_integer(counts.type):
        remedy = "; cast it to int64" if pyarrow.types.is_dictionary(counts.type) else ""
        raise ValueError(f'the column "count" is {counts.type}, but must be integers{remedy}')
    if counts.null_count:
        row = int(np.argmin(counts.is_valid().to_numpy()))
        raise CountsError(f"row {row}: the count is null; counts must be at least 0")
    numbers = counts.to_numpy()
    if len(numbers) and numbers.min() < 0:
        row = int(np.argmax(numbers < 0))
        raise CountsError(f"row {row}: the count is {numbers[row]}; counts must be at least 0")
    return table.schema.metadata or {}, table["pretoken"], np.ascontiguousarray(numbers, np.uint64)


def counts_table(counts: _core.PretokenCounts, metadata: list[tuple[bytes, bytes]]) -> Any:
    """Returns a pyarrow.Table with the columns "pretoken" (sorted) and "count", and with `metadata` in its schema."""
    pyarrow = import_pyarrow()
    text, ends, numbers = counts.sorted_columns()
    if len(numbers) and numbers.max() >= 2**63:
        raise CountsError(f"the count {numbers.max()} does not fit int64")
    offsets = np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64)])
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text)]
    pretokens = pyarrow.Array.from_buffers(pyarrow.large_binary(), len(ends), buffers, 0)
    table = pyarrow.table({"pretoken": pretokens, "count": numbers.astype(np.int64)})
    return table.replace_schema_metadata(dict(metadata))
