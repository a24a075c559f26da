"""The real memory of counting, training, adding counts and writing shards, compared with `max_memory` or the input."""

import ctypes
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pairloom import PretokenCounts, Tokenizer, tokenize_files
from tests.soak.isolation import run_cases

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the system lacks glibc, whose allocator this is about"
)
_M_MMAP_THRESHOLD = -3


def growth(call: Callable[[], object]) -> int:
    """Returns by how many bytes at most a process grows during this call."""

    ((_, outcome),) = run_cases(lambda _: call() or True, 1, timeout=240)
    assert outcome.result, outcome
    return outcome.n_bytes


def rare_words(seed: int, n_words: int, n_letters: int) -> str:
    """Random words of ten letters, nearly all different."""
    letters = np.random.default_rng(seed).integers(97, 97 + n_letters, (n_words, 11), dtype=np.uint8)
    letters[:, -1] = 32
    return letters.tobytes().decode()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_counting_takes_no_more_than_it_may(n_threads: int) -> None:
    limit, texts = 180_000_000, [rare_words(seed, 100_000, 16) for seed in range(40)]

    def count() -> None:
        with pytest.raises(MemoryError):
            PretokenCounts.from_texts(texts, threads=n_threads, max_memory=limit)

    # Less than half would mean that something else failed. Up to a tenth more is for pages, stacks and the allocator.
    assert limit // 2 < growth(count) < limit + limit // 10


@pytest.mark.parametrize("limit", [60_000_000, 100_000_000])
def test_training_on_rare_pretokens_takes_no_more_than_it_may(limit: int) -> None:
    # In the end, nearly every pair of tokens is kept.
    counts = PretokenCounts.from_texts([rare_words(1, 300_000, 26)])

    def train() -> None:
        with pytest.raises(MemoryError):
            Tokenizer.train_from_counts(counts, 30_000, threads=1, max_memory=limit)

    assert growth(train) < limit + limit // 10


@pytest.mark.long
def test_adding_counts_in_place_takes_no_third_table() -> None:
    # A fixed threshold. Otherwise glibc keeps freed memory for later, which hides how much is needed.
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 17)
    # 800,000 pretokens, whose columns take 27 MB; 20,000 are added.
    total = PretokenCounts.from_items((b"pretoken %d" % n, 1) for n in range(800_000))
    part = PretokenCounts.from_items((b"pretoken %d" % n, 1) for n in range(790_000, 810_000))

    def add(in_place: bool) -> object:
        return bool(total.__iadd__(part) if in_place else total + part)

    # One column at a time may move, of which the longest takes 12 MB.
    assert growth(lambda: add(True)) < 16 << 20 < 20 << 20 < growth(lambda: add(False))


@pytest.mark.long
def test_a_document_of_one_letter_takes_a_few_times_its_size(tmp_path: Path) -> None:
    n_bytes, tokenizer = 40_000_000, Tokenizer.train("a" * 5000 + " aab abb bab", 270)
    (tmp_path / "a.txt").write_bytes(b"a" * n_bytes)
    # The text, four bytes for each symbol, and up to eight for each queued pair; any run takes 20 MB.
    assert growth(lambda: tokenize_files(tokenizer, tmp_path / "a.txt", tmp_path / "out")) < 13 * n_bytes + 20_000_000
