"""Reads counts of many distinct pretokens from Parquet parts and trains on them: seconds and bytes per pretoken.

    python benchmarks/many_pretokens.py [--millions 40] [--vocab-size 128000] [--max-memory BYTES]

The pretokens are synthetic and seeded: words of three to twelve letters by a Zipf-like choice of syllables, each in one
part, as an engine's GROUP BY writes them, with counts that fall with their rank.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairloom import PretokenCounts, Tokenizer

_PART = 1_000_000


def _write(folder: Path, n_pretokens: int) -> None:
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", np.uint8)
    syllables = letters[np.minimum(rng.zipf(1.3, (4096, 3)) - 1, 25)]
    for part in range(-(-n_pretokens // _PART)):
        n = min(_PART, n_pretokens - part * _PART)
        # The pretoken's number in base 26 makes it distinct; syllables before it make it look like a word.
        numbers = np.arange(part * _PART, part * _PART + n)
        begins = syllables[np.minimum(rng.zipf(1.2, (n, 2)) - 1, 4095)].reshape(n, 6)
        ends = letters[(numbers[:, None] // 26 ** np.arange(6)) % 26]
        rows = np.concatenate([np.full((n, 1), ord(" "), np.uint8), begins, ends], axis=1)
        offsets = np.arange(n + 1, dtype=np.int32) * rows.shape[1]
        pretokens = pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(rows.tobytes())])
        counts = (rng.pareto(1.0, n) + 1).astype(np.int64)
        pq.write_table(pa.table({"pretoken": pretokens, "count": counts}), folder / f"{part:05d}.parquet")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Prints a row for reading and one for training."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--millions", type=float, default=40)
    parser.add_argument("--vocab-size", type=int, default=128_000)
    parser.add_argument("--max-memory", type=int)
    given = parser.parse_args()
    n = round(given.millions * 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), n)
        idle = _peak()
        print(f"{'step':10} {'seconds':>8} {'peak GB':>8} {'bytes a pretoken':>17}")
        started = time.perf_counter()
        counts = PretokenCounts.from_parquet(folder, "gpt2", max_memory=given.max_memory)
        assert len(counts) == n
        print(
            f"{'read, sum':10} {time.perf_counter() - started:8.1f} {_peak() / 1e9:8.2f} {(_peak() - idle) / n:17.0f}",
            flush=True,
        )
        started = time.perf_counter()
        tokenizer = Tokenizer.train_from_counts(counts, given.vocab_size, max_memory=given.max_memory)
        assert len(tokenizer.merges) == given.vocab_size - 256
        print(f"{'train':10} {time.perf_counter() - started:8.1f} {_peak() / 1e9:8.2f} {(_peak() - idle) / n:17.0f}")


if __name__ == "__main__":
    main()
