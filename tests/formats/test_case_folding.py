"""What the module knows of letters without looking at all of Unicode."""

from __future__ import annotations

import random
import re
import sys

import pytest

from pairloom.formats.shared import case_folding


def test_the_letters_that_are_equal_to_several_are_those_of_all_unicode() -> None:
    several = {c: c.casefold() for c in map(chr, range(sys.maxunicode + 1)) if len(c.casefold()) > 1}
    assert [c for c in several if case_folding.letter_ignoring_case(c) is None] == []
    assert {letter for text in several.values() for letter in case_folding.equal_to(text)} == set(several)


def test_classes_of_ascii_are_as_a_look_at_all_letters_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    parts = ["a-z", "A-Z", "k-s", "S-T", "0-9", *"aiksKSZ09_ .,;:'\"/"]
    classes = [f"[{rng.choice(['', '^'])}{''.join(rng.choices(parts, k=rng.randint(1, 4)))}]" for _ in range(100)]
    assert [case_folding.ignoring_case(each) for each in classes] == classes
    monkeypatch.setattr(case_folding, "_ASCII_CLASS", re.compile(r"(?!)"))
    assert [case_folding.ignoring_case(each) for each in classes] == classes
