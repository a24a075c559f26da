"""Processor time of the calling thread for one text of 50 MB: as a list, as an array, counted.

    python benchmarks/interpreter_held.py

While a list is made, no other Python thread runs: about the first line minus the second.
"""

from __future__ import annotations

import time
from pathlib import Path

from pairloom import Tokenizer

N_BYTES = 50_000_000


def main() -> None:
    """Prints a line for each call."""
    page = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tokenizer = Tokenizer.train(page, 2000)
    text = page * (N_BYTES // len(page.encode()))
    for call in (tokenizer.encode, tokenizer.encode_to_numpy, tokenizer.count_tokens):
        began = time.thread_time()
        call(text, threads=1)
        print(f"{call.__name__}: {1000 * (time.thread_time() - began):.0f} ms")


if __name__ == "__main__":
    main()
