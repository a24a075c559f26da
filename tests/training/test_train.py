"""Training: configuration, errors, warnings, progress, equal results of all calls, and the public fixtures of CS336."""

import random
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken

from pairloom import (
    Corpus,
    CorpusError,
    CountsError,
    PretokenCounts,
    ProgressEvent,
    Tokenizer,
    TrainingConfig,
    train_bpe,
)
from tests.cases import INPUTS, PROFILES

TEXT = "the cat sat on the mat. the dog sat on the log.\n" * 20


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_the_profiles_are_the_published_conventions(profile: str) -> None:
    config = TrainingConfig.from_profile(profile)
    for name, value in PROFILES[profile].items():
        assert getattr(config, name) == (tuple(value) if isinstance(value, list) else value), name
    assert config.decode_errors == ("strict" if profile == "bpetite" else "replace")
    assert config.input_errors == "strict"


def test_the_config_is_frozen_and_checked() -> None:
    config = TrainingConfig(min_frequency=2)
    with pytest.raises(FrozenInstanceError):
        config.min_frequency = 3  # type: ignore[misc]
    wrong: dict[str, Any]
    for wrong in ({"tie_break": "first"}, {"min_frequency": 0}, {"byte_order": "random"}, {"max_token_bytes": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TrainingConfig(**wrong)
    for wrong in ({"min_frequency": True}, {"min_frequency": 1.0}, {"specials_counted": 1}, {"max_token_bytes": "3"}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            TrainingConfig(**wrong)


COUNTS: Any = PretokenCounts.from_texts([TEXT])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.train([TEXT], 300, "gpt5"), ValueError, "bpetite, cs336, huggingface"),
        (lambda t: t.train("ab", 260, special_tokens={"<s>": 1}), TypeError, "because training assigns their ids"),
        (lambda t: t.train(Path("a"), 300), TypeError, r"pass pairloom\.Corpus\(path\)"),
        (lambda t: t.train(COUNTS, 257), TypeError, r"not texts; Tokenizer\.train_from_counts"),
        (lambda t: t.train(TEXT, 300, progress=5), TypeError, "progress"),
        (lambda t: t.train(TEXT, 300, checkpoint="x"), TypeError, "checkpoint works only with train_files"),
        (lambda t: t.train_from_counts([TEXT], 300), TypeError, ""),
        (lambda t: t.train_from_counts(COUNTS, 300, pattern="cl100k"), CountsError, "'gpt2', not 'cl100k'"),
        (lambda t: t.train_from_counts(COUNTS, 300, "cs336", special_tokens=["<e>"]), CountsError, "split"),
    ],
)
def test_what_training_cannot_take_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(Tokenizer)


def test_an_unknown_option_lists_those_of_the_run_too() -> None:
    calls: list[Callable[..., object]] = [
        partial(Tokenizer.train, TEXT),
        partial(Tokenizer.train_files, "a.txt"),
        partial(Tokenizer.train_from_counts, PretokenCounts.from_texts([TEXT])),
        partial(train_bpe, "a.txt", special_tokens=[]),
        partial(Tokenizer.train(TEXT, 260).extend, TEXT),
    ]
    for call in calls:
        with pytest.raises(
            TypeError,
            match=r"'num_threads'; did you mean 'threads'\? The options are byte_order, .* also have threads, progress",
        ):
            call(vocab_size=300, num_threads=2)


@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_an_open_file_in_place_of_paths_is_a_type_error(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low lower\n" * 500)
    for call in (lambda file: train_bpe(file, 300, []), lambda file: Tokenizer.train_files(file, 300), Corpus):
        with path.open("r" if kind == "text" else "rb") as file, pytest.raises(TypeError, match="pass the path of the"):
            call(file)
        with pytest.raises(ValueError, match=r"'low lower.* is too long for a file name; pass the path"):
            call(path.read_text())


@pytest.mark.parametrize("corpus", ["", [], [""], ["", ""], iter([])])
def test_an_empty_corpus_gives_the_base_vocabulary(corpus: Any) -> None:
    with pytest.warns(UserWarning, match="has 256 tokens instead of the requested 300.*there is no text to learn from"):
        tokenizer = Tokenizer.train(corpus, 300)
    assert tokenizer.merges == []
    assert tokenizer.special_tokens == {"<|endoftext|>": 256}


@pytest.mark.parametrize(
    ("data", "offset", "hint"),
    [
        (b"fine \xff", 5, ""),
        ("text".encode("utf-16"), 0, "UTF-16"),
        ("caf\u00e9 au lait".encode("latin-1"), 3, "Latin-1"),
        (b"cut off \xe6\x9d", 8, ""),
    ],
)
def test_invalid_utf8_names_file_offset_and_likely_cause(tmp_path: Path, data: bytes, offset: int, hint: str) -> None:
    file = tmp_path / "broken.txt"
    file.write_bytes(data)
    for road in (lambda: Tokenizer.train_files(file, 300), lambda: Tokenizer.train("a", 256).encode_file(file)):
        with pytest.raises(CorpusError, match=f"broken.txt.*byte {offset}.*{hint}") as caught:
            road()
        assert isinstance(caught.value, ValueError)
    assert Tokenizer.train_files(file, 300, input_errors="replace").n_vocab >= 257


@pytest.mark.filterwarnings("error")
def test_special_literals_in_the_corpus_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r'2 literals.*corpus_specials="split"'):
        Tokenizer.train("ab<|endoftext|>ab<|endoftext|>", 257)
    Tokenizer.train("ab<|endoftext|>ab", 257, corpus_specials="split")
    Tokenizer.train("ab<|endoftext", 257)
    with pytest.warns(UserWarning, match=r"'endoftext'.*pass special_tokens=\['<\|endoftext\|>'\]"):
        Tokenizer.train("ab<|endoftext|>ab<|endoftext|>", 267, "cs336")


@pytest.mark.parametrize(("fields", "reason"), INPUTS["shortages"])
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.filterwarnings("error")
def test_fewer_tokens_than_asked_for_warn_with_the_reason(profile: str, fields: dict[str, Any], reason: str) -> None:
    with pytest.warns(UserWarning, match=f"the vocabulary has .* tokens instead of the requested 1000: .*{reason}"):
        tokenizer = Tokenizer.train(TEXT, 1000, profile, **fields)
    size = 256 + len(tokenizer.merges)
    assert Tokenizer.train(TEXT, size, profile, **fields) == tokenizer
    with pytest.warns(UserWarning, match=f"has {size} tokens instead of the requested {size + 1}"):
        Tokenizer.train(TEXT, size + 1, profile, **fields)


def test_more_tokens_than_ids_can_number_are_asked_for() -> None:
    for vocab_size in (2**24, 2**24 + 1, 2**40, 2**63 - 1):
        with pytest.warns(UserWarning, match="every pretoken of the corpus is already one token"):
            assert Tokenizer.train(TEXT, vocab_size) == Tokenizer.train(TEXT, 300)


@pytest.mark.filterwarnings("error")
def test_special_tokens_that_leave_uint16_cause_a_warning() -> None:
    draw = random.Random(7)
    pretokens = {bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=20)): 1 for _ in range(9000)}
    counts = PretokenCounts.from_items(pretokens)
    just_fits = Tokenizer.train_from_counts(counts, 65535)
    assert just_fits.n_vocab == 65536 and just_fits.id_dtype == np.uint16
    for special_tokens, fits in ((["<|endoftext|>"], 65535), (["<a>", "<b>", "<c>"], 65533)):
        with pytest.warns(UserWarning, match=rf"uint32.*vocab_size={fits} fits uint16"):
            misses = Tokenizer.train_from_counts(counts, 65536, special_tokens=special_tokens)
        assert misses.id_dtype == np.uint32
        assert Tokenizer.train_from_counts(counts, fits, special_tokens=special_tokens).id_dtype == np.uint16
    counted = Tokenizer.train_from_counts(counts, 65536, "huggingface", special_tokens=["<|endoftext|>"])
    assert counted.id_dtype == np.uint16
    # A caller who asks for more than 65,536 knows that they do not fit uint16.
    assert Tokenizer.train_from_counts(counts, 65537).id_dtype == np.uint32


@pytest.mark.parametrize("make", [str, list, tuple])
def test_a_text_that_is_the_name_of_a_file_is_warned_of(tmp_path: Path, make: type) -> None:
    file = tmp_path / "data.txt"
    file.write_text("ab")
    with pytest.warns(UserWarning, match=r"use pairloom\.Corpus\(path\)"):
        Tokenizer.train(str(file) if make is str else make([str(file), "another"]), 257)


@pytest.mark.parametrize("n", [255, 256, 4095, 4096])
@pytest.mark.parametrize("piece", ["a", "é", "./", "a\0", "/root/secret"])
def test_no_text_fails_for_looking_like_a_path(n: int, piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, **_: Any) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    text = (piece * n)[:n]
    trained = Tokenizer.train(text, 270)
    assert trained.decode(trained.encode(text)) == text
    with pytest.raises(UnicodeEncodeError, match="surrogates"):
        Tokenizer.train(f"{text[1:]}\ud800", 270)
    monkeypatch.setattr(Path, "is_file", refuse)
    assert Tokenizer.train(text, 270) == trained


def test_progress_has_two_stages_from_zero_to_the_end() -> None:
    events: list[ProgressEvent] = []
    Tokenizer.train([TEXT] * 5, 270, progress=events.append)
    stages = [event.stage for event in events]
    assert sorted(set(stages)) == ["count", "merge"]
    for stage in ("count", "merge"):
        mine = [event for event in events if event.stage == stage]
        assert mine[0].done == 0
        assert [event.done for event in mine] == sorted(event.done for event in mine)
    assert events[-1].done == events[-1].total == 14


@pytest.fixture(scope="module")
def gpt2(cs336: Path) -> Tokenizer:
    return Tokenizer.from_files(cs336 / "gpt2_vocab.json", cs336 / "gpt2_merges.txt", ["<|endoftext|>"])


@pytest.fixture(scope="module")
def peer(gpt2: Tokenizer) -> tiktoken.Encoding:
    """tiktoken over the same ranks, made without a network."""
    ranks = {token: token_id for token_id, token in gpt2.vocab.items() if token_id != 50256}
    return tiktoken.Encoding(
        "gpt2", pat_str=str(gpt2.pattern), mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256}
    )


def test_the_reference_merges_and_vocabulary(cs336: Path) -> None:
    vocab, merges = train_bpe(cs336 / "corpus.en", 500, ["<|endoftext|>"])
    files = (cs336 / "train-bpe-reference-vocab.json", cs336 / "train-bpe-reference-merges.txt")
    published = Tokenizer.from_files(*files, ["<|endoftext|>"])
    assert merges == published.merges
    assert set(vocab) == set(published.vocab) and set(vocab.values()) == set(published.vocab.values())


@pytest.mark.parametrize("name", INPUTS["cs336"])
def test_ids_equal_tiktokens(gpt2: Tokenizer, peer: tiktoken.Encoding, cs336: Path, name: str) -> None:
    text = (cs336 / name).read_bytes().decode()
    ids = peer.encode(text, allowed_special="all")
    assert gpt2.encode(text) == ids
    assert gpt2.encode_file(cs336 / name).tolist() == ids
    with (cs336 / name).open(encoding="utf-8", newline="") as lines:
        assert list(gpt2.encode_iterable(lines)) == ids
    assert gpt2.decode(ids) == text
    assert gpt2.encode_ordinary(text) == peer.encode_ordinary(text)


def test_train_bpe_equals_train_files_with_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat<|end|>the mat<|pad|> the rat", encoding="utf-8")
    specials = ["<|end|>", "<|pad|>"]
    for special_ids in ("first", "after_bytes", "last"):
        vocab, merges = train_bpe(path, 262, specials, special_ids=special_ids)
        tokenizer = Tokenizer.train_files(path, 262, "cs336", special_tokens=specials, special_ids=special_ids)
        assert (list(vocab.items()), merges) == (list(tokenizer.vocab.items()), tokenizer.merges)


def test_a_special_token_of_one_byte_keeps_its_id(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat\nthe mat\n", encoding="utf-8")
    vocab, merges = train_bpe(path, 262, ["\n"])
    tokenizer = Tokenizer(vocab, merges, ["\n"])
    assert tokenizer.special_tokens == {"\n": 256}
    assert tokenizer == Tokenizer.train_files(path, 262, "cs336", special_tokens=["\n"])
