"""Adding counts in place."""

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from pairloom import CountsError, PretokenCounts


def counts_of(*texts: str) -> PretokenCounts:
    return PretokenCounts.from_texts(texts)


def test_adding_in_place_gives_the_counts_of_all_parts() -> None:
    words = random.Random(1)
    texts = [" ".join(f"w{words.randrange(3000)}" for _ in range(500)) for _ in range(20)]
    total = counts_of(texts[0])
    same = total
    for text in texts[1:]:
        part = counts_of(text)
        before = list(part.items())
        total += part
        assert list(part.items()) == before
    assert total is same
    assert total == counts_of(*texts) == PretokenCounts.merged(map(counts_of, texts))
    assert pickle.loads(pickle.dumps(total)) == total


def test_counts_can_be_added_to_themselves_and_to_nothing() -> None:
    counts = counts_of("ab ab cd")
    counts += counts
    assert counts == counts_of("ab ab cd", "ab ab cd")
    empty = PretokenCounts.from_texts([])
    empty += counts
    assert empty == counts
    counts += PretokenCounts.from_texts([])
    assert empty == counts


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (PretokenCounts.from_texts(["ab"], pattern="o200k"), "pattern"),
        (PretokenCounts.from_texts(["ab"], special_tokens=["<|e|>"]), "special"),
        (PretokenCounts.from_texts(["ab", "ab"]).pruned(2), "pruned"),
        (PretokenCounts.from_items([(b"ab", 2**64 - 1)], n_bytes=0), "exceeds 2"),
        (PretokenCounts.from_items([], n_bytes=2**64 - 1), "exceeds 2"),
    ],
)
def test_counts_that_cannot_be_added_change_nothing(other: PretokenCounts, message: str) -> None:
    counts = counts_of("ab ab cd")
    with pytest.raises(CountsError, match=message):
        counts += other
    assert counts == counts_of("ab ab cd")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda counts: pickle.loads(pickle.dumps(counts))])
def test_a_copy_stays_as_it_is(copied: object) -> None:
    counts = counts_of("ab ab cd")
    kept = copied(counts)  # type: ignore[operator]
    summed = counts + counts_of("ef")
    counts += counts_of("ef")
    assert kept == counts_of("ab ab cd")
    assert counts == summed


def test_a_call_while_counts_are_added_is_refused_or_right() -> None:
    parts = [PretokenCounts.from_items({b"%d" % n: 1 for n in range(start, start + 100_000)}) for start in (0, 50_000)]
    total, part = parts
    expected = [(total + part), total + part + part]
    refusals: list[str] = []

    def add(_: int) -> None:
        nonlocal total
        try:
            total += part
        except RuntimeError as error:
            refusals.append(str(error))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, range(2)))
    assert all("PretokenCounts is in use by another call" in message for message in refusals)
    assert total == expected[1 - len(refusals)]
