"""Training that continues: equal to the reference, and to training that was never interrupted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, TrainingConfig
from pairloom.patterns import pattern_text
from pairloom.reference.encoder import encode as reference_encode
from pairloom.reference.extend import extend as reference_extend
from pairloom.reference.vocabulary import Merge, Model

LINES = r"[^\n]*\n+|[^\n]+"
PATTERNS = [None, LINES, ".+", (r"[^\n]+", "gpt2")]


def corpus_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcé", k=rng.randrange(1, 6))) for _ in range(8)]
    separators = [" ", " ", "  ", "\n", ", ", "<s>"]
    return ["".join(rng.choice(words) + rng.choice(separators) for _ in range(rng.randrange(1, 60))) for _ in range(4)]


def reference_of(tokenizer: Tokenizer) -> Model:
    merges = [Merge(*row) for row in tokenizer.model.merges.tolist()]
    return Model(tokenizer.model.tokens(), merges, tokenizer.special_tokens, tokenizer.pattern)


def same(tokenizer: Tokenizer, model: Model) -> None:
    assert tokenizer.model.merges.tolist() == [list(merge) for merge in model.merges]
    assert tokenizer.special_tokens == model.special_tokens
    assert tokenizer.pattern == pattern_text(model.pattern)


@pytest.mark.parametrize("profile", ["bpetite", "cs336", "huggingface"])
def test_extend_equals_the_reference(profile: str) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        fields: dict[str, Any] = {"special_tokens": rng.choice([[], ["<s>"], ["<s>", "b"]])}
        start = Tokenizer.train(corpus_of(seed), 256 + 3 + rng.randrange(1, 25), profile, **fields)
        if not len(start.model.merges):
            continue
        pattern = rng.choice(PATTERNS)
        more: dict[str, Any] = {}
        if rng.random() < 0.4:
            more["max_token_bytes"] = rng.randrange(2, 14)
        if rng.random() < 0.4:
            more["min_frequency"] = rng.randrange(1, 4)
        corpus = corpus_of(rng.choice([seed, seed + 1000]))
        n_new = rng.randrange(40)
        n_old = start.model.columns.n_tokens + (0 if profile == "bpetite" else len(start.special_tokens))
        extended = start.extend(corpus, n_old + n_new, pattern, threads=rng.choice([1, 2]), **more)
        config = extended.config
        assert config is not None
        expected = reference_extend(
            corpus,
            reference_of(start),
            n_new,
            pattern,
            corpus_specials=config.corpus_specials,
            tie_break=config.tie_break,
            **more,
        )
        same(extended, expected)
        text = "".join(corpus)
        if pattern is not None:
            assert extended.encode(text) == reference_encode(text, expected)


@pytest.mark.parametrize("profile", ["bpetite", "cs336", "huggingface"])
@pytest.mark.parametrize("tie_break", ["ids_least", "bytes_greatest"])
def test_extend_from_t_to_n_is_training_to_n(profile: str, tie_break: Any) -> None:
    for seed in range(15):
        corpus = corpus_of(seed)
        fields: dict[str, Any] = {"special_tokens": ["<s>"], "tie_break": tie_break}
        whole = Tokenizer.train(corpus, 330, profile, **fields)
        for t in (258, 265, 300):
            start = Tokenizer.train(corpus, t, profile, **fields)
            assert start.extend(corpus, 330) == whole
            assert start.extend(corpus, t) == start
            # Without the config, which no file holds, the profile says it.
            loaded = Tokenizer.from_model(start.model)
            assert loaded.extend(corpus, 330, profile=profile, tie_break=tie_break) == whole


def test_extend_across_words_makes_superwords(tmp_path: Path) -> None:
    text = "by the way, it is by the way\nin the end by the way\n" * 20
    path = tmp_path / "corpus.txt"
    path.write_text(text)
    start = Tokenizer.train(text, 280)
    extended = start.extend(text, 310, LINES)
    assert extended == start.extend_files(path, 310, LINES)
    assert extended.pattern == LINES
    assert any(b" the way" in token for token in extended.vocab.values()) and len(extended.merges) > len(start.merges)
    assert extended.merges[: len(start.merges)] == start.merges
    assert extended.special_tokens == {"<|endoftext|>": 256 + len(extended.merges)}
    assert extended.decode(extended.encode(text)) == text
    assert len(extended.encode(text)) < len(start.encode(text))
    extended.save(tmp_path / "model.json")
    assert Tokenizer.load(tmp_path / "model.json") == extended


def test_extend_of_long_pretokens_is_bounded_by_max_memory() -> None:
    start = Tokenizer.train("ab ab", 257)
    with pytest.raises(MemoryError):
        start.extend("ab cd " * 100_000, 300, ".+", max_memory=100_000)


BYTES = {i: bytes([i]) for i in range(256)}
WITHOUT_BYTES = Tokenizer.from_ranks({b"a": 0, b"b": 1}, ".", allow_missing_bytes=True)
WITH_GAPS = Tokenizer({**BYTES, 300: b"ab", 302: b"cd"}, [(b"a", b"b"), (b"c", b"d")])
LOOKING_UP = Tokenizer.from_model(Tokenizer.train("ab ab", 257).model.replaced(ignore_merges=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: t.extend("ab", 257), "truncate_vocab"),
        (lambda t: Tokenizer.from_model(t.model).extend("ab", 300), "pass profile"),
        (lambda t: t.extend("ab", 300, special_tokens=["<s>"]), "cannot change in extend"),
        (lambda t: t.extend("ab", 300, unknown=1), "unknown training option"),
        (lambda t: t.extend(Path("ab"), 300), "extend_files"),
        (lambda t: t.extend("ab", 300, "(a"), "pattern"),
        (lambda t: t.extend("ab", "300"), "vocab_size"),
        (lambda t: WITHOUT_BYTES.extend("a", 9, profile="bpetite"), "bytes"),
        (lambda t: WITH_GAPS.extend("ab", 400, profile="bpetite"), "consecutive"),
        (lambda t: LOOKING_UP.extend("ab", 400, profile="bpetite"), "explicit merges"),
    ],
)
def test_what_cannot_be_extended_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(Tokenizer.train("ab ab cd", 259))


def test_extend_of_a_tokenizer_without_merges_is_training() -> None:
    for profile in ("bpetite", "cs336", "huggingface"):
        config = TrainingConfig.from_profile(profile, special_tokens=["<s>"])
        start = Tokenizer.train("", config.base_vocab_size, profile, special_tokens=["<s>"])
        assert start.extend("ab ab ab cab", 262) == Tokenizer.train(
            "ab ab ab cab", 262, profile, special_tokens=["<s>"]
        )


def test_extend_on_the_name_of_a_file_warns(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat")
    with pytest.warns(UserWarning, match="extend_files"):
        Tokenizer.train("ab ab", 257).extend(str(path), 258)


@pytest.mark.parametrize("count", [2**61, 2**62])
def test_extend_on_huge_counts_learns_their_pairs(count: int) -> None:
    counts = PretokenCounts.from_items([(b"zzz", count)], "gpt2")
    extended = Tokenizer.train("ab ab", 258).extend_from_counts(counts, 259)
    assert extended.merges[-1] == (b"z", b"z")
