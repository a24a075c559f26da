"""Model: every instance is valid and immutable."""

from typing import Any

import numpy as np
import pytest

from pairloom import Tokenizer
from pairloom._core import ModelColumns
from pairloom.model import LARGEST_ID, Model

TOKENS = {**{byte: bytes([byte]) for byte in range(256)}, 300: b"ab", 301: b"abc"}
MERGES = [(97, 98, 300), (300, 99, 301)]


def model(**fields: Any) -> Model:
    example = Model.from_tokens(TOKENS, MERGES, special_tokens={"</s>": 400, "<s>": 401}, pattern="a")
    names = ("token_ids", "token_bytes", "token_ends", "merges")
    columns = {name: fields.pop(name, getattr(example, name)) for name in names}
    return example.replaced(columns=ModelColumns(**columns, ranks=fields.pop("ranks", False)), **fields)


ARRAYS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "special on a byte's id": ({"special_tokens": {"<a>": 97}}, ValueError, "'<a>'|\"<a>\".*97"),
    "special tokens of one id": ({"special_tokens": {"<a>": 400, "<b>": 400}}, ValueError, "give each its own id"),
    "special token that is empty": ({"special_tokens": {"": 400}}, ValueError, "empty"),
    "special token of half a surrogate pair": ({"special_tokens": {"\ud800": 400}}, ValueError, "surrogate"),
    "special id too large": ({"special_tokens": {"<a>": LARGEST_ID + 1}}, ValueError, "largest"),
    "special id below zero": ({"special_tokens": {"<a>": -1}}, ValueError, "at least 0"),
    "special id as bool": ({"special_tokens": {"<a>": True}}, TypeError, "int, not bool"),
    "ids descending": ({"token_ids": np.arange(258, 0, -1, dtype=np.uint32)}, ValueError, "ascend"),
    "bytes as bytearray": ({"token_bytes": bytearray(261)}, TypeError, "bytes"),
    "bytes too many": ({"token_bytes": bytes(range(256)) + b"ababcd"}, ValueError, "262 bytes"),
    "equal tokens": ({"token_bytes": bytes(256) + b"ababc"}, ValueError, "same bytes"),
    "empty token": ({"token_ends": np.zeros(258, dtype=np.uint64)}, ValueError, "at least one byte"),
    "merge to other bytes": ({"merges": np.array([[97, 99, 300]], np.uint32)}, ValueError, "not those of the two"),
    "merges beside ranks": ({"ranks": True}, ValueError, "cannot have merges"),
    "another decode_errors": ({"decode_errors": "maybe"}, ValueError, "decode_errors"),
    "pattern as None": ({"pattern": None}, TypeError, "pattern"),
    "pattern as list": ({"pattern": ["a"]}, TypeError, "pattern"),
    "pattern of no parts": ({"pattern": ()}, TypeError, "pattern"),
    "plain special that is none": ({"plain_specials": {"<x>"}}, ValueError, "'<x>'"),
    "post-processor as dict": ({"post_processor": {}}, TypeError, "str of JSON"),
    "post-processor that is no JSON": ({"post_processor": "{"}, ValueError, "JSON of an object"),
    "post-processor that is no object": ({"post_processor": "[]"}, ValueError, "JSON of an object"),
    "post-processor of NaN": ({"post_processor": '{"a":NaN}'}, ValueError, "JSON of an object"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_model_with_a_broken_promise_is_refused(what: str) -> None:
    fields, error, expected = ARRAYS[what]
    with pytest.raises(error, match=expected):
        model(**fields)


def test_json_of_a_model_becomes_canonical() -> None:
    assert model(post_processor='{"b":1, "a":2}').post_processor == '{"a":2,"b":1}'


def test_nothing_of_a_model_can_be_written_to() -> None:
    ids = np.array([*range(256), 300, 301], dtype=np.uint32)
    specials = {"</s>": 400}
    example = model(token_ids=ids, special_tokens=specials)
    # Nor through the arguments that it was built from.
    ids[0] = 99
    specials["<s>"] = 97
    assert example.token_ids[0] == 0 and example.special_tokens == {"</s>": 400}
    for each in (example, Tokenizer.train("ab ab ab", 258).model, Tokenizer(TOKENS, [(b"a", b"b")]).model):
        for array in (each.token_ids, each.token_ends, each.merges):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5
    with pytest.raises(TypeError):
        example.special_tokens["x"] = 5  # type: ignore[index]
    with pytest.raises(TypeError, match=r"model must be a Model, not dict; use Tokenizer\.load for"):
        Tokenizer.from_model({})  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        example.pattern = "b"
    view: Any = example.merges.view()
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True


def test_missing_bytes_are_those_that_are_no_token() -> None:
    assert model().missing_bytes() == []
    few = Model.from_tokens({0: b"a", 1: b"bc", 2: b"\xff"}, special_tokens={"b": 5}, pattern="a")
    assert few.missing_bytes() == [byte for byte in range(255) if byte != ord("a")]
    assert Model.from_tokens({}, pattern="a").missing_bytes() == list(range(256))
