"""Corpora to token files: `tokenize_files` compared with `encode_file` and writing, and with the usual script.

Every kind of file contains the same documents. The usual script reads a file with `datasets`, encodes batches with
`tokenizers` on all threads, and saves one array. The ids are compared before anything is timed. Memory is
the peak of a process of its own, from the smallest to the largest corpus there is.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from corpora.vocabularies import vocabulary
from peer_process import Call, Result, median, run, turns
from report.section import Claim, Section, Setup, Table

MEGA = 1_000_000
SEPARATOR = "<|endoftext|>"
DOCUMENT_BYTES = 4096
# The usual script is timed on at most this much: it takes a minute for each 400 MB.
MAX_BYTES = 80 * MEGA
MIN_SPEEDUPS = {"text": 0.8, "jsonl": 5.0, "parquet": 3.0}
FLAT = 1.1


def documents(path: Path, n_bytes: int | None = None) -> Iterator[str]:
    """The lines of a file, in documents of a few kilobytes, without reading it whole."""
    with path.open("rb") as file:
        left = path.stat().st_size if n_bytes is None else n_bytes
        while left > 0 and (lines := file.readlines(min(DOCUMENT_BYTES, left))):
            data = b"".join(lines)
            left -= len(data)
            yield data.decode(errors="ignore")


def write_text(path: Path, texts: Iterator[str]) -> Path:
    """Documents with a separator after each."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(text + SEPARATOR for text in texts)
    return path


def write_lines(path: Path, texts: Iterator[str]) -> Path:
    """Documents as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n")
    return path


def write_parquet(path: Path, texts: Iterator[str]) -> Path:
    """Documents as a column of Parquet, in row groups of the size that writers choose."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([("id", pyarrow.int64()), ("text", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        numbers = itertools.count()
        while batch := list(itertools.islice(texts, 10_000)):
            ids = list(itertools.islice(numbers, len(batch)))
            writer.write_table(pyarrow.table({"id": ids, "text": batch}, schema=schema))
    return path


def measure(setup: Setup) -> Section:
    """Throughput by kind of file, and memory by size of corpus."""
    section = Section("pipeline")
    _speed(setup, section)
    _memory(setup, section)
    return section


def _speed(setup: Setup, section: Section) -> None:
    corpus = setup.small[0]
    model = vocabulary("gpt2").job()
    folder = setup.folder
    texts = list(documents(corpus.path, MAX_BYTES))
    n_bytes = sum(len(text.encode()) for text in texts)
    files = {
        "text": write_text(folder / "pipeline.txt", iter(texts)),
        "jsonl": write_lines(folder / "pipeline.jsonl", iter(texts)),
        "parquet": write_parquet(folder / "pipeline.parquet", iter(texts)),
    }
    files["jsonl.gz"] = folder / "pipeline.jsonl.gz"
    files["jsonl.gz"].write_bytes(gzip.compress(files["jsonl"].read_bytes(), 6))
    calls: dict[str, Call] = {}
    common = {"threads": setup.n_threads, "folder": str(folder), "separator": SEPARATOR} | model
    calls["encode_file and write"] = ("pairloom", {"task": "encode_and_write", "path": str(files["text"])} | common)
    for kind, path in files.items():
        calls[kind] = ("pairloom", {"task": "tokenize_files", "path": str(path)} | common)
    for kind in ("jsonl", "parquet"):
        job = {"task": "script", "path": str(files[kind]), "loader": {"jsonl": "json"}.get(kind, kind)} | common
        calls[f"script, {kind}"] = ("tokenizers", job)
    # Fixed costs of a run matter in 0.3 s, so throughput is compared on the larger corpus if there is one.
    n_whole = n_bytes
    if setup.large:
        whole = write_text(folder / "pipeline-large.txt", documents(setup.large[0].path))
        n_whole = setup.large[0].n_bytes
        for name, task in (("whole", "tokenize_files"), ("encode_file and write", "encode_and_write")):
            calls[name] = ("pairloom", {"task": task, "path": str(whole)} | common)
    results = turns(calls, setup, once=[name for name in calls if name.startswith("script")])
    _check({name: results[name][0] for name in calls if name not in ("whole", "encode_file and write")})
    seconds = {name: median(results[name], "seconds") for name in calls}
    table = Table(
        f"{corpus.name}, {len(texts)} documents, to .npy: MB of text a second",
        ["from", "tokenize_files", "encode_file and write", "tokenizers and datasets"],
    )
    section.tables.append(table)
    rate = {name: n_bytes / MEGA / value for name, value in seconds.items()}
    for kind in files:
        table.rows.append([kind, rate[kind], None, rate.get(f"script, {kind}")])
    tokenize = "whole" if "whole" in seconds else "text"
    rates = [n_whole / MEGA / seconds[name] for name in (tokenize, "encode_file and write")]
    table.rows.append([f"text, {n_whole / MEGA:.0f} MB", *rates, None])
    for kind, min_speedup in MIN_SPEEDUPS.items():
        ours, other = (tokenize, "encode_file and write") if kind == "text" else (kind, f"script, {kind}")
        what = "over encode_file and writing" if kind == "text" else "times as fast as tokenizers"
        section.claims.append(Claim(f"tokenize from .{kind}, {what}", seconds[other] / seconds[ours], min_speedup))


def _check(results: dict[str, Result]) -> None:
    """Raises unless all ids are the same."""
    digests = {name: result["digest"] for name, result in results.items()}
    if len(set(digests.values())) > 1:
        raise SystemExit(f"the ids differ: {digests}")


def _memory(setup: Setup, section: Section) -> None:
    model = vocabulary("gpt2").job()
    table = Table("peak memory of tokenize_files: MB", ["MB of text", ".jsonl", "one document"])
    section.tables.append(table)
    peaks: list[list[float]] = []
    for corpus in setup.growing or setup.corpora:
        common = {"threads": setup.n_threads, "folder": str(setup.folder), "task": "tokenize_files"} | model
        lines = write_lines(setup.folder / "growing.jsonl", documents(corpus.path))
        row = []
        for path in (lines, corpus.path):
            row.append(run("pairloom", {"path": str(path)} | common)["peak_bytes"] / MEGA)
        lines.unlink()
        peaks.append(row)
        table.rows.append([corpus.n_bytes / MEGA, *row])
    for index, what in enumerate(("from .jsonl", "of one document")):
        column = [row[index] for row in peaks]
        section.claims.append(
            Claim(f"peak memory {what}, largest to smallest corpus", column[-1] / column[0], FLAT, at_most=True)
        )
