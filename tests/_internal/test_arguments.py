"""Checks of arguments: wrong types, integers beyond 64 bits, unordered special tokens, paths that cannot exist."""

from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, TrainingConfig
from pairloom._internal.arguments import check_paths, shown

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


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_of_special_tokens_is_a_type_error(kind: type) -> None:
    tokens = kind(["<a>", "<b>"])
    with pytest.raises(TypeError, match="sorted"):
        TrainingConfig(special_tokens=tokens)
    with pytest.raises(TypeError, match="sorted"):
        Tokenizer.train("ab", 260, special_tokens=tokens)
    with pytest.raises(TypeError, match="sorted"):
        PretokenCounts.from_texts(["ab"], special_tokens=tokens)
    with pytest.raises(TypeError, match=r"a list of str, not str: write \['<a>'\]"):
        TrainingConfig(special_tokens="<a>")  # type: ignore[arg-type]


def test_paths_in_a_mapping_are_refused() -> None:
    with pytest.raises(TypeError, match=r"paths must be .* not dict; pass its values: paths.values\(\)"):
        check_paths({"train": "a.txt"})


def test_paths_of_a_set_are_sorted() -> None:
    assert check_paths({"b", "a", "c"}) == ["a", "b", "c"]
    assert check_paths(["b", Path("a")]) == ["b", "a"]


@pytest.mark.parametrize("name", ["corpus_specials", "input_errors", "tie_break", "byte_order", "special_ids"])
@pytest.mark.parametrize(
    "value", [None, 5, "x" * 10_000, ["text"], b"text", Hostile()], ids=lambda value: type(value).__name__
)
def test_a_choice_that_is_none_lists_the_choices(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of") as caught:
        TrainingConfig(**{name: value})
    assert len(str(caught.value)) < 400
