"""Writes the same documents as every kind of file, and every kind of broken file."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import zstandard

SEPARATOR = "<|endoftext|>"

DOCUMENTS = [
    "The first document, in plain ASCII; it's short.\n",
    'Zweites — mit Umlauten: äöü, 東京 and 🙂\tand\ttabs\\ "quotes"\n\n  spaces   ',
    "x",
    "\u00e9" * 50,
    *(f"Document number {n} has its number {n * 7919 % 1000} in it, " * (n % 7 + 1) for n in range(60)),
]


def json_lines(documents: list[str]) -> str:
    """Escapes in every second line exercise both ways of reading a string."""
    lines = [
        json.dumps({"id": n, "text": text, "meta": {"text": text, "n": [n]}}, ensure_ascii=n % 2 == 0)
        for n, text in enumerate(documents)
    ]
    return "\n".join(lines) + "\n"


def zstd(data: bytes) -> bytes:
    compressed: bytes = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return compressed


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


def write_parquet(path: Path, documents: list[str], column: str = "text", **options: Any) -> None:
    table = pyarrow.table({"id": list(range(len(documents))), column: documents})
    pyarrow.parquet.write_table(table, path, **options)


def write_arrow(
    path: Path, documents: Any, *, stream: bool = False, rows: int = 7, compression: str | None = None
) -> None:
    """Writes documents, a column or a table as an Arrow file or stream, in batches of `n` rows."""
    if isinstance(documents, list):
        documents = pyarrow.array(documents, pyarrow.large_string())
    table = documents if isinstance(documents, pyarrow.Table) else pyarrow.table({"text": documents})
    new = pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file
    with new(str(path), table.schema, options=pyarrow.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=rows)


def write_all(folder: Path, documents: list[str] = DOCUMENTS) -> dict[str, Path]:
    """Writes every kind of file that contains exactly these documents (SEPARATOR separates those of plain text)."""
    text = SEPARATOR.join(documents).encode()
    lines = json_lines(documents).encode()
    paths = {}
    for name, data in (("a.txt", text), ("a.jsonl", lines)):
        paths[name] = folder / name
        paths[name].write_bytes(data)
        for suffix, compress in COMPRESSORS.items():
            paths[name + suffix] = folder / (name + suffix)
            paths[name + suffix].write_bytes(compress(data))
    for name in ("a.parquet", "a.arrow", "b.arrow", "a.parquet.gz"):
        paths[name] = folder / name
    write_parquet(paths["a.parquet"], documents, row_group_size=11)
    paths["a.parquet.gz"].write_bytes(gzip.compress(paths["a.parquet"].read_bytes()))
    write_arrow(paths["a.arrow"], documents, stream=True)
    write_arrow(paths["b.arrow"], documents, stream=False)
    return paths
