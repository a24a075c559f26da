"""Ids equal those of the owner's library, document by document, for the vocabularies on PyPI."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError

from . import prose, texts
from .real_vocabularies import BY_NAME, VOCABULARIES, loaded, owner

N_BYTES = 4_000_000
SIZES = {"r50k_base": 50_257, "p50k_base": 50_281, "gpt2": 50_257, "cl100k": 100_256, "o200k": 199_998}
"""Ids of published vocabularies, with the special tokens that the entry names."""


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


def first_difference(name: str, text: str) -> str | None:
    tokenizer, expected = ours(name), owner(name)(text)
    # tokenizers recognises added tokens everywhere; tiktoken's encode_ordinary nowhere.
    found = tokenizer.encode(text) if BY_NAME[name].kind == "tokenizers" else tokenizer.encode_ordinary(text)
    if found == expected:
        return None
    at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    before = tokenizer.decode(found[:at], errors="replace")[-40:]
    return f"after {before!r}: {found[at : at + 6]} where the owner gives {expected[at : at + 6]}"


@pytest.mark.parametrize("name", [p for p in available() if p.values[0] in SIZES])
def test_a_vocabulary_is_the_one_that_it_is_named_for(name: str) -> None:
    assert ours(name).n_vocab == SIZES[name]


def texts_of(kind: str) -> Iterable[str]:
    if kind == "prose" and not prose.documents():
        pytest.skip("none of the packages of prose is there: make parity fetches them")
    given: dict[str, Callable[[], Iterable[str]]] = {
        "hostile": lambda: texts.HOSTILE,
        "random": lambda: texts.random_texts(1, 3000),
        "megabytes": lambda: [*texts.library_files(N_BYTES), *texts.languages(N_BYTES // 4)],
        "prose": prose.documents,
    }
    return given[kind]()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["hostile", "random", "megabytes", "prose"])
@pytest.mark.parametrize("name", available())
def test_texts_of_every_kind_have_the_ids_of_the_owner(name: str, kind: str) -> None:
    for text in texts_of(kind):
        assert first_difference(name, text) is None, repr(text[:80])


@pytest.mark.parametrize("name", available())
def test_converted_files_give_equal_ids_in_their_libraries(name: str) -> None:
    tokenizer = ours(name)
    specials = " ".join(tokenizer.special_tokens)[:2000]
    documents = [*texts.HOSTILE, *texts.random_texts(2, 500), *texts.languages(300_000), specials, f"a{specials}b"]
    theirs = formats.huggingface.to_huggingface(tokenizer.model)
    for document in documents:
        assert theirs.encode(document, add_special_tokens=False).ids == tokenizer.encode(document), repr(document[:80])
    assert formats.huggingface.from_huggingface(theirs) == tokenizer.model
    if isinstance(tokenizer.pattern, tuple):
        with pytest.raises(FormatError, match="in turn"):
            formats.tiktoken.to_tiktoken(tokenizer.model)
        return
    encoding = formats.tiktoken.to_tiktoken(tokenizer.model)
    for document in documents:
        assert encoding.encode(document, allowed_special="all") == tokenizer.encode(document), repr(document[:80])
    assert formats.tiktoken.from_tiktoken(encoding) == tokenizer.model


@pytest.mark.parametrize("name", available())
def test_the_native_file_holds_it_and_a_second_save_is_identical(name: str, tmp_path: Path) -> None:
    tokenizer = ours(name)
    path = tmp_path / "model.json"
    tokenizer.save(path)
    again = Tokenizer.load(path)
    assert again == tokenizer
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    vocab = again.vocab
    assert all(again.decode_bytes([token_id]) == token for token_id, token in vocab.items())


def test_a_normaliser_is_carried_and_gives_the_ids_of_its_owner() -> None:
    path = BY_NAME["deepseek"].path
    if path is None:
        pytest.skip("litellm is not installed: make parity")
    import tokenizers

    file = str(path.with_name("anthropic_tokenizer.json"))
    theirs, normalising = tokenizers.Tokenizer.from_file(file), Tokenizer.load(file)
    assert normalising.normalizer == "nfkc" and not normalising.is_lossless
    for text in ("", "e\u0301 \ufb01 x\u00a0y ①", "plain text\n", "東京 ｶﾞ"):
        assert normalising.encode(text) == theirs.encode(text, add_special_tokens=False).ids
