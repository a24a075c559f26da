"""Checks of arguments: wrong types, integers beyond 64 bits, unordered special tokens, paths that cannot exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, TrainingConfig
from pairloom._internal.arguments import (
    check_int,
    check_path,
    check_paths,
    check_special_tokens,
    resolve_threads,
    shown,
)

HUGE = [pytest.param(1 << n_bits, id=f"2**{n_bits}") for n_bits in (63, 64, 100, 20_000)]


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "value",
    [1 << 64, 1 << 20_000, -(1 << 20_000), "x" * 10_000, b"x" * 10_000, Hostile(), list(range(10_000))],
    ids=lambda value: type(value).__name__,
)
def test_shown_is_short_and_never_raises(value: Any) -> None:
    assert len(shown(value)) < 200


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("name", ["vocab_size", "min_frequency", "max_token_bytes", "max_memory", "threads"])
def test_an_integer_beyond_64_bits_is_a_named_value_error(name: str, value: int) -> None:
    arguments: Any = {"vocab_size": 260, name: value}
    with pytest.raises(ValueError, match=f"{name} is .*the largest is"):
        Tokenizer.train(["ab ab"], **arguments)


@pytest.mark.parametrize("value", [pytest.param(-(1 << n_bits), id=f"-2**{n_bits}") for n_bits in (63, 64, 20_000)])
def test_an_integer_far_below_zero_is_a_value_error(value: int) -> None:
    for name in ("vocab_size", "min_frequency", "max_token_bytes", "max_memory", "threads"):
        arguments: Any = {"vocab_size": 260, name: value}
        with pytest.raises(ValueError, match=name):
            Tokenizer.train(["ab ab"], **arguments)
    with pytest.raises(ValueError, match="the least is"):
        check_int("n", value)


def test_check_int_takes_the_whole_range() -> None:
    for value in (0, -1, 2**63 - 1, 1 - 2**63):
        assert check_int("n", value) == value


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_of_special_tokens_is_a_type_error(kind: type) -> None:
    tokens = kind(["<a>", "<b>"])
    with pytest.raises(TypeError, match="sorted"):
        TrainingConfig(special_tokens=tokens)
    with pytest.raises(TypeError, match="sorted"):
        Tokenizer.train("ab", 260, special_tokens=tokens)
    with pytest.raises(TypeError, match="sorted"):
        PretokenCounts.from_texts(["ab"], special_tokens=tokens)


def test_special_tokens_in_an_order_of_their_own_are_taken() -> None:
    assert check_special_tokens({"<a>": 1, "<b>": 2}) == ("<a>", "<b>")
    assert check_special_tokens({"<a>": 1, "<b>": 2}.keys()) == ("<a>", "<b>")
    assert check_special_tokens(token for token in ("<b>", "<a>")) == ("<b>", "<a>")


def test_paths_in_a_mapping_are_refused() -> None:
    with pytest.raises(TypeError, match=r"paths must be .* not dict; pass its values: paths.values\(\)"):
        check_paths({"train": "a.txt"})


def test_paths_of_a_set_are_sorted() -> None:
    assert check_paths({"b", "a", "c"}) == ["a", "b", "c"]
    assert check_paths(["b", Path("a")]) == ["b", "a"]


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_a_path_that_no_file_can_have_is_a_value_error(path: str) -> None:
    with pytest.raises(ValueError, match="no file name can have"):
        check_path("path", path)
    with pytest.raises(ValueError, match="no file name can have"):
        Tokenizer.train_files([path], 300)


def test_a_path_of_undecodable_bytes_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "caf\udce9.txt"
    file.write_text("ab ab")
    assert Tokenizer.train_files(file, 257).n_vocab == 258


def test_threads_are_limited_to_what_can_help() -> None:
    assert resolve_threads(0) == 0
    assert resolve_threads(7) == 7
    assert resolve_threads(10**9) < 10**5


@pytest.mark.parametrize("name", ["corpus_specials", "input_errors", "tie_break", "byte_order", "special_ids"])
@pytest.mark.parametrize(
    "value", [None, 5, "x" * 10_000, ["text"], b"text", Hostile()], ids=lambda value: type(value).__name__
)
def test_a_choice_that_is_none_lists_the_choices(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of") as caught:
        TrainingConfig(**{name: value})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("pattern", [None, 5, b"gpt2", {"gpt2": 1}])
def test_a_pattern_of_a_wrong_type_is_a_type_error(pattern: Any) -> None:
    with pytest.raises(TypeError, match="pattern must be a str or a tuple of str"):
        TrainingConfig(pattern=pattern)
