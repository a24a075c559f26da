"""tie_break="first_seen": minbpe's convention, equal to the reference."""

import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.errors import CorpusError
from pairloom.reference import naive


def corpus_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("abc é\n", k=rng.randrange(60))) for _ in range(rng.randrange(1, 4))]


def pairs_of(tokenizer: Tokenizer) -> list[tuple[int, int]]:
    return [(left, right) for left, right, _ in tokenizer.model.merges.tolist()]


def test_first_seen_leaves_rare_pretokens_out() -> None:
    corpus, rare = ["abc abc abc abc", "abc abc"], ["abc abc abc abc xyz", "abc abc qrs"]
    fields: dict[str, Any] = {"special_tokens": [], "tie_break": "first_seen", "min_count": 2}
    assert pairs_of(Tokenizer.train(rare, 300, **fields)) == pairs_of(Tokenizer.train(corpus, 300, **fields))


def test_first_seen_with_every_option_equals_the_reference(tmp_path: Path) -> None:
    for seed in range(150):
        rng = random.Random(seed)
        corpus = corpus_of(seed + 500)
        fields: dict[str, Any] = {
            "pattern": rng.choice(["gpt2", "(?s:.+)", "cl100k"]),
            "special_tokens": rng.choice([[], ["ab"], ["ab", "abc"]]),
            "corpus_specials": rng.choice(["text", "split"]),
            "min_frequency": rng.randrange(1, 4),
            "max_token_bytes": rng.choice([None, 2, 3, 5]),
            "byte_order": rng.choice(["value", "gpt2"]),
            "special_ids": rng.choice(["first", "after_bytes", "last"]),
            "tie_break": "first_seen",
        }
        tokenizer = Tokenizer.train(corpus, 290, **fields)
        model = naive.train(corpus, 290, **fields)
        assert tokenizer.model.merges.tolist() == [list(merge) for merge in model.merges]
        assert tokenizer.special_tokens == model.special_tokens
        paths = [tmp_path / f"{seed}-{index}.txt" for index in range(len(corpus))]
        for path, text in zip(paths, corpus, strict=True):
            path.write_text(text, newline="")
        assert Tokenizer.train_files(paths, 290, **fields) == tokenizer


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
