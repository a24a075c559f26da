"""The training curve, against truncated tokenizers and against the counts of the reference's training."""

from pathlib import Path

import pytest

from pairloom import Corpus, Tokenizer
from pairloom.analysis.curve import training_curve
from pairloom.analysis.stats import corpus_stats
from pairloom.model import Model

TEXTS = [(Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8"), "aaaaaaa aaa é 東京 <|endoftext|>x"]


def test_tokens_after_each_merge_equal_those_of_the_truncated() -> None:
    tokenizer = Tokenizer.train(TEXTS[:1], 420, corpus_specials="split")
    for texts in (TEXTS, TEXTS[1:], []):
        curve = training_curve(tokenizer, corpus_stats(tokenizer, Corpus.of_texts(texts)))
        assert len(curve.times) + 1 == len(curve.n_tokens) == len(tokenizer.model.merges) + 1
        for n_merges in (0, 1, 17, 80, 163):
            smaller = tokenizer.truncate_vocab(256 + n_merges, specials_counted=False)
            assert curve.n_tokens[n_merges] == sum(map(smaller.count_tokens, texts))
        assert (-(curve.n_tokens[1:] - curve.n_tokens[:-1]) == curve.times).all()


def _model(merges: list[tuple[int, int, int]], **fields: object) -> Tokenizer:
    tokens = {97: b"a", 98: b"b", 99: b"c", 200: b"bc", 201: b"abc", 202: b"ab"}
    tokens |= {byte: bytes([byte]) for byte in range(97)}
    return Tokenizer.from_model(Model.from_tokens(tokens, merges, pattern="gpt2", **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokenizer", "named"),
    [
        (_model([], rule="ranks", ignore_merges=True), "pairs"),
        (_model([(98, 99, 200)], ignore_merges=True), "pairs"),
        (_model([(98, 99, 200), (97, 98, 202), (202, 99, 201), (97, 200, 201)]), "several"),
        (_model([(97, 200, 201), (98, 99, 200)]), "before"),
    ],
)
def test_merges_that_were_not_learned_in_order_have_no_curve(tokenizer: Tokenizer, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        training_curve(tokenizer, corpus_stats(tokenizer, Corpus.of_texts(["abc"])))
