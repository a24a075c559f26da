"""Removing and replacing tokens: equal to the reference, with unchanged ids."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, MissingByteError, PretokenCounts, Tokenizer
from pairloom.model import Model
from pairloom.patterns import GPT2
from pairloom.reference import prune as reference
from pairloom.reference.extend import extend as reference_extend
from tests.formats.models import reference_of
from tests.training.test_extend import KINDS, corpus_of, encode_by, start_of


def check_changes(tokenizer: Tokenizer, start: Any, corpus: list[str], **more: Any) -> None:
    """Extending, adapting and pruning on a corpus equal the reference."""
    for found, expected in (
        (tokenizer.extend(corpus, n_tokens=9, **more), reference_extend(corpus, start, 9, **more)),
        (tokenizer.adapt(corpus, 5, **more), reference.adapt(corpus, start, 5, **more)),
        (tokenizer.prune(corpus, n_tokens=9), reference.prune(corpus, start, 9)),
    ):
        assert (reference_of(found).vocab, reference_of(found).merges) == (expected.vocab, expected.merges)


@pytest.mark.filterwarnings("ignore:.* tokens were added", "ignore:the corpus holds")
@pytest.mark.parametrize("steps", [("lowercase",), ("nfc",), ("nfd", "lowercase"), ("nfc", "prefix_space")], ids=str)
def test_normalised_corpora_equal_the_reference(steps: tuple[str, ...]) -> None:
    for seed in range(8):
        # Normalization turns some texts into a special token.
        written = ("B", "e\u0301", "<S>") if seed % 2 else ("b", "E\u0301", "<s>")
        corpus = [text.replace("b", written[0]).replace("\u00e9", written[1]) for text in corpus_of(seed + 1000)]
        corpus = [text.replace("<s>", written[2], 1) for text in corpus]
        trained = Tokenizer.train(corpus_of(seed), 275, special_tokens=["<s>"])
        tokenizer = Tokenizer.from_model(trained.model.replaced(normalizer=steps))
        start = dataclasses.replace(reference_of(tokenizer), normalizer=steps)
        more: dict[str, Any] = {"corpus_specials": "split" if seed % 4 > 1 else "text"}
        check_changes(tokenizer, start, corpus, **more)


@pytest.mark.filterwarnings("ignore:.* tokens were added", "ignore:the corpus holds")
@pytest.mark.parametrize("rule", ["lstrip", "rstrip", "single_word", "ordinary", "any_case"])
def test_corpora_with_ruled_special_tokens_equal_the_reference(rule: str) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        parts = ["ab", " ", " ", "s", "word", "WORD", "swords", "\u00e9", "<m>", "\n"]
        corpus = ["".join(rng.choices(parts, k=60)) for _ in range(5)]
        trained = Tokenizer.train(corpus, 285, special_tokens=["<m>", "word"])
        rules = (("word", rule), *([("<m>", "rstrip")] if seed % 2 else []))
        tokenizer = Tokenizer.from_model(trained.model.replaced(special_rules=tuple(sorted(rules))))
        start = dataclasses.replace(reference_of(tokenizer), special_rules=rules)
        check_changes(tokenizer, start, corpus, corpus_specials="split")


def test_prune_counts_the_uses_left_where_bytes_are_dropped() -> None:
    tokens = {byte: bytes((byte,)) for byte in range(256) if byte not in b"1\xa9"} | {
        300: b"ab",
        301: b"cd",
        302: b" b",
    }
    rows = [(97, 98, 300), (99, 100, 301), (32, 98, 302)]
    model = Model.from_tokens(tokens, rows, pattern=GPT2, normalizer=["drop_missing_bytes"])
    tokenizer = Tokenizer.from_model(model)
    corpus = ["111 11 \u00e9ab 1111", "1", "ab1 ab \u00e9 b1", "1cd1 1 111"]
    assert [i for text in corpus for i in tokenizer.encode(text) if i >= 300] == [300, 300, 300, 302, 301]
    for n_tokens, left in ((1, {300, 301}), (2, {300})):
        assert {i for i in tokenizer.prune(corpus, n_tokens=n_tokens).vocab if i >= 300} == left
    assert tokenizer.prune(["11 1"], n_tokens=1).n_vocab == 302
    assert tokenizer.pieces_of([b"1", b"a1b", b"cd", b""]) == [[], [300], [301], []]


def test_counts_for_a_tokenizer_that_changes_texts_warn() -> None:
    tokenizer = Tokenizer.train("low lower lowest", 259).with_normalizer("lowercase")
    counts = PretokenCounts.from_texts(["LOW lowest"])
    with pytest.warns(UserWarning, match=r"normalizes texts \(lowercase\); pass the texts"):
        tokenizer.extend(counts, n_tokens=1)
    ruled = Tokenizer.train("low lower lowest", 259, special_tokens=["low"])
    ruled = Tokenizer.from_model(ruled.model.replaced(special_rules=(("low", "single_word"),)))
    with pytest.warns(UserWarning, match="have rules"):
        ruled.prune(PretokenCounts.from_texts(["lowest"], special_tokens=["low"], corpus_specials="split"), n_tokens=1)


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 360), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:.* of the ids move", "ignore:the corpus holds", "ignore:.* tokens were added")
def test_prune_and_adapt_equal_the_reference(kind: str, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        tokenizer = start_of(rng, kind, corpus_of(seed))
        ignore_merges = tokenizer.model.ignore_merges
        # No text uses some of the tokens.
        corpus = corpus_of(rng.choice([seed, seed + 1000]))[: rng.randrange(1, 5)]
        specials = set(tokenizer.special_tokens.values())
        removable = [i for i, token in tokenizer.model.tokens().items() if len(token) > 1 and i not in specials]
        n = rng.randrange(len(removable) + 1)
        start = reference_of(tokenizer)
        expected = reference.prune(corpus, start, n, ignore_merges=ignore_merges)
        pruned = tokenizer.prune(corpus, n_tokens=n)
        check(pruned, expected, corpus, ignore_merges)
        assert pruned.vocab.items() <= tokenizer.vocab.items()
        changes = pruned.changes_from(tokenizer)
        assert (len(changes.new), len(changes.moved), len(changes.removed)) == (0, 0, n)
        compacted = tokenizer.prune(corpus, n_tokens=n, keep_ids=False, threads=2)
        check(compacted, reference.compact(expected), corpus, ignore_merges)
        assert list(compacted.vocab) == list(range(len(pruned.vocab)))
        moved = dict(compacted.changes_from(tokenizer).moved.tolist())
        # The map says what happened to every id.
        assert compacted.encode("".join(corpus)) == [moved.get(i, i) for i in pruned.encode("".join(corpus))]
        options: dict[str, Any] = {"ignore_merges": ignore_merges}
        if (config := tokenizer.config) is not None:
            options |= {"tie_break": config.tie_break, "corpus_specials": config.corpus_specials}
        adapted = tokenizer.adapt(corpus, n)
        check(adapted, reference.adapt(corpus, start, n, **options), corpus, ignore_merges)
        assert set(adapted.vocab) <= set(tokenizer.vocab) and adapted.special_tokens == tokenizer.special_tokens
        assert not len(adapted.changes_from(tokenizer).moved)


def check(tokenizer: Tokenizer, expected: Any, corpus: list[str], ignore_merges: bool) -> None:
    found = reference_of(tokenizer)
    assert (found.vocab, found.special_tokens) == (expected.vocab, expected.special_tokens)
    assert sorted(found.merges) == sorted(expected.merges)
    assert tokenizer.model.rule == "ranks" or found.merges == expected.merges
    text = "".join(corpus)
    assert tokenizer.encode(text) == encode_by(expected, text, ignore_merges)


TEXT = "by the way, it is by the way\nin the end by the <s>way<|endoftext|> naïve 東京\n" * 3
DOMAIN = "the enzyme inhibits the kinase; the kinase inhibitor binds, 酵素 <s>\n" * 9


def test_adapt_on_little_text_names_the_ids_that_stay_free() -> None:
    start = Tokenizer.train(DOMAIN, 300)
    with pytest.warns(UserWarning, match="12 of the freed ids get no new token, .* unused:") as warned:
        adapted = start.adapt("zzzyyyxxx", 20)
    free = sorted(set(start.vocab) - set(adapted.vocab))
    assert f": {free}; replace fewer tokens, or train on more text" in str(warned[-1].message)


def test_pieces_of_new_tokens_spell_them() -> None:
    start = Tokenizer.train(TEXT, 280, special_tokens=["<|endoftext|>"], corpus_specials="split")
    larger = start.extend(DOMAIN, n_tokens=60)
    tokens = [larger.id_to_token(i) for i in larger.changes_from(start).new]
    assert any(not _is_text(token) for token in tokens)
    pieces = start.pieces_of(tokens)
    assert [start.decode_bytes(ids) for ids in pieces] == tokens
    texts = [token.decode() for token in tokens if _is_text(token)]
    assert start.pieces_of(text.encode() for text in texts) == [start.encode_ordinary(text) for text in texts]
    assert start.pieces_of([b"ab", b"", b"ab"]) == [[97, 98], [], [97, 98]] and start.pieces_of([]) == []
    for wrong in ("ab", [b"ab", "ab"], 5):
        with pytest.raises(TypeError, match="bytes"):
            start.pieces_of(wrong)  # type: ignore[arg-type]
    with pytest.raises(MissingByteError):
        Tokenizer.from_ranks({b"a": 0}, ".", missing_bytes="raise").pieces_of([b"b"])


def _is_text(token: bytes) -> bool:
    return token.decode(errors="ignore").encode() == token


def test_prune_takes_every_form_of_a_corpus(tmp_path: Path) -> None:
    start = Tokenizer.train(TEXT, 280, special_tokens=["<|endoftext|>"], corpus_specials="split")
    (tmp_path / "corpus.txt").write_text(DOMAIN, encoding="utf-8", newline="")
    counts = PretokenCounts.from_texts([DOMAIN])
    expected = start.prune(DOMAIN, 260)
    for corpus in (Corpus(tmp_path / "corpus.txt"), counts, iter([DOMAIN]), [DOMAIN]):
        assert start.prune(corpus, n_tokens=20) == expected
    assert len(expected.model.token_ids) == 260
    assert start.adapt(iter([DOMAIN]), 9) == start.adapt(counts.pruned(1), 9, corpus_specials="text") != start
    assert start.prune(DOMAIN, 280) == start.prune("", n_tokens=0) == start
    assert len(start.prune(DOMAIN, 256).merges) == 0
    with pytest.warns(UserWarning, match="ids move"):
        assert start.prune(DOMAIN, 256, keep_ids=False) == Tokenizer.train("", 256, corpus_specials="split")


SHARED = Tokenizer(
    {**{i: bytes([i]) for i in range(256)}, 256: b"ab", 300: b"abc"}, [(b"a", b"b"), (b"ab", b"c")], ["abc"]
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: t.prune("ab", 260), "extend makes it larger"),
        (lambda t: t.prune("ab", 255), "4 tokens cannot be removed.*there are only 3"),
        (lambda t: t.prune("ab", n_tokens=4), "there are only 3"),
        (lambda t: SHARED.prune("ab", n_tokens=1), "there are only 0"),
        (lambda t: SHARED.prune("ab", 256), "the tokenizer does not store how .* the number of tokens to remove"),
        (lambda t: t.prune(Path("ab"), 258), "Corpus"),
        (lambda t: t.adapt("ab", 1, special_tokens=["<s>"]), "cannot change in extend"),
        (lambda t: t.prune(PretokenCounts.from_texts(["ab"], "o200k"), n_tokens=1), "pattern"),
        (lambda t: t.adapt(PretokenCounts.from_texts(["ab"], "o200k"), n_tokens=1), "pattern"),
        (lambda t: t.prune([], n_tokens=3), "the corpus contains no text"),
        (lambda t: t.adapt([], n_tokens=3), "the corpus contains no text"),
    ],
)
def test_what_cannot_be_pruned_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(Tokenizer.train("ab ab cd", 259))
