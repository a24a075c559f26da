"""Batches instead of texts: lists of str and Arrow columns count and train like their texts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from pairloom import Corpus, CorpusError, PretokenCounts, Tokenizer, tokenize_files
from pairloom.corpus import text_batches
from tests.corpus.files import DOCUMENTS
from tests.shards.reading import documents_of


def _batch_iterator(size: int = 7) -> Iterator[list[str]]:
    """As in HuggingFace's documentation of train_new_from_iterator."""
    for start in range(0, len(DOCUMENTS), size):
        yield DOCUMENTS[start : start + size]


ARRAY = pyarrow.array(DOCUMENTS)
CHUNKED = pyarrow.chunked_array([ARRAY[:10], ARRAY[10:10], ARRAY[10:]])


class _Stream:
    """Implements only the Arrow interface, and cannot be iterated."""

    __arrow_c_stream__ = staticmethod(CHUNKED.__arrow_c_stream__)


SHAPES: dict[str, Callable[[], Any]] = {
    "lists": lambda: list(_batch_iterator()),
    "iterator of lists": _batch_iterator,
    "tuples and texts": lambda: [DOCUMENTS[0], tuple(DOCUMENTS[1:9]), [], *DOCUMENTS[9:]],
    "lists and columns": lambda: iter([DOCUMENTS[0], ARRAY[1:9], DOCUMENTS[9:11], ARRAY[11:]]),
    "array": lambda: ARRAY,
    "chunked": lambda: CHUNKED,
    "column": lambda: pyarrow.table({"text": CHUNKED})["text"],
    "polars": lambda: polars.Series(DOCUMENTS),
    "pandas": lambda: pandas.Series(DOCUMENTS),
    "stream": _Stream,
}


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("characters", [40, 4 << 20])
def test_batches_count_and_train_as_their_texts(
    shape: str, characters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_batches.batches_of, "__defaults__", (characters,))
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", characters)
    make = SHAPES[shape]
    assert PretokenCounts.from_texts(make()) == PretokenCounts.from_texts(DOCUMENTS)
    wanted = Tokenizer.train(DOCUMENTS, 300)
    assert Tokenizer.train(make(), 300) == wanted
    assert list(Corpus.of_texts(make())) == DOCUMENTS
    tokenize_files(wanted, Corpus.of_texts(make()), tmp_path / "shards")
    assert documents_of(tmp_path / "shards") == wanted.encode_batch(DOCUMENTS)


def test_what_is_no_text_in_a_batch_is_named() -> None:
    for texts, message in (
        (["a", ["b", 3]], r"texts\[1\]\[1\] must be a str, not int"),
        (["a", ["b", ["c"]]], r"texts\[1\]\[1\] must be a str, not list"),
        (["a", b"b"], r"texts\[1\] must be a str, not bytes"),
        (["a", {"text": "b"}], r"texts\[1\] must be a str, not dict"),
    ):
        for take in (PretokenCounts.from_texts, lambda texts: list(Corpus.of_texts(texts))):
            with pytest.raises(TypeError, match=message):
                take(texts)
    # The message does not recommend an option that these calls lack.
    for row, what in ((None, "the text is null"), (b"\xff", "invalid UTF-8 at byte 0")):
        with pytest.raises(CorpusError, match=f"^texts: row 1: {what}; correct or remove such rows first$"):
            Tokenizer.train([pyarrow.array([b"a", row])], 257)
    for column in (pyarrow.array([1, 2]), pyarrow.table({"id": [1], "text": ["a"]})):
        with pytest.raises((TypeError, ValueError)):
            Tokenizer.train(column, 257)
