"""Ids that encoding never produces, and the ids that it produces for their text. Causes: docs/guides/drift.md."""

import random

import numpy as np
import pytest

from pairloom import Tokenizer
from pairloom.reference.sessions import canonicalize
from tests.formats.models import trained

MERGES = [(97, 97), (256, 97), (116, 104), (258, 101), (0xC3, 0xA9)]
TOKENIZER = Tokenizer.from_model(trained(MERGES, decode_errors="replace").replaced(special_tokens={"<s>": 900}))


@pytest.mark.parametrize("normalizer", [None, "nfc", "prefix_space"])
def test_random_ids_are_made_canonical_as_the_definition_says(normalizer: str | None) -> None:
    tokenizer, rng = TOKENIZER.with_normalizer(normalizer), random.Random(1)
    for _ in range(2000):
        ids = [rng.choice([*b"aathe<s> ", 256, 257, 258, 259, 260, 900]) for _ in range(rng.randrange(12))]
        expected = canonicalize(ids, tokenizer.encode, tokenizer.decode)
        assert tokenizer.canonicalize(ids) == expected
        assert tokenizer.is_canonical(ids) is (expected[1] is None)
        assert tokenizer.canonicalize(np.array(ids, np.uint32)) == expected
        if normalizer is None:
            assert tokenizer.is_canonical(expected[0])


def test_ids_of_a_part_of_a_character_are_not_canonical() -> None:
    assert not TOKENIZER.is_canonical([0xC3])
    with pytest.raises(UnicodeDecodeError, match="inside a character"):
        TOKENIZER.canonicalize([97, 0xC3])
    assert TOKENIZER.canonicalize([0xC3, 0xA9]) == ([260], 0)
    with pytest.raises(KeyError):
        TOKENIZER.is_canonical([5000])


def test_first_difference_of_a_beginning_is_its_length() -> None:
    prefixing = TOKENIZER.with_normalizer("prefix_space")
    assert prefixing.canonicalize([]) == ([], None)
    assert TOKENIZER.canonicalize(iter([116, 97])) == ([116, 97], None)
    assert TOKENIZER.canonicalize([98, 97, 97]) == ([98, 256], 1)
