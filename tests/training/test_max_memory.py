"""What training takes in truth, against `max_memory`."""

import platform
import subprocess
import sys

import pytest

# Nearly all pretokens occur once, so nearly every pair of tokens is worth keeping in the end.
_TRAIN = """
import sys
from pathlib import Path
import numpy as np
from pairloom import PretokenCounts, Tokenizer

limit = int(sys.argv[1])
letters = np.random.default_rng(1).integers(97, 123, (300_000, 11), dtype=np.uint8)
letters[:, -1] = 32
counts = PretokenCounts.from_texts([letters.tobytes().decode()])
before = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
Path("/proc/self/clear_refs").write_text("5")
try:
    Tokenizer.train_from_counts(counts, 30_000, threads=1, max_memory=limit)
except MemoryError as error:
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    print(peak - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the system lacks glibc, whose allocator this is about")
@pytest.mark.parametrize("limit", [60_000_000, 100_000_000])
def test_training_on_rare_pretokens_takes_no_more_than_it_may(limit: int) -> None:
    child = [sys.executable, "-c", _TRAIN, str(limit)]
    printed = subprocess.run(child, capture_output=True, text=True, check=True, timeout=240).stdout
    assert printed, "training went on, though the tables of pairs take more than the limit"
    assert int(printed) < limit + limit // 10
