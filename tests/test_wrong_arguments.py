"""Arguments of a wrong kind, in calls beside the tokenizer's own: TypeError or ValueError in our own words."""

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, Tokenizer, tokenize_files

NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]


TOKENIZER = Tokenizer.train("ab ab the cat", 258)


def test_what_is_no_model_or_split_is_a_type_error(tmp_path: Path) -> None:
    wrong: Any = NESTED
    with pytest.raises(TypeError, match="model must be a Model, not list"):
        Tokenizer.from_model(wrong)
    with pytest.raises(TypeError, match=r"split must be a dict of fractions, .* not a list"):
        tokenize_files(TOKENIZER, [], tmp_path / "out", split=wrong)


@pytest.mark.parametrize("name", ["skip_bad", "skip_bad_files"])
@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_a_switch_of_a_corpus_is_a_bool(tmp_path: Path, name: str, value: Any) -> None:
    file = tmp_path / "a.txt"
    file.write_text("ab")
    with pytest.raises(TypeError, match=f"{name} must be True or False"):
        Corpus(file, **{name: value})


@pytest.mark.parametrize("name", ["text_field", "separator", "input_format"])
def test_a_value_without_a_repr_is_named_all_the_same(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text("ab")
    wrong: dict[str, Any] = {name: NESTED}
    with pytest.raises(ValueError, match=name):
        Corpus(file, **wrong)


def test_a_block_encoder_says_what_it_wants() -> None:
    block = next(iter(Corpus.of_texts(["ab"]).read())).documents
    encoder: Any = TOKENIZER.block_encoder()
    with pytest.raises(TypeError, match="documents must be the documents of a block, not str"):
        encoder.push("ab")
    with pytest.raises(TypeError, match="name must be a str, not bytes"):
        encoder.push(block, name=b"a")
    with pytest.raises(TypeError, match="first must be an int, not str"):
        encoder.push(block, first="1")
    with pytest.raises(ValueError, match="first must be between 0 and"):
        encoder.push(block, first=-1)
    assert encoder.push(block, name="a", first=3)[0].tolist() == TOKENIZER.encode("ab")
