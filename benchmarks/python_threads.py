"""Python threads that share one tokenizer: MB/s of one and of eight, and whether their ids are equal.

    python benchmarks/python_threads.py FILE [--threads 8] [--turns 3]

Each thread calls `encode` for its documents, one after the other. Without the interpreter's lock (a free-threaded
Python) they run side by side on all cores; with it the core gives it up only for texts that are long enough.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from pathlib import Path

from pairloom import Tokenizer, cpu_tier

DOCUMENT_CHARACTERS = 4000


def encode(tokenizer: Tokenizer, documents: list[str], n_threads: int) -> tuple[float, list[list[int]]]:
    """Seconds, and the ids of each document."""
    found: list[list[int]] = [[] for _ in documents]
    start = threading.Barrier(n_threads + 1)

    def work(first: int) -> None:
        start.wait()
        for index in range(first, len(documents), n_threads):
            found[index] = tokenizer.encode(documents[index])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(n_threads)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, found


def main() -> int:
    """The command line; 1 if any id differs."""
    parser = argparse.ArgumentParser(description="threads of Python that share one tokenizer")
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    text = options.file.read_bytes()[:80_000_000].decode(errors="ignore")
    documents = [text[at : at + DOCUMENT_CHARACTERS] for at in range(0, len(text), DOCUMENT_CHARACTERS)]
    tokenizer = Tokenizer.train(documents, 32_000)
    expected = tokenizer.encode_batch(documents)
    n_bytes = sum(len(document.encode()) for document in documents)
    seconds: dict[int, list[float]] = {1: [], options.threads: []}
    n_wrong = 0
    for _ in range(options.turns):
        for n_threads, times in seconds.items():
            taken, found = encode(tokenizer, documents, n_threads)
            times.append(taken)
            n_wrong += sum(ids != wanted for ids, wanted in zip(found, expected, strict=True))
    lock = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    print(
        f"Python {sys.version.split()[0]} {lock} the interpreter's lock, tier {cpu_tier()}, {n_wrong} documents wrong"
    )
    one, many = (statistics.median(times) for times in seconds.values())
    print(
        f"1 thread {n_bytes / 1e6 / one:.0f} MB/s, {options.threads} threads {n_bytes / 1e6 / many:.0f} MB/s:", end=" "
    )
    print(f"{one / many:.2f} times")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
