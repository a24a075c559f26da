"""What counting takes in truth, against `max_memory`."""

import platform
import subprocess
import sys

import pytest

_COUNT = """
import sys
from pathlib import Path
import numpy as np
from pairloom import PretokenCounts

n_threads, limit = int(sys.argv[1]), int(sys.argv[2])
texts = []
for seed in range(40):
    letters = np.random.default_rng(seed).integers(97, 113, (100_000, 11), dtype=np.uint8)
    letters[:, -1] = 32
    texts.append(letters.tobytes().decode())
PretokenCounts.from_texts(["a b"] * 4, threads=n_threads)
before = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
Path("/proc/self/clear_refs").write_text("5")
try:
    PretokenCounts.from_texts(texts, threads=n_threads, max_memory=limit)
except MemoryError:
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    print(peak - before)
"""


_GLIBC = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the system lacks glibc, whose allocator this is about"
)


@_GLIBC
@pytest.mark.parametrize("n_threads", [2, 4])
def test_counting_takes_no_more_than_it_may(n_threads: int) -> None:
    limit = 180_000_000
    child = [sys.executable, "-c", _COUNT, str(n_threads), str(limit)]
    n_bytes = int(subprocess.run(child, capture_output=True, text=True, check=True, timeout=240).stdout)
    # Not less than half: then something else failed. At most a tenth more: pages, stacks, and what the allocator keeps.
    assert limit // 2 < n_bytes < limit + limit // 10
