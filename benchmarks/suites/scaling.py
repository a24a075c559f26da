"""Threads: counting, merging and encoding with 1, 2, 4, ... of them. Needs no network and nothing but pairloom.

    PYTHONPATH=benchmarks python -m suites.scaling --corpus FILE [--threads 1,2,4,8,16] [--vocab-size 32000]
        [--turns 3] [--json FILE]

Each measurement is a process of its own; the best of the turns counts, since a thread that had to wait says nothing
about the others. gigatoken is measured beside it where this interpreter can import it. The tokenizer that encodes
is the one that was trained here.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from peer_process import machine
from report.section import Claim, Section, Setup, Table

PEERS = Path(__file__).parents[1] / "peers"
COLUMNS = [
    "threads",
    "count s",
    "merge s",
    "train s",
    "encode GB/s",
    "lists MB/s",
    "train, times 1 thread",
    "encode, times 1",
]


def call(peer: str, python: str, job: dict[str, Any]) -> dict[str, Any]:
    """One job in a fresh process."""
    environment = os.environ | {"RAYON_NUM_THREADS": str(job["threads"])}
    command = [python, str(PEERS / f"with_{peer}.py")]
    text = json.dumps(job)
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def scale(corpus: Path, threads: list[int], vocab_size: int, n_turns: int, gigatoken_python: str | None) -> list[Table]:
    """A table of pairloom and, where there is one, of gigatoken."""
    n_bytes = corpus.stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.json")
        call("pairloom", sys.executable, train_job(corpus, vocab_size, max(threads)) | {"model": model})
        table = Table(f"pairloom by threads, {corpus.stem}, {n_bytes / 1e6:.0f} MB, vocabulary {vocab_size:,}", COLUMNS)
        tables = [table]
        best: dict[int, list[float]] = {}
        for n in threads:
            turns = []
            for _ in range(n_turns):
                base = {"path": str(corpus), "threads": n, "repeats": 3, "model": model}
                stages = call("pairloom", sys.executable, base | {"task": "stages", "vocab_size": vocab_size})
                file = min(call("pairloom", sys.executable, base | {"task": "encode_file"})["times"])
                lists = base | {"task": "encode_batch", "kind": "lists", "limit": 40_000_000}
                batch = min(call("pairloom", sys.executable, lists)["times"])
                turns.append([stages["counting"], stages["merging"], stages["seconds"], file, batch])
            best[n] = [min(column) for column in zip(*turns)]
        one = best[threads[0]]
        for n, (counting, merging, seconds, file, batch) in best.items():
            speeds = [n_bytes / 1e9 / file, min(n_bytes, 40_000_000) / 1e6 / batch]
            table.rows.append([n, counting, merging, seconds, *speeds, one[2] / seconds, one[3] / file])
        if gigatoken_python:
            theirs = Table("gigatoken by threads, the same", ["threads", "count s", "train s"])
            tables.append(theirs)
            for n in threads:
                base = {"path": str(corpus), "threads": n, "repeats": 1, "vocab_size": vocab_size}
                row = [
                    min(call("gigatoken", gigatoken_python, base | {"task": task})["seconds"] for _ in range(n_turns))
                    for task in ("count", "train")
                ]
                theirs.rows.append([n, *row])
    return tables


def train_job(corpus: Path, vocab_size: int, n_threads: int) -> dict[str, Any]:
    return {"task": "train", "path": str(corpus), "vocab_size": vocab_size, "threads": n_threads}


def measure(setup: Setup) -> Section:
    """As part of the whole benchmark: threads from 1 to what the machine has."""
    from peer_process import ENVIRONMENT

    section = Section("scaling")
    corpus = setup.growing[0]
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n < setup.n_threads] + [setup.n_threads]
    section.tables += scale(corpus.path, threads, 32_000, setup.n_turns, str(ENVIRONMENT / "bin/python"))
    last = section.tables[0].rows[-1]
    section.claims.append(Claim(f"encoding, {last[0]} threads over one", float(last[7] or 0), 0.6 * setup.n_threads))
    return section


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="pairloom's speed by number of threads")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument(
        "--threads", default="1,2,4,8,16", help="comma-separated; those beyond the machine's are left out"
    )
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the tables and the machine here")
    options = parser.parse_args()
    n_cores = machine()["cores"]
    threads = [n for n in map(int, options.threads.split(",")) if n <= n_cores] or [1]
    gigatoken_python = sys.executable if importlib.util.find_spec("gigatoken") else None
    tables = scale(options.corpus, threads, options.vocab_size, options.turns, gigatoken_python)
    print("\n\n".join(table.text() for table in tables))
    record = {"machine": machine(), "section": Section("scaling", tables).record()}
    text = json.dumps(record, indent=1) + "\n"
    if options.json:
        options.json.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
