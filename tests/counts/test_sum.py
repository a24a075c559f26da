"""Adding and subtracting counts: the counts of all parts, and of what is left."""

import json
import operator
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pairloom import CountsError, PretokenCounts, Tokenizer
from tests.cli.commands import failed, output, run
from tests.corpora import random_documents


def counts_of(*texts: str) -> PretokenCounts:
    return PretokenCounts.from_texts(texts)


def test_counts_can_be_added_to_themselves_and_to_nothing() -> None:
    counts = same = counts_of("ab ab cd")
    counts += counts
    assert counts is same and counts == counts_of("ab ab cd", "ab ab cd")
    empty = PretokenCounts.from_texts([])
    empty += counts
    assert empty == counts
    counts += PretokenCounts.from_texts([])
    assert empty == counts


@pytest.mark.parametrize(
    ("operators", "other", "message"),
    [
        ("+-", PretokenCounts.from_texts(["ab"], "o200k"), "cannot be added or subtracted: pattern"),
        ("+-", PretokenCounts.from_texts(["ab"], special_tokens=["<|e|>"]), "special"),
        ("+-", PretokenCounts.from_texts(["ab", "ab"]).pruned(2), "pruned"),
        ("+", PretokenCounts.from_items([(b"ab", 2**64 - 1)], n_bytes=0), "exceeds 2"),
        ("+", PretokenCounts.from_items([], n_bytes=2**64 - 1), "exceeds 2"),
        ("-", counts_of("cd cd"), r'" ?cd" occurs 0 times here, but 1 times in the counts to subtract'),
        ("-", counts_of(" ab ab ab"), r'" ab" occurs 1 times here, but 3 times'),
        ("-", PretokenCounts.from_items([(b"ab", 1)], n_documents=2), "a document occurs 1 times here, but 2"),
        ("-", PretokenCounts.from_items([(b"ab", 1)], n_bytes=99), "a byte occurs 5 times here, but 99"),
    ],
)
def test_counts_that_do_not_fit_change_nothing(operators: str, other: PretokenCounts, message: str) -> None:
    changes: dict[str, Callable[[Any, Any], Any]] = {"+": operator.iadd, "-": operator.isub}
    counts = counts_of("ab ab")
    for change in map(changes.__getitem__, operators):
        with pytest.raises(CountsError, match=message):
            change(counts, other)
        assert counts == counts_of("ab ab")
        with pytest.raises(TypeError):
            change(counts, {b"ab": 1})


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


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 540), marks=pytest.mark.slow)], ids=str)
def test_what_is_left_is_counting_the_rest(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        documents = random_documents(rng)
        lost = rng.sample(range(len(documents)), rng.randrange(len(documents) + 1))
        added = random_documents(random.Random(seed + 10_000))[:3]
        rest = [text for index, text in enumerate(documents) if index not in lost] + added
        pattern = rng.choice(["gpt2", "o200k", ".+"])
        whole, gone, new, expected = (
            PretokenCounts.from_texts(texts, pattern)
            for texts in (documents, [documents[index] for index in lost], added, rest)
        )
        before = list(whole.items())
        found = whole - gone + new
        assert list(whole.items()) == before
        assert found == expected and len(found) == len(expected)
        assert found.columns.n_special_literals == expected.columns.n_special_literals
        # Training after the corpus changed equals training from scratch.
        assert Tokenizer.train_from_counts(found, 290) == Tokenizer.train(rest, 290, pattern=pattern)
        assert whole - gone - PretokenCounts.from_texts([], pattern) == expected - new


def test_merge_counts_subtracts(tmp_path: Path) -> None:
    for name, text in {"a": "ab ab cd", "b": "ab"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
        output("count --input", tmp_path / f"{name}.txt", "--output", tmp_path / name)
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "out"
    assert json.loads(output("merge-counts", a, "--subtract", b, "--output", out))["pretokens"] == 2
    assert PretokenCounts.load(out) == PretokenCounts.load(a) - PretokenCounts.load(b)
    failed(run("merge-counts", b, "--subtract", b, a, "--output", tmp_path / "none"), f"{a}: counts: ")
    assert not (tmp_path / "none").exists()
