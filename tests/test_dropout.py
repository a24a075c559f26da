"""BPE-dropout: the core gives the ids of the reference, and the text is never lost."""

import random
from collections import Counter
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.reference import dropout as reference
from tests.cases import REFUSED
from tests.formats.models import reference_of

TEXT = "the cat sat on the mat; naïve cafés 12345 \n\n<|endoftext|> aaaaaaaaaaaaaaaaa the theme" * 3
TOKENIZER = Tokenizer.train(TEXT * 2, 330)
SPECIAL = "<|endoftext|>"


def test_dropout_gives_the_ids_of_the_reference() -> None:
    rng = random.Random(1)
    parts = ["the ", "cat", SPECIAL, "aaa", "é", " ", "\n", "themat", "ab", "b"]
    for seed in range(300):
        tokenizer = TOKENIZER
        if seed % 5 == 0:
            tokenizer = Tokenizer.train("".join(rng.choices("ab ", k=80)), 256 + rng.randrange(1, 25), pattern=".+")
        text = "".join(rng.choices(parts, k=rng.randrange(12)))
        p = rng.choice([0.0, 0.05, 0.3, 0.9, 1.0, rng.random()])
        given: Any = rng.choice([{}, {"allowed_special": ()}])
        ids = tokenizer.encode(text, dropout=p, seed=seed, **given)
        assert ids == reference.encode_with_dropout(text, reference_of(tokenizer), p, seed, **given)
        assert tokenizer.decode(ids) == text
        assert p != 0.0 or ids == tokenizer.encode(text, **given)


def test_dropout_depends_on_the_seed_and_on_nothing_else() -> None:
    found = Counter(tuple(TOKENIZER.encode("the theme", dropout=0.3, seed=seed)) for seed in range(50))
    assert len(found) > 10
    assert TOKENIZER.encode(TEXT, dropout=0.1, seed=7) == TOKENIZER.encode(TEXT, dropout=0.1, seed=7)
    # The same on every machine, because the random numbers are integers.
    ab = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"ab", 257: b"abab"}, [(b"a", b"b"), (b"ab", b"ab")])
    assert [ab.encode("abab", dropout=0.5, seed=seed) for seed in (0, 1, 5)] == [[256, 97, 98], [257], [97, 98, 256]]


def test_dropout_merges_pretokens_that_are_whole_tokens() -> None:
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abcd": 257}
    tokenizer = Tokenizer.from_ranks(ranks, ".+")
    assert tokenizer.encode("abcd") == [257]
    assert set(map(tuple, (tokenizer.encode("abcd", dropout=0.5, seed=s) for s in range(20)))) == {
        (256, 99, 100),
        (97, 98, 99, 100),
    }


def test_dropout_of_a_long_pretoken_is_not_quadratic() -> None:
    text = "a" * 200_000
    ids = TOKENIZER.encode(text, dropout=0.2, seed=1)
    assert TOKENIZER.decode(ids) == text


@pytest.mark.parametrize(("fields", "error", "message"), REFUSED["dropout"])
def test_wrong_arguments_of_dropout_are_refused(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TOKENIZER.encode("a", **fields)
