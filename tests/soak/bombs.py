"""Decompression bombs: small files that hold hundreds of times their size, read and counted."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairloom import Corpus, PretokenCounts
from tests.soak.harness import Table
from tests.soak.isolation import run_cases

SUMMARY = (
    "files that hold hundreds of times their size, of lines or of one letter, read and counted with max_memory=100 MB;"
    " a failure is more memory than 160 MB, another error than MemoryError, or a process that dies"
)
QUICK = 10
FULL = 500
"""Here the unit of the count is a megabyte of text that each file holds, not a case."""

MAX_MEMORY = 100_000_000
# Blocks and pieces on their way, the interpreter's own, and tables: where reading and counting are bounded.
MOST_BYTES = 160 << 20
_MEGABYTE = 1 << 20


def run(count: int, seed: int) -> Table:
    """Makes a bomb of `count` megabytes in each format and does each thing with it; `seed` decides nothing."""
    del seed
    table = Table(("file", "bytes on disk", "MB of text", "what is done", "result", "most memory, MB", "s"))
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        folder = Path(name)
        cases = [(path, what) for path in _bombs(folder, count) for what in _DEEDS]

        def case(number: int) -> tuple[str, float]:
            path, what = cases[number]
            started = time.perf_counter()
            try:
                result = _DEEDS[what](path)
            except MemoryError:
                result = "MemoryError"
            except Exception as error:
                result = f"FAILED {type(error).__name__}: {error}"
            return result, time.perf_counter() - started

        for number, outcome in run_cases(case, len(cases), timeout=900):
            path, what = cases[number]
            result, seconds = outcome.result or (f"FAILED {outcome.death}", 0.0)
            if outcome.n_bytes > MOST_BYTES:
                result = f"FAILED, more than {MOST_BYTES >> 20} MB ({result})"
            megabytes = round(outcome.n_bytes / _MEGABYTE)
            table.add(path.name, path.stat().st_size, count, what, result, megabytes, round(seconds, 1))
            if result.startswith("FAILED"):
                table.failures.append(f"{path.name}, {what}: {result}, {megabytes} MB")
    return table


def _read(path: Path) -> str:
    n_bytes = sum(block.documents.n_bytes for block in _corpus(path).read(memory=MAX_MEMORY))
    return f"{n_bytes >> 20:,} MB"


def _count(path: Path) -> str:
    return f"{len(PretokenCounts.from_corpus(_corpus(path), max_memory=MAX_MEMORY, threads=2))} pretokens"


_DEEDS: dict[str, Callable[[Path], str]] = {"read": _read, "count": _count}


def _corpus(path: Path) -> Corpus:
    return Corpus(path, separator="\n" if ".txt" in path.name else None)


def _bombs(folder: Path, n_megabytes: int) -> list[Path]:
    """The files: of lines, of JSON lines, of one letter, in each compression; a column of Parquet and of Arrow."""
    line = b"hello world " * 10 + b"\n"
    texts = {
        "lines.txt": line * (_MEGABYTE // len(line)),
        "lines.jsonl": (b'{"text": "' + line.strip() + b'"}\n') * (_MEGABYTE // (len(line) + 12)),
        "letter.txt": b"a" * _MEGABYTE,
    }
    paths = []
    for suffix, opened in _OPENERS.items():
        for name, megabyte in texts.items():
            paths.append(folder / f"{name}{suffix}")
            with opened(paths[-1]) as file:
                for _ in range(n_megabytes):
                    file.write(megabyte)
    return [*paths, *_columns(folder, n_megabytes, line.decode())]


def _zstd(path: Path) -> Any:
    import zstandard

    return zstandard.open(path, "wb", cctx=zstandard.ZstdCompressor(level=19, threads=0))


# What opens a compressed file for writing; whoever calls it closes it.
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": functools.partial(gzip.open, mode="wb"),
    ".bz2": functools.partial(bz2.open, mode="wb"),
    ".xz": functools.partial(lzma.open, mode="wb", preset=1),
    ".zst": _zstd,
}


def _columns(folder: Path, n_megabytes: int, line: str) -> list[Path]:
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    table = pyarrow.table({"text": [line] * (_MEGABYTE // len(line))})
    paths = [folder / "lines.parquet", folder / "lines.arrow"]
    with pyarrow.parquet.ParquetWriter(paths[0], table.schema, compression="zstd") as writer:
        for _ in range(max(1, n_megabytes // 100)):
            writer.write_table(pyarrow.concat_tables([table] * min(100, n_megabytes)))
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_file(str(paths[1]), table.schema, options=options) as writer:
        for _ in range(n_megabytes):
            writer.write_table(table)
    return paths
