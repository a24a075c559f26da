"""Counts files: what one machine counts, another can add and train on.

The suffix selects one of two formats: `.parquet` and `.pq` are Parquet (with the extra [parquet]), everything else is
native.

Both hold the pretokens in byte order, each once, with counts of at least 1, and the metadata: pattern, special_tokens,
corpus_specials, unicode_version, n_bytes, n_documents, n_special_literals, tool_version, and min_count if rarer
pretokens were left out. Equal counts produce equal bytes. Reading a native file checks all of it. Rows of Parquet may
come in any order, and the counts of equal pretokens are added. CountsError names the cause, the location and the
remedy.

Native: 8 bytes b"PLCOUNTS"; u32 version 1; u32 length of the header; the header, canonical JSON in UTF-8: the metadata,
n_pretokens and n_pretoken_bytes; u64 ends [n_pretokens] of the pretokens in the text; u64 counts [n_pretokens]; the
text [n_pretoken_bytes]; the SHA-256 of everything before. All integers are little-endian.

Parquet: columns pretoken (binary) and count (int64), neither null; the metadata as key-value pairs of the file, each
key prefixed with "pairloom.", each value JSON.
"""

import hashlib
import io
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pairloom import _core
from pairloom._internal import arrow
from pairloom._internal.arguments import check_paths, shown
from pairloom._internal.atomic import write_file
from pairloom._internal.optional_deps import import_pyarrow
from pairloom.corpus.columns import damage_named, open_parquet
from pairloom.counts.metadata import CountsMetadata, checked_metadata
from pairloom.errors import CountsError

MAGIC = b"PLCOUNTS"
VERSION = 1

_PREFIX = "pairloom."
_BEGIN_BYTES = 16
_DIGEST_BYTES = 32
_MAX_HEADER_BYTES = 1 << 28
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


# Present only if counts were left out.
_MIN_COUNT = "min_count"


class Stored(NamedTuple):
    """The metadata of a file. totals: bytes, documents and special literals of the corpus."""

    metadata: CountsMetadata
    totals: tuple[int, int, int]


def is_parquet(path: Path) -> bool:
    """Whether the suffix means Parquet, as for a corpus."""
    return path.suffix.lower() in (".parquet", ".pq")


def save(path: Path, columns: _core.PretokenCounts, metadata: dict[str, Any], overwrite: bool) -> None:
    """Writes counts atomically, in the format that the suffix selects."""
    to_bytes = _to_parquet if is_parquet(path) else _to_native
    write_file(path, to_bytes(columns, metadata), overwrite)


# The native format ----------------------------------------------------------------------------------------------


def _to_native(columns: _core.PretokenCounts, metadata: dict[str, Any]) -> bytes:
    text, ends, counts = columns.sorted_columns()
    header = {**metadata, "n_pretokens": len(ends), "n_pretoken_bytes": len(text)}
    encoded = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    body = b"".join(
        [
            MAGIC,
            VERSION.to_bytes(4, "little"),
            len(encoded).to_bytes(4, "little"),
            encoded,
            ends.astype("<u8").tobytes(),
            counts.astype("<u8").tobytes(),
            text,
        ]
    )
    return body + hashlib.sha256(body).digest()


def read_native(file: BinaryIO, name: str) -> tuple[_core.PretokenCounts, CountsMetadata]:
    """Reads the native format; CountsError unless the pretokens are distinct and sorted and each count is at least 1.

    The header is checked before the rest is read, since a file of another kind can have any size.
    """
    begin = file.read(_BEGIN_BYTES)
    if begin[:8] != MAGIC:
        hint = "; it looks like Parquet: name it .parquet" if begin[:4] == b"PAR1" else ""
        raise CountsError(f"{name}: not a counts file (it starts with {begin[:8]!r}){hint}")
    version = int.from_bytes(begin[8:12], "little")
    if version != VERSION:
        raise CountsError(f"{name}: counts file version {version} at byte 8; this pairloom reads version {VERSION}")
    start = _BEGIN_BYTES + int.from_bytes(begin[12:16], "little")
    encoded = file.read(min(start - _BEGIN_BYTES, _MAX_HEADER_BYTES))
    if _BEGIN_BYTES + len(encoded) < start:
        raise CountsError(f"{name}: truncated in the header, at byte {_BEGIN_BYTES + len(encoded)}; copy it again")
    header = _from_json(encoded, f"{name}: the header at byte 16")
    metadata, totals = _stored_of(header, name)
    n, n_text = (_size(header, key, name) for key in ("n_pretokens", "n_pretoken_bytes"))
    expected = start + 16 * n + n_text + _DIGEST_BYTES
    # Only a regular file has a size to compare; a pipe has none.
    status = os.fstat(file.fileno())
    is_as_long = not stat.S_ISREG(status.st_mode) or status.st_size == expected
    rest = memoryview(file.read(expected - start + 1) if is_as_long else b"")
    n_found = start + len(rest) if is_as_long else status.st_size
    if n_found != expected:
        raise CountsError(f"{name}: {n_found} bytes, but the header says {expected}; the file was truncated or padded")
    digest = hashlib.sha256(begin + encoded)
    digest.update(rest[:-_DIGEST_BYTES])
    if digest.digest() != rest[-_DIGEST_BYTES:]:
        raise CountsError(f"{name}: the SHA-256 at byte {expected - _DIGEST_BYTES} does not match; the file is damaged")
    ends, counts = (np.frombuffer(rest, dtype="<u8", count=n, offset=at).astype(np.uint64) for at in (0, 8 * n))
    if not counts.all():
        row = int(np.flatnonzero(counts == 0)[0])
        raise CountsError(f"{name}: row {row}: the count is 0; remove such rows")
    text = bytes(rest[16 * n : -_DIGEST_BYTES])
    try:
        _core.check_ascending(text, ends)
    except ValueError as error:
        raise CountsError(f"{name}: {error}") from error
    return _core.PretokenCounts.from_columns(text, ends, counts, totals), metadata


def _from_json(encoded: bytes, what: str) -> Any:
    """Returns the parsed JSON; CountsError saying that `what` is not JSON."""
    try:
        return json.loads(encoded)
    except UnicodeDecodeError as error:
        raise CountsError(f"{what} is not UTF-8: invalid at its byte {error.start}") from error
    except ValueError as error:
        raise CountsError(f"{what} is not JSON: {error}") from error
    except RecursionError as error:
        raise CountsError(f"{what} is nested too deeply to be the JSON of a counts file") from error


def _size(header: dict[str, Any], key: str, name: str) -> int:
    value = header.get(key)
    if type(value) is not int or not 0 <= value < 1 << 60:
        raise CountsError(f"{name}: header: {key!r} must be a size, not {shown(value)}")
    return value


# Parquet --------------------------------------------------------------------------------------------------------


def _to_parquet(columns: _core.PretokenCounts, metadata: dict[str, Any]) -> bytes:
    pyarrow, table = import_pyarrow(), arrow.counts_table(columns, metadata_pairs(metadata))
    fields = [pyarrow.field("pretoken", pyarrow.binary(), nullable=False), table.schema.field("count")]
    schema = pyarrow.schema(fields, table.schema.metadata)
    out = io.BytesIO()
    with import_pyarrow("pyarrow.parquet").ParquetWriter(out, schema, use_dictionary=False) as writer:
        for first in range(0, len(table), _ROW_GROUP):
            rows = np.arange(first, min(first + _ROW_GROUP, len(table)))
            # Copied, so that offsets begin with 0: a binary column has 32-bit offsets.
            writer.write_table(table.take(rows).cast(schema))
    return out.getvalue()


def parquet_files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Lists the files, those of folders sorted by name; skips names that begin with "_" or ".", as engines do."""
    files: list[str] = []
    for path in map(Path, check_paths(paths)):
        if not path.is_dir():
            files.append(str(path))
            continue
        parts = (file for file in path.iterdir() if is_parquet(file) and file.name[0] not in "._")
        found = sorted(str(file) for file in parts if file.is_file())
        if not found:
            raise CountsError(f"{path}: no *.parquet in this folder; pass the folder that contains the parts")
        files += found
    return files


def read_parquet(path: str) -> Iterator[Any]:
    """Yields the columns pretoken and count of a Parquet file, some rows at a time; first comes an empty table.

    The empty table carries the metadata of the file. The others can have any types and any order.
    """

    def damaged(error: Exception) -> CountsError:
        return CountsError(f"{path}: not readable as Parquet: {error}; the file is damaged")

    with Path(path).open("rb") as file, damage_named(path, "Parquet", damaged):
        opened = open_parquet(file, buffer_size=0)
        schema = opened.schema_arrow
        names = ["pretoken", "count"]
        if any(schema.names.count(name) != 1 for name in names):
            raise CountsError(
                f"{path}: needs exactly one column pretoken and one column count; it has {shown(schema.names)}"
            )
        yield schema.empty_table()
        n_rows = 0
        # In batches: read() allocates memory for as many rows as a damaged file claims to have.
        for batch in opened.iter_batches(_ROW_GROUP, columns=names):
            batch.validate(full=True)
            n_rows += len(batch)
            yield batch.replace_schema_metadata(None)
        if n_rows != opened.metadata.num_rows:
            raise CountsError(
                f"{path}: {n_rows} rows could be read, but the file says {opened.metadata.num_rows}; it is damaged"
            )


# Metadata -------------------------------------------------------------------------------------------------------


def metadata_pairs(metadata: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Returns the metadata as key-value pairs of an Arrow schema."""
    pairs = ((_PREFIX + key, json.dumps(value, ensure_ascii=False)) for key, value in metadata.items())
    return [(key.encode(), value.encode()) for key, value in pairs]


def stored_in(pairs: Mapping[bytes, bytes], name: str) -> Stored | None:
    """Returns the metadata in the key-value pairs of an Arrow schema; None if none of them are ours."""
    # Keys and values are bytes; those of other programs need not be UTF-8.
    found = {}
    for key in (*_KEYS, _MIN_COUNT):
        value = pairs.get((_PREFIX + key).encode())
        if value is not None:
            found[key] = _from_json(value, f"{name}: metadata {_PREFIX + key!r}")
    return _stored_of(found, name) if found else None


def _is_text(value: Any) -> bool:
    """Whether it is a str without lone surrogates, which JSON can hold but a file cannot."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _stored_of(header: Any, name: str) -> Stored:
    """Returns the metadata after checking each type; CountsError names the first that is wrong."""
    if not isinstance(header, Mapping):
        raise CountsError(f"{name}: the header is not an object")
    for key, kind in _KEYS.items():
        value = header.get(key)
        if key not in header:
            raise CountsError(f"{name}: the metadata lack {key!r}, which is needed to know how the corpus was split")
        strings = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        if not isinstance(value, kind) or isinstance(value, bool) or not all(map(_is_text, strings)):
            raise CountsError(f"{name}: metadata {key!r} must not be {shown(value)}")
        if isinstance(value, int) and not 0 <= value < 1 << 64:
            raise CountsError(f"{name}: metadata {key!r} is {shown(value)}, which does not fit 64 bits")
    pattern = header["pattern"] if isinstance(header["pattern"], str) else tuple(header["pattern"])
    try:
        metadata = checked_metadata(pattern, header["special_tokens"], header["corpus_specials"])
    except ValueError as error:
        raise CountsError(f"{name}: metadata: {error}") from error
    least = header.get(_MIN_COUNT, 1)
    if type(least) is not int or not 1 <= least < 1 << 64:
        raise CountsError(f"{name}: metadata {_MIN_COUNT!r} must not be {shown(least)}")
    metadata = replace(metadata, unicode_version=header["unicode_version"], min_count=least)
    return Stored(metadata, (header["n_bytes"], header["n_documents"], header["n_special_literals"]))
