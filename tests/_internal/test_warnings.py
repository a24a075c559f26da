"""Warnings name the line that called pairloom."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from pairloom import PretokenCounts, Tokenizer

TEXT = "a text with <|endoftext|> in it"


def train() -> None:
    Tokenizer.train([TEXT], 260)


def count() -> None:
    PretokenCounts.from_texts([TEXT], special_tokens=["<|endoftext|>"], corpus_specials="text")


@pytest.mark.parametrize("call", [train, count])
def test_a_warning_points_at_the_callers_line(call: Callable[[], None]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
