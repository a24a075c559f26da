"""Normalizers: every call applies them alike, like the reference and HuggingFace's library."""

import pickle
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.reference import encoder as reference
from pairloom.reference.vocabulary import Model
from tests.encoding_calls import check_encoding_calls
from tests.formats.models import trained

MERGES = [(0xC3, 0xA9), (32, 97), (0xCC, 0x81), (101, 258), (32, 32), (102, 105)]
SPECIALS = {"<s>": 300, "[x]": 301}
CHARACTERS = [*"aeé ﬁ>Å①가각東\n", *"\u0301\u0338\u0327\u00a0\u212b\u1100\u1161\u11a8\u037e", "ascii text ", *SPECIALS]
STEPS: list[tuple[str, ...]] = [
    ("nfc",),
    ("nfd",),
    ("nfkc",),
    ("nfkd",),
    ("prefix_space",),
    ("nfc", "prefix_space"),
    ("nfkd", "nfc"),
]


def texts(seed: int, n: int = 150) -> list[str]:
    rng = random.Random(seed)
    return ["", *("".join(rng.choices(CHARACTERS, k=rng.randrange(1, 40))) for _ in range(n))]


def tokenizer_of(steps: tuple[str, ...]) -> Tokenizer:
    model = trained(MERGES, special_tokens=SPECIALS, decode_errors="replace", normalizer=steps)
    return Tokenizer.from_model(model)


@pytest.mark.parametrize("steps", STEPS, ids=" ".join)
def test_every_road_gives_the_ids_of_the_reference(steps: tuple[str, ...], tmp_path: Path) -> None:
    tokenizer = tokenizer_of(steps)
    oracle = Model.of_bytes(MERGES, SPECIALS)
    oracle = Model(oracle.vocab, oracle.merges, SPECIALS, "gpt2", steps)
    found = texts(1)
    encode_ordinary = partial(reference.encode, model=oracle, allowed_special=())
    check_encoding_calls(tokenizer, found, partial(reference.encode, model=oracle), encode_ordinary, tmp_path)
    ordinary = list(map(encode_ordinary, found))
    assert [tokenizer.as_tiktoken().encode_ordinary(text) for text in found] == ordinary


def test_the_normaliser_is_a_part_of_the_tokenizer(tmp_path: Path) -> None:
    plain = tokenizer_of(())
    assert plain.normalizer is None and plain.is_lossless and "normalizer" not in repr(plain)
    for steps in STEPS:
        tokenizer = plain.with_normalizer(steps)
        assert tokenizer == tokenizer_of(steps) != plain
        assert tokenizer.normalizer == (steps[0] if len(steps) == 1 else steps)
        assert repr(tokenizer.normalizer) in repr(tokenizer) and not tokenizer.is_lossless
        tokenizer.save(tmp_path / "model.json", overwrite=True)
        assert Tokenizer.load(tmp_path / "model.json") == pickle.loads(pickle.dumps(tokenizer)) == tokenizer
        assert tokenizer.with_normalizer(None) == plain
        assert tokenizer.add_special_tokens(["<new>"]).normalizer == tokenizer.normalizer
    assert not Tokenizer({0: b"a"}, [], missing_bytes="raise").is_lossless


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("NFC", ValueError),
        (("prefix_space", "nfc"), ValueError),
        (("nfc",) * 6, ValueError),
        (5, TypeError),
        ((5,), ValueError),
        ({"nfc"}, TypeError),
    ],
)
def test_other_normalisers_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="normalizer"):
        tokenizer_of(()).with_normalizer(given)


def test_offsets_of_a_normalised_text_are_refused() -> None:
    tokenizer = tokenizer_of(("nfc",))
    assert tokenizer.encode_with_offsets("é<s>a")[1].tolist() == [[0, 1], [1, 4], [4, 5]]
    for call in (tokenizer.encode_with_offsets, lambda text: tokenizer.encode_batch_with_offsets(["", text])):
        with pytest.raises(ValueError, match="the normalizer 'nfc' changes the text"):
            call("e\u0301")
