"""`make ladder`: one corpus up the ladder, from the naive trainer to the core, and where the time goes.

    PYTHONPATH=benchmarks python -m suites.ladder [--corpus FILE] [--kilobytes 400] [--vocab-size 500]

Without --corpus it takes sources of Python's standard library, which every machine has. All trainers follow CS336's
convention and must learn the same merges, or nothing is printed. The columns are those of the blog series' table: the
naive trainer counts all pairs again for each merge, the incremental one only what a merge changed, the core does the
same on flat arrays and all cores.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import tempfile
import time
from functools import partial
from pathlib import Path

from report.section import Table

from pairloom import PretokenCounts, Tokenizer
from pairloom.reference.documents import read_documents
from pairloom.reference.incremental import BPETrainer
from pairloom.reference.naive import NaiveTrainer, Stopwatch
from pairloom.reference.pretokens import count_pretokens

PARTS = ("counting words", "counting pairs", "max", "updating")
SPECIAL = "<|endoftext|>"


def standard_library(n_bytes: int) -> bytes:
    """The beginning of the standard library's sources, a special token after each file."""
    parts: list[bytes] = []
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        parts.append(path.read_bytes() + SPECIAL.encode())
        size += len(parts[-1])
        if size >= n_bytes:
            break
    return b"".join(parts)[:n_bytes].decode(errors="ignore").encode()


def naive(path: Path, vocab_size: int) -> tuple[dict[str, float], list[tuple[bytes, bytes]]]:
    trainer = NaiveTrainer()
    model = trainer.train(path, vocab_size, [SPECIAL])
    return trainer.seconds, [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges]


def incremental(path: Path, vocab_size: int) -> tuple[dict[str, float], list[tuple[bytes, bytes]]]:
    """BPETrainer wants every occurrence as a word of its own."""
    watch = Stopwatch()
    counts = count_pretokens(read_documents(path, [SPECIAL]), "gpt2")
    watch.lap("counting words")
    words = [list(word) for word, count in counts.items() for _ in range(count)]
    trainer = BPETrainer({byte: bytes([byte]) for byte in range(256)}, words)
    watch.lap("counting pairs")
    merges = trainer.train(vocab_size - 257, watch)
    return watch.seconds, [(trainer.vocab[merge.left], trainer.vocab[merge.right]) for merge in merges]


def core(path: Path, vocab_size: int, threads: int) -> tuple[dict[str, float], list[tuple[bytes, bytes]]]:
    """The core's merging is one loop, so its counting of pairs and its max are within "updating"."""
    began = time.perf_counter()
    counts = PretokenCounts.from_files([path], special_tokens=[SPECIAL], corpus_specials="split", threads=threads)
    counted = time.perf_counter()
    tokenizer = Tokenizer.train_from_counts(counts, vocab_size, "cs336", special_tokens=[SPECIAL], threads=threads)
    return {"counting words": counted - began, "updating": time.perf_counter() - counted}, tokenizer.merges


def main() -> int:
    """Runs all and prints the table; 1 when they disagree."""
    parser = argparse.ArgumentParser(description="naive, incremental and core on one corpus")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--kilobytes", type=int, default=400)
    parser.add_argument("--vocab-size", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        if options.corpus:
            with options.corpus.open("rb") as file:
                path.write_bytes(file.read(options.kilobytes * 1000).decode(errors="ignore").encode())
        else:
            path.write_bytes(standard_library(options.kilobytes * 1000))
        print(f"{path.stat().st_size / 1e6:.2f} MB, {options.vocab_size} tokens, profile cs336")
        table = Table("seconds", ["trainer", "total", *PARTS, "times naive"])
        learned = []
        naive_total = None
        trainers = (
            ("naive", naive),
            ("incremental", incremental),
            ("core, one thread", partial(core, threads=1)),
            ("core, all threads", partial(core, threads=0)),
        )
        for name, trainer in trainers:
            began = time.perf_counter()
            seconds, merges = trainer(path, options.vocab_size)
            total = time.perf_counter() - began
            naive_total = naive_total or total
            learned.append(merges)
            table.rows.append([name, total, *(seconds.get(part) for part in PARTS), naive_total / total])
        if any(merges != learned[0] for merges in learned):
            print("the trainers disagree", file=sys.stderr)
            return 1
        print(table.text())
        print(f"all learned the same {len(learned[0])} merges")
    return 0


if __name__ == "__main__":
    sys.exit(main())
