"""The settings of published models, with a small vocabulary: all ids are HuggingFace's, before and after saving.

testdata/configurations.json holds the pre-tokenizers, normalizers, post-processors and added-token flags as published.
"""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import tokenizers

from pairloom import Tokenizer
from tests.formats.test_published_pre_tokenizers import PARTS

_FILE: Final = json.loads((Path(__file__).parents[2] / "testdata/configurations.json").read_text(encoding="utf-8"))
CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {case.pop("name"): case for case in _FILE["cases"]}
_DECODER: Final = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


@cache
def _trained() -> Tokenizer:
    text = "the cat ate 12 345 théâtre 東京 don't it's  \n\n  def f(x):\n    return x+1\n"
    return Tokenizer.train(
        [text] * 4 + ["ab ab  ab the 1999 2000 e\u0301"], 420, special_tokens=(), profile="huggingface"
    )


def published_file(name: str) -> dict[str, Any]:
    """Returns a tokenizer.json with a small vocabulary and the settings of a published one."""
    assert _trained().n_vocab == _FILE["n_vocab"], "the ids of added tokens follow it"
    file: dict[str, Any] = json.loads(_trained().to_huggingface().to_str())
    return {**file, **CONFIGURATIONS[name], "decoder": _DECODER}


def _texts(literals: list[str]) -> list[str]:
    rng = random.Random(1)
    parts = [*PARTS[:-3], *literals, *literals]
    return [" ", "\n", *("".join(rng.choices(parts, k=rng.randrange(1, 14))) for _ in range(198))]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_ids_are_those_of_the_owner_before_and_after_saving(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    file = published_file(name)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = Tokenizer.load(path)
    assert ours == Tokenizer.from_huggingface(theirs)
    ours.save_pretrained(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").model == ours.model
    of_transformers = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    again, stand_in = ours.to_huggingface(), ours.as_huggingface()
    texts = _texts([entry["content"] for entry in file["added_tokens"]])
    for text, other in zip(texts, texts[1:] + texts[:1], strict=True):
        ids = theirs.encode(text, add_special_tokens=False).ids
        around, pair = theirs.encode(text).ids, theirs.encode(text, other).ids
        assert ours.encode(text) == ids, (name, text)
        assert ours.encode(text, add_special_tokens=True) == around, (name, text)
        assert ours.encode(text, other, add_special_tokens=True) == pair, (name, text)
        assert (again.encode(text).ids, again.encode(text, other).ids) == (around, pair), (name, text)
        assert (stand_in.encode(text).ids, stand_in.encode(text, other).ids) == (around, pair), (name, text)
        assert of_transformers(text)["input_ids"] == around, (name, text)
        assert of_transformers(text, other)["input_ids"] == pair, (name, text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), (name, text)
        assert ours.decode(around, skip_special_tokens=True) == theirs.decode(around), (name, text)
