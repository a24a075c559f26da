"""Training that continues: equal to the reference, and to training that was never interrupted."""

import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.formats import ranks
from pairloom.patterns import pattern_text
from pairloom.reference.encoder import encode_pretoken
from pairloom.reference.extend import extend as reference_extend
from pairloom.reference.pretokens import pretokenize
from pairloom.reference.special_rules import split_by_rules
from pairloom.reference.vocabulary import Model
from tests.formats.models import reference_of

LINES = r"[^\n]*\n+|[^\n]+"
PATTERNS = [None, LINES, ".+", (r"[^\n]+", "gpt2")]


def corpus_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcé", k=rng.randrange(1, 6))) for _ in range(8)]
    separators = [" ", " ", "  ", "\n", ", ", "<s>"]
    return ["".join(rng.choice(words) + rng.choice(separators) for _ in range(rng.randrange(1, 60))) for _ in range(4)]


def encode_by(model: Model, text: str, ignore_merges: bool) -> list[int]:
    id_of = {token: token_id for token_id, token in model.vocab.items()}
    ids: list[int] = []
    for part, literal in split_by_rules(text, model.special_tokens, ()):
        if literal is not None:
            ids.append(model.special_tokens[literal])
            continue
        for pretoken in pretokenize(part, model.pattern):
            is_whole = ignore_merges and pretoken in id_of
            ids += [id_of[pretoken]] if is_whole else encode_pretoken(pretoken, model)
    return ids


def start_of(rng: random.Random, kind: str, corpus: list[str]) -> Tokenizer:
    """A tokenizer to extend: trained by a profile, or with tokens, rules and ids that training does not give."""
    specials = rng.choice([[], ["<s>"], ["<s>", "b"]])
    n = 259 + rng.randrange(1, 25)
    if kind in ("bpetite", "cs336", "huggingface"):
        return Tokenizer.train(corpus, n, kind, special_tokens=specials)
    trained = Tokenizer.train(corpus, n, special_tokens=[]).vocab
    # Some tokens may be made by no merge.
    more = {"".join(rng.choices("abcé ", k=rng.randrange(2, 5))).encode() for _ in range(4)} - {*trained.values()}
    tokens = [*trained.values(), *sorted(more)]
    gaps = rng.sample(range(256, len(tokens) + 8), len(tokens) - 256)
    ids = {**{i: i for i in range(256)}, **{256 + index: i for index, i in enumerate(sorted(gaps))}}
    # Special tokens between the others and after them.
    free = [i for i in range(256, len(tokens) + 12) if i not in ids.values()]
    special_ids = dict(zip(specials, rng.sample(free, len(specials)), strict=True))
    by_rank = {token: ids[index] for index, token in enumerate(tokens)}
    if kind == "gaps":
        # No tokens for the bytes that no corpus holds.
        by_rank = {token: i for token, i in by_rank.items() if len(token) > 1 or token in "abcé ,\n<s>".encode()}
        return Tokenizer.from_ranks(by_rank, "gpt2", special_ids, missing_bytes="raise")
    if kind == "ranks":
        return Tokenizer.from_ranks(by_rank, "gpt2", special_ids)
    model = Tokenizer.from_ranks(by_rank, "gpt2", special_ids).model
    rows = model.merges if model.rule == "pairs" else ranks.pairs(model)
    how = {"rule": "pairs", "ignore_merges": kind == "whole"}
    return Tokenizer.from_model(model.with_tokens(model.tokens(), rows, model.special_tokens, **how))


KINDS = ["bpetite", "cs336", "huggingface", "ranks", "pairs", "whole", "gaps"]


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 500), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:.* of the ids move", "ignore:the corpus holds")
def test_extend_equals_the_reference(kind: str, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        tokenizer = start_of(rng, kind, corpus_of(seed))
        # Extended several times in a row.
        for _ in range(rng.randrange(1, 4)):
            pattern = rng.choice(PATTERNS)
            more: dict[str, Any] = {}
            if rng.random() < 0.4:
                more["max_token_bytes"] = rng.randrange(2, 14)
            if rng.random() < 0.4:
                more["min_frequency"] = rng.randrange(1, 4)
            if rng.random() < 0.3:
                more["tie_break"] = rng.choice(["ids_least", "bytes_greatest"])
            corpus, n_tokens = corpus_of(rng.choice([seed, seed + 1000])), rng.randrange(20)
            keep_ids = (
                kind in ("ranks", "pairs", "whole", "gaps") or not len(tokenizer.model.merges) or rng.random() < 0.7
            )
            extended = tokenizer.extend(
                corpus, n_tokens=n_tokens, pattern=pattern, keep_ids=keep_ids, threads=rng.choice([1, 2]), **more
            )
            ignore_merges = tokenizer.model.ignore_merges
            config = tokenizer.config
            if config is not None:
                more = {"tie_break": config.tie_break, "corpus_specials": config.corpus_specials, **more}
                for name in ("max_token_bytes", "min_frequency"):
                    more.setdefault(name, getattr(config, name))
            expected = reference_extend(
                corpus,
                reference_of(tokenizer),
                n_tokens,
                pattern,
                keep_ids=keep_ids,
                ignore_merges=ignore_merges,
                **more,
            )
            found = reference_of(extended)
            assert sorted(found.merges) == sorted(expected.merges), (seed, kind)
            assert extended.model.rule == "ranks" or found.merges == expected.merges
            assert (found.vocab, found.special_tokens) == (expected.vocab, expected.special_tokens)
            assert extended.pattern == pattern_text(expected.pattern)
            text = "".join(corpus)
            assert extended.encode(text) == encode_by(expected, text, ignore_merges)
            if keep_ids:
                assert extended.vocab.items() >= tokenizer.vocab.items()
                assert extended.special_tokens == tokenizer.special_tokens
                assert not len(extended.changes_from(tokenizer).moved)
            assert len(extended.changes_from(tokenizer).new) == len(extended.vocab) - len(tokenizer.vocab) <= n_tokens
            tokenizer = extended


@pytest.mark.parametrize("profile", ["bpetite", "cs336", "huggingface"])
@pytest.mark.parametrize("tie_break", ["ids_least", "bytes_greatest"])
@pytest.mark.filterwarnings("ignore:.* of the ids move", "ignore:the corpus holds")
def test_extend_with_moved_ids_is_training_to_that_size(profile: str, tie_break: Any, tmp_path: Path) -> None:
    for seed in range(5):
        corpus = corpus_of(seed)
        fields: dict[str, Any] = {"special_tokens": ["<s>"], "tie_break": tie_break}
        whole = Tokenizer.train(corpus, 330, profile, **fields)
        for t in (257, 258, 265, 300):
            start = Tokenizer.train(corpus, t, profile, **fields)
            assert start.extend(corpus, t) == start
            start.save(tmp_path / "model", overwrite=True)
            # Ids as in a single training: in one step, in several, and from a file, which stores how it was trained.
            for road in (start, start.extend(corpus, n_tokens=2), Tokenizer.load(tmp_path / "model")):
                assert road.extend(corpus, 330, keep_ids=False) == whole
            extended = Tokenizer.load(tmp_path / "model").extend(corpus, 330)
            assert extended.merges == whole.merges and extended.special_tokens == start.special_tokens


def test_extend_of_long_pretokens_is_bounded_by_max_memory() -> None:
    start = Tokenizer.train("ab ab", 257)
    with pytest.raises(MemoryError):
        start.extend("ab cd " * 100_000, 300, pattern=".+", max_memory=100_000)


BYTES = {i: bytes([i]) for i in range(256)}
WITHOUT_BYTES = Tokenizer.from_ranks({b"a": 0, b"b": 1}, ".", missing_bytes="raise")
NOT_TRAINED = Tokenizer({**BYTES, 256: b"ab"}, [(b"a", b"b")], {"<s>": 300})
NOT_MADE = Tokenizer({**BYTES, 300: b"ab", 302: b"cd"}, [(b"a", b"b")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: t.extend("ab", 257), "already; pass more"),
        (lambda t: t.truncate_vocab(999), "vocab_size is 999, but this tokenizer has .*; extend makes it larger"),
        (lambda t: t.extend("ab", n_tokens=1, trace=print), "trace is an option of Tokenizer.train, not of this call"),
        (lambda t: NOT_TRAINED.extend("ab", 300), "the tokenizer does not store how .* pass n_tokens"),
        (lambda t: t.extend("ab"), "either vocab_size or n_tokens"),
        (lambda t: t.extend("ab", 300, n_tokens=4), "either vocab_size or n_tokens"),
        (lambda t: t.extend("ab", 300, special_tokens=["<s>"]), "cannot change in extend"),
        (lambda t: t.extend(Path("ab"), 300), r"pass pairloom\.Corpus\(path\)"),
        (lambda t: WITHOUT_BYTES.extend("ac", 9, profile="bpetite"), "no token for byte 99"),
        (lambda t: NOT_MADE.extend("ab", 400, keep_ids=False), "no merge makes; pass keep_ids=True"),
    ],
)
def test_what_cannot_be_extended_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(Tokenizer.train("ab ab cd", 259))


@pytest.mark.filterwarnings("error")
def test_extend_by_counts_of_another_pattern_warns() -> None:
    start = Tokenizer.train("ab ab", 258)
    counts = PretokenCounts.from_texts(["by the way\n" * 3], LINES)
    with pytest.warns(UserWarning, match=r"splits texts by '\[\^.*', .* instead of 'gpt2'.* pass pattern="):
        extended = start.extend(counts, 262)
    assert extended == start.extend(counts, 262, pattern=LINES) == start.extend("by the way\n" * 3, 262, pattern=LINES)
    start.extend(PretokenCounts.from_texts(["by the way"]), 259)


@pytest.mark.parametrize("count", [2**61, 2**62])
def test_extend_on_huge_counts_learns_their_pairs(count: int) -> None:
    counts = PretokenCounts.from_items([(b"zzz", count)], "gpt2")
    extended = Tokenizer.train("ab ab", 258).extend(counts, 259)
    assert extended.merges[-1] == (b"z", b"z")


def test_files_say_how_a_tokenizer_was_trained(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for profile in ("bpetite", "cs336", "huggingface"):
        for fields in (
            {},
            {"special_tokens": ["<s>"], "min_frequency": 2, "min_count": 2},
            {"tie_break": "bytes_greatest"},
            {"min_count": 3},
            {"tie_break": "bytes_greatest", "pattern": ("[^\n]+", "cl100k")},
            {"specials_counted": True, "special_tokens": [], "max_token_bytes": 9, "decode_errors": "ignore"},
        ):
            tokenizer = Tokenizer.train("ab ab", 260, profile, **fields)
            tokenizer.save(path, overwrite=True)
            loaded = Tokenizer.load(path)
            assert loaded == tokenizer and loaded.config == tokenizer.config is not None
            assert pickle.loads(pickle.dumps(loaded)).config == tokenizer.config
            changed = loaded.with_normalizer("nfc").add_special_tokens(["<x>"])
            assert changed.config == tokenizer.config
            data = path.read_bytes()
            loaded.save(path, overwrite=True)
            assert path.read_bytes() == data
            # The bytes that identify a tokenizer do not contain it.
            assert (
                tokenizer.native_file() == Tokenizer.from_model(tokenizer.model.replaced(training=None)).native_file()
            )


def test_extend_by_another_profile_records_its_own_layout() -> None:
    start = Tokenizer.train("ab cab abc", 262, "huggingface", special_tokens=["<s>"])
    config = start.extend("bcb bcb", n_tokens=2, profile="cs336").config
    assert config is not None and config.tie_break == "bytes_greatest"
    assert (config.special_ids, config.byte_order, config.special_tokens) == ("first", "gpt2", ("<s>",))
