"""The native file: what is written and read, and that reading ignores nothing in the file."""

import json
from typing import Any

import pytest

from pairloom import Tokenizer, formats
from pairloom.errors import MissingKeyError
from pairloom.formats import native

from .models import ENDOFTEXT, random_model, trained

SMALL = trained([(97, 98), (32, 256)])


@pytest.mark.parametrize(
    "fields",
    [
        {"decode_errors": "replace"},
        {"pattern": r"\S+|\s+"},
        {"ignore_merges": True},
        {"special_tokens": {}},
        {"special_tokens": {ENDOFTEXT: 300}},
        {"plain_specials": frozenset((ENDOFTEXT,))},
        {"special_tokens": {ENDOFTEXT: 258, "<|pad|>": 259}},
    ],
)
def test_what_schema_1_cannot_say_becomes_schema_2(fields: dict[str, Any]) -> None:
    model = trained([(97, 98), (32, 256)], **fields)
    data = native.write(model)
    assert json.loads(data)["schema_version"] == 2
    assert json.loads(data)["unicode_version"] == "16.0.0"
    assert formats.read("pairloom", data) == model


@pytest.mark.parametrize("seed", range(200))
def test_any_model_survives_and_a_second_save_is_identical(seed: int) -> None:
    model = random_model(seed)
    data = native.write(model)
    read = formats.read("pairloom", data)
    assert read == model
    assert native.write(read) == data


def test_equal_models_give_equal_bytes_in_any_special_order() -> None:
    one = trained([], special_tokens={"a": 300, "b": 301})
    two = trained([], special_tokens={"b": 301, "a": 300})
    assert one == two
    assert native.write(one) == native.write(two)


@pytest.mark.parametrize("key", json.loads(native.write(SMALL)))
def test_a_missing_key_is_a_key_error(key: str) -> None:
    file = json.loads(native.write(SMALL))
    del file[key]
    with pytest.raises(MissingKeyError, match=f"^model.json: .*{key}"):
        formats.read("pairloom", json.dumps(file).encode(), "model.json")


def test_tokens_that_merges_do_not_make_are_listed() -> None:
    vocab = {**{value: bytes([value]) for value in range(256)}, 300: b"ab", 302: b"abab", 303: b"xyz"}
    merges = [(b"a", b"b"), (b"ab", b"ab")]
    file = json.loads(native.write(Tokenizer(vocab, merges).model))
    assert file["merges"] == [97, 98, 300, 300]
    assert file["made_ids"] == [300, 1, 302, 1]
    assert file["token_ids"] == [0, 256, 303, 1]
    assert file["token_lengths"] == [1] * 256 + [3]
