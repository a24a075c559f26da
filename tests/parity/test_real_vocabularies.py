"""Ids equal those of the owner's library, document by document, for the vocabularies on PyPI."""

import random
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError
from tests.soak.identity import documents, of_published, shortest

from . import prose, texts
from .real_vocabularies import BY_NAME, VOCABULARIES, loaded

N_CHARACTERS = 1_000_000


def available() -> list[ParameterSet]:
    return [
        pytest.param(
            vocabulary.name,
            marks=pytest.mark.skipif(
                vocabulary.path is None, reason=f"{vocabulary.package} is not installed: make parity"
            ),
        )
        for vocabulary in VOCABULARIES
    ]


@cache
def ours(name: str) -> Tokenizer:
    return loaded(BY_NAME[name])


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["hostile", "seeded", "prose"])
@pytest.mark.parametrize("name", available())
def test_texts_of_every_kind_have_the_ids_of_the_owner(name: str, kind: str) -> None:
    """And, after a conversion, those of HuggingFace's library; special tokens of the texts are found."""
    if kind == "prose" and not prose.documents():
        pytest.skip("none of the packages of prose is there: make parity fetches them")
    given = {"hostile": [*texts.HOSTILE], "prose": prose.documents()}.get(kind) or seeded()
    for family in of_published(BY_NAME[name]):
        for text, ids in zip(given, family.ours(given), strict=True):
            assert ids == family.theirs(text), (family.owner, shortest(family, text))


@cache
def seeded() -> list[str]:
    return [*documents(random.Random(1), N_CHARACTERS), *texts.random_texts(1, 3000)]


@pytest.mark.parametrize("name", available())
def test_saved_and_converted_vocabularies_come_back(name: str, tmp_path: Path) -> None:
    tokenizer = ours(name)
    tokenizer.save(tmp_path / "model.json")
    assert Tokenizer.load(tmp_path / "model.json") == tokenizer
    whole = formats.huggingface.to_huggingface(tokenizer.model)
    assert formats.huggingface.from_huggingface(whole) == tokenizer.model
    if isinstance(tokenizer.pattern, tuple) or tokenizer.normalizer:
        with pytest.raises(FormatError, match=r"in turn|the normalizer nfkc"):
            formats.tiktoken.to_tiktoken(tokenizer.model)
        return
    encoding = formats.tiktoken.to_tiktoken(tokenizer.model)
    specials = " ".join(tokenizer.special_tokens)[:2000]
    for document in (*texts.HOSTILE, *texts.languages(300_000), specials, f"a{specials}b"):
        assert encoding.encode(document, allowed_special="all") == tokenizer.encode(document), repr(document[:80])
        assert encoding.encode_ordinary(document) == tokenizer.encode_ordinary(document), repr(document[:80])
    assert formats.tiktoken.from_tiktoken(encoding) == tokenizer.model
