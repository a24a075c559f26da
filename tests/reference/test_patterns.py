"""The named patterns match the same text as the patterns that their owners publish."""

import random

import pytest
import regex

from pairloom.patterns import PATTERNS
from tests.corpora import ALPHABETS, random_documents
from tests.parity.real_vocabularies import CL100K, O200K, R50K

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PUBLISHED = {"gpt2": [GPT2, R50K], "cl100k": [CL100K], "o200k": [O200K]}
"""The texts in OpenAI's gpt-2 and in tiktoken 0.14."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_equal_to_the_published_text(name: str) -> None:
    letters = [letter for alphabet in ALPHABETS.values() for letter in alphabet] + list("sStTlLvVeErRdDmM'")
    rng = random.Random(0)
    for published in map(regex.compile, PUBLISHED[name]):
        for _ in range(2_000):
            text = "".join(random_documents(rng, rng.choices(letters, k=6)))
            assert regex.findall(PATTERNS[name], text) == published.findall(text), text


@pytest.mark.parametrize("name", PATTERNS)
def test_the_texts_mean_the_same_to_every_engine(name: str) -> None:
    possessive = r"[+*?]\+|\d\}\+"
    text = PATTERNS[name]
    steps = (text,) if isinstance(text, str) else text
    outside_classes = [regex.sub(r"\[(?:\\.|[^\]])*\]", "[]", step) for step in steps]
    assert not any(regex.search(possessive, step) or "$" in step for step in outside_classes)
