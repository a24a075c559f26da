"""Python threads that share one tokenizer: MB/s of one and of eight, and whether their ids are equal.

    python benchmarks/python_threads.py FILE [--threads 8] [--turns 5] [--characters 4000]

Each thread encodes its documents one after the other. Without the interpreter's lock (a free-threaded Python) they run
side by side on all cores; with it the core gives it up only for texts that are long enough.

Lists count as new objects, of which every few thousand start the garbage collector, and it stops all threads while it
visits every object of the process. So lists are measured a second time with the collector off (`gc.disable()`). Arrays
are measured too: it does not count them. What Python itself allows is shown by NumPy's `tolist` of the same ids.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom import Tokenizer, cpu_tier

Ids = Sequence[int] | npt.NDArray[np.unsignedinteger[Any]]
Item = str | npt.NDArray[np.unsignedinteger[Any]]
Way = tuple[str, Callable[[Any], Ids], Sequence[Item], bool]
"""Its name, what is called with each item, the items, and whether the collector is off."""


def in_threads(call: Callable[[Any], Ids], items: Sequence[Item], n_threads: int) -> tuple[float, list[Ids]]:
    """Seconds of `call` for all items, divided among threads, and the ids of each item."""
    # Lists of their own: threads that write to one list wait for its lock.
    shares = [items[first::n_threads] for first in range(n_threads)]
    found: list[list[Ids]] = [[] for _ in shares]
    start = threading.Barrier(n_threads + 1)

    def work(first: int) -> None:
        # Variables of its own: without the interpreter's lock a variable of an outer function has a lock.
        own, items = call, shares[first]
        start.wait()
        found[first] = [own(item) for item in items]

    threads = [threading.Thread(target=work, args=(first,)) for first in range(n_threads)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    return seconds, [found[index % n_threads][index // n_threads] for index in range(len(items))]


def main() -> int:
    """The command line; 1 if any id differs."""
    parser = argparse.ArgumentParser(description="threads of Python that share one tokenizer")
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--characters", type=int, default=4000, help="of each document")
    options = parser.parse_args()
    text = options.file.read_bytes()[:80_000_000].decode(errors="ignore")
    documents = [text[at : at + options.characters] for at in range(0, len(text), options.characters)]
    tokenizer = Tokenizer.train(documents, 32_000)
    expected = tokenizer.encode_batch(documents)
    n_bytes = sum(len(document.encode()) for document in documents)
    ids = [tokenizer.encode_to_numpy(document) for document in documents]
    ways: list[Way] = [
        ("lists", tokenizer.encode, documents, False),
        ("lists, collector off", tokenizer.encode, documents, True),
        ("arrays", tokenizer.encode_to_numpy, documents, False),
        ("tolist alone", np.ndarray.tolist, ids, False),
        ("tolist alone, collector off", np.ndarray.tolist, ids, True),
    ]
    seconds: dict[tuple[str, int], list[float]] = {}
    n_wrong = 0
    for _ in range(options.turns):
        for way, call, items, is_off in ways:
            for n_threads in (1, options.threads):
                if is_off:
                    gc.disable()
                taken, found = in_threads(call, items, n_threads)
                gc.enable()
                seconds.setdefault((way, n_threads), []).append(taken)
                n_wrong += sum(list(given) != wanted for given, wanted in zip(found, expected, strict=True))
    lock = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    print(
        f"Python {sys.version.split()[0]} {lock} the interpreter's lock, tier {cpu_tier()}, {n_wrong} documents wrong"
    )
    for way, *_ in ways:
        one, many = (statistics.median(seconds[way, n_threads]) for n_threads in (1, options.threads))
        print(
            f"{way}: 1 thread {n_bytes / 1e6 / one:.0f} MB/s, "
            f"{options.threads} threads {n_bytes / 1e6 / many:.0f} MB/s: {one / many:.2f} times"
        )
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
