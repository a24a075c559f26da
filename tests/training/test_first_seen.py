"""tie_break="first_seen", minbpe's convention; tests/test_differential.py compares it with the reference."""

from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.errors import CorpusError


def pairs_of(tokenizer: Tokenizer) -> list[tuple[int, int]]:
    return [(left, right) for left, right, _ in tokenizer.model.merges.tolist()]


def test_first_seen_leaves_rare_pretokens_out_and_reads_files(tmp_path: Path) -> None:
    corpus, rare = ["abc abc abc abc", "abc abc"], ["abc abc abc abc xyz", "abc abc qrs"]
    fields: dict[str, Any] = {"special_tokens": [], "tie_break": "first_seen", "min_count": 2}
    trained = Tokenizer.train(rare, 300, **fields)
    assert pairs_of(trained) == pairs_of(Tokenizer.train(corpus, 300, **fields))
    for number, text in enumerate(rare):
        (tmp_path / f"{number}.txt").write_text(text)
    assert Tokenizer.train_files(sorted(tmp_path.iterdir()), 300, **fields) == trained


def test_first_seen_takes_what_keeps_the_order_and_nothing_else(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"tie_break": "first_seen"}
    with pytest.raises(ValueError, match="order of the corpus"):
        Tokenizer.train_from_counts(PretokenCounts.from_texts(["ab ab"]), 260, **rule)
    with pytest.raises(ValueError, match="order of the corpus"):
        Tokenizer.train("ab ab", 257).extend("ab ab", 260, **rule)
    with pytest.raises(ValueError, match="max_memory"):
        Tokenizer.train("ab ab", 260, max_memory=10**9, **rule)
    with pytest.raises(ValueError, match="checkpoint"):
        Tokenizer.train_files(tmp_path, 260, checkpoint=tmp_path / "c", **rule)
    with pytest.raises(TypeError, match=r"corpus\[1\] must be a str"):
        Tokenizer.train(["ab", b"ab"], 260, **rule)
    (tmp_path / "bad.txt").write_bytes(b"ab\xff")
    with pytest.raises(CorpusError, match="byte 2"):
        Tokenizer.train_files(tmp_path / "bad.txt", 260, **rule)
    with pytest.warns(UserWarning, match="2 literals of special tokens"):
        Tokenizer.train("ab<|endoftext|>ab<|endoftext|>", 257, **rule)
