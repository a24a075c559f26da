"""Counts as a file: what one machine counts, another adds and trains on.

Enters: pretokens and counts as columns, and how the corpus was cut. Leaves: the same, from or to one of two formats,
chosen by the suffix: `.parquet` is Parquet (with the `parquet` extra), everything else the native format.

Both hold the pretokens in the order of their bytes, each once, with counts of at least 1, and the metadata: pattern,
special_tokens, corpus_specials, unicode_version, n_bytes, n_documents, n_special_literals, tool_version. Equal counts
give equal bytes. Reading checks all of it: CountsError says what, where, and how to mend it.

Native: 8 bytes b"PLCOUNTS"; u32 version 1; u32 length of the header; the header, canonical JSON in UTF-8: the metadata,
n_pretokens and n_pretoken_bytes; u64 ends [n_pretokens] of the pretokens in the text; u64 counts [n_pretokens]; the
text [n_pretoken_bytes]; the SHA-256 of everything before. All integers are little-endian.

Parquet: columns pretoken (binary) and count (int64), neither null; the metadata as key-value pairs of the file, each
key after "pairloom.", each value JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom.errors import CountsError
from pairloom.extras import extra
from pairloom.formats.atomic import check_free, write_file

__all__ = ["CountsColumns", "load", "save"]

MAGIC = b"PLCOUNTS"
VERSION = 1

_PREFIX = "pairloom."
_DIGEST_BYTES = 32
_ROW_GROUP = 1 << 20
_KEYS: dict[str, type | tuple[type, ...]] = {
    "pattern": (str, list),
    "special_tokens": list,
    "corpus_specials": str,
    "unicode_version": str,
    "n_bytes": int,
    "n_documents": int,
    "n_special_literals": int,
    "tool_version": str,
}


class CountsColumns(NamedTuple):
    """Sorted pretokens one after the other, where each ends (uint64 [n]), its count (uint64 [n]), and the metadata."""

    text: bytes
    ends: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint64]
    metadata: dict[str, Any]


def save(path: Path, columns: CountsColumns, overwrite: bool) -> None:
    """Writes the file atomically; FileExistsError unless `overwrite`."""
    check_free(path, overwrite)
    write = _write_parquet if path.suffix == ".parquet" else _write_native
    write_file(path, write(columns), overwrite)


def load(path: Path) -> CountsColumns:
    """Reads a file that `save` wrote, or that another program wrote as described above."""
    columns = _read_parquet(path) if path.suffix == ".parquet" else _read_native(path)
    if len(columns.counts) and not columns.counts.all():
        row = int(np.flatnonzero(columns.counts == 0)[0])
        raise CountsError(f"{path}: row {row}: a count of 0; leave such rows out")
    try:
        _core.check_ascending(columns.text, columns.ends)
    except ValueError as error:
        raise CountsError(f"{path}: {error}") from error
    return columns


# The native format ----------------------------------------------------------------------------------------------


def _write_native(columns: CountsColumns) -> bytes:
    header = {**columns.metadata, "n_pretokens": len(columns.ends), "n_pretoken_bytes": len(columns.text)}
    encoded = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    body = b"".join(
        [
            MAGIC,
            VERSION.to_bytes(4, "little"),
            len(encoded).to_bytes(4, "little"),
            encoded,
            columns.ends.astype("<u8").tobytes(),
            columns.counts.astype("<u8").tobytes(),
            columns.text,
        ]
    )
    return body + hashlib.sha256(body).digest()


def _read_native(path: Path) -> CountsColumns:
    data = path.read_bytes()
    if data[:8] != MAGIC:
        hint = "; it looks like Parquet: give it the suffix .parquet" if data[:4] == b"PAR1" else ""
        raise CountsError(f"{path}: not a counts file (it begins with {data[:8]!r}){hint}")
    version = int.from_bytes(data[8:12], "little")
    if version != VERSION:
        raise CountsError(f"{path}: counts file version {version} at byte 8; this pairloom reads version {VERSION}")
    start = 16 + int.from_bytes(data[12:16], "little")
    if start + _DIGEST_BYTES > len(data):
        raise CountsError(f"{path}: cut short in the header, at byte {len(data)}; copy it again")
    try:
        header = json.loads(data[16:start])
    except ValueError as error:
        raise CountsError(f"{path}: the header at byte 16 is not JSON: {error}") from error
    metadata = _checked_metadata(header, str(path))
    n, n_text = (_size(header, key, path) for key in ("n_pretokens", "n_pretoken_bytes"))
    expected = start + 16 * n + n_text + _DIGEST_BYTES
    if len(data) != expected:
        raise CountsError(f"{path}: {len(data)} bytes where the header asks for {expected}; the file was cut or padded")
    if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
        raise CountsError(f"{path}: the SHA-256 at byte {expected - _DIGEST_BYTES} does not match; the file is damaged")
    ends = np.frombuffer(data, dtype="<u8", count=n, offset=start).astype(np.uint64)
    counts = np.frombuffer(data, dtype="<u8", count=n, offset=start + 8 * n).astype(np.uint64)
    return CountsColumns(data[start + 16 * n : -_DIGEST_BYTES], ends, counts, metadata)


def _size(header: dict[str, Any], key: str, path: Path) -> int:
    value = header.get(key)
    if type(value) is not int or not 0 <= value < 1 << 60:
        raise CountsError(f"{path}: header: {key!r} must be a size, not {value!r}")
    return value


# Parquet --------------------------------------------------------------------------------------------------------


def _write_parquet(columns: CountsColumns) -> bytes:
    pyarrow, parquet = _pyarrow(), _pyarrow("pyarrow.parquet")
    if len(columns.counts) and int(columns.counts.max()) >= 1 << 63:
        raise CountsError("a count exceeds 2**63 - 1, which the int64 of Parquet cannot hold; save as a native file")
    pairs = {_PREFIX + key: json.dumps(value, ensure_ascii=False) for key, value in columns.metadata.items()}
    schema = pyarrow.schema(
        [
            pyarrow.field("pretoken", pyarrow.binary(), nullable=False),
            pyarrow.field("count", pyarrow.int64(), nullable=False),
        ],
        metadata=pairs,
    )
    out = io.BytesIO()
    starts = np.concatenate([np.zeros(1, np.uint64), columns.ends]).astype(np.int64)
    with parquet.ParquetWriter(out, schema, use_dictionary=False) as writer:
        for first in range(0, len(columns.ends), _ROW_GROUP):
            last = min(first + _ROW_GROUP, len(columns.ends))
            offsets = starts[first : last + 1] - starts[first]
            text = pyarrow.py_buffer(columns.text[starts[first] : starts[last]])
            kind = pyarrow.large_binary()
            buffers = [None, pyarrow.py_buffer(offsets), text]
            pretokens = pyarrow.Array.from_buffers(kind, last - first, buffers).cast(pyarrow.binary())
            counts = pyarrow.array(columns.counts[first:last].astype(np.int64))
            writer.write_table(pyarrow.Table.from_arrays([pretokens, counts], schema=schema))
    return out.getvalue()


def _read_parquet(path: Path) -> CountsColumns:
    pyarrow, parquet = _pyarrow(), _pyarrow("pyarrow.parquet")
    with path.open("rb") as file:
        try:
            table = parquet.read_table(file)
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise CountsError(f"{path}: not readable as Parquet: {error}") from error
    wanted = {"pretoken": ("binary", "large_binary"), "count": ("int64",)}
    for name, kinds in wanted.items():
        if name not in table.column_names:
            raise CountsError(f"{path}: no column {name!r}; it has {', '.join(map(repr, table.column_names))}")
        if str(table.schema.field(name).type) not in kinds:
            raise CountsError(f"{path}: column {name!r} is {table.schema.field(name).type}, not {kinds[0]}")
        if table.column(name).null_count:
            raise CountsError(f"{path}: column {name!r} holds nulls; leave such rows out")
    pairs = {key.decode(): value for key, value in (table.schema.metadata or {}).items()}
    metadata = {}
    for key in _KEYS:
        if _PREFIX + key in pairs:
            try:
                metadata[key] = json.loads(pairs[_PREFIX + key])
            except ValueError as error:
                raise CountsError(f"{path}: metadata {_PREFIX + key!r} is not JSON: {error}") from error
    metadata = _checked_metadata(metadata, str(path))
    counts = table.column("count").to_numpy().astype(np.int64)
    if len(counts) and int(counts.min()) < 1:
        row = int(np.flatnonzero(counts < 1)[0])
        raise CountsError(f"{path}: row {row}: a count of {counts[row]}; counts are at least 1")
    text, ends = _joined(table.column("pretoken"))
    return CountsColumns(text, ends, counts.astype(np.uint64), metadata)


def _joined(column: Any) -> tuple[bytes, npt.NDArray[np.uint64]]:
    """All values of a chunked column of binary one after the other, and where each ends."""
    pyarrow = _pyarrow()
    texts, ends, n_bytes = [], [np.zeros(0, np.int64)], 0
    for chunk in column.chunks:
        if len(chunk) == 0:
            continue
        chunk = chunk.cast(pyarrow.large_binary())
        offsets = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = chunk.buffers()[2]
        texts.append(b"" if data is None else memoryview(data).cast("B")[offsets[0] : offsets[-1]])
        ends.append(offsets[1:] - offsets[0] + n_bytes)
        n_bytes += int(offsets[-1] - offsets[0])
    return b"".join(texts), np.concatenate(ends).astype(np.uint64)


def _pyarrow(module: str = "pyarrow") -> Any:
    return extra(module, "counts as Parquet")


# Metadata -------------------------------------------------------------------------------------------------------


def _checked_metadata(header: Any, name: str) -> dict[str, Any]:
    """The metadata, each of its type; CountsError names the first that is not."""
    if not isinstance(header, Mapping):
        raise CountsError(f"{name}: the header is not an object")
    for key, kind in _KEYS.items():
        value = header.get(key)
        if key not in header:
            raise CountsError(f"{name}: the metadata lack {key!r}; they say how the corpus was cut and are needed")
        is_strings = not isinstance(value, list) or all(isinstance(item, str) for item in value)
        if not isinstance(value, kind) or isinstance(value, bool) or not is_strings:
            raise CountsError(f"{name}: metadata {key!r} must not be {value!r}")
        if isinstance(value, int) and not 0 <= value < 1 << 64:
            raise CountsError(f"{name}: metadata {key!r} is {value}, which does not fit 64 bits")
    if header["corpus_specials"] not in ("text", "split"):
        raise CountsError(f"{name}: metadata 'corpus_specials' must be 'text' or 'split'")
    return {key: header[key] for key in _KEYS}
