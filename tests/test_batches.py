"""Calls that take several texts or lists of ids: errors name the index, and a list may lie about its length."""

import itertools
import re
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from pairloom import CountBuilder, PretokenCounts, Tokenizer
from pairloom.corpus import Corpus
from pairloom.errors import MissingByteError, SpecialTokenError, UnknownTokenIdError
from pairloom.reference import naive
from pairloom.reference.extend import extend

TOKENIZER = Tokenizer.train("ab ab ab", 258)
TAKES_TEXTS: dict[str, Callable[[Any], object]] = {
    "encode_batch": TOKENIZER.encode_batch,
    "encode_batch_to_numpy": TOKENIZER.encode_batch_to_numpy,
    "count_tokens_batch": TOKENIZER.count_tokens_batch,
    "train": lambda texts: Tokenizer.train(texts, 258),
    "from_texts": PretokenCounts.from_texts,
}


@pytest.mark.parametrize("call", TAKES_TEXTS)
@pytest.mark.parametrize("wrong", [None, b"ab", 5, {"text": "ab"}, ["ab"]])
def test_a_text_that_is_no_str_is_named_by_its_index(call: str, wrong: Any) -> None:
    place, kind = "texts[2]", type(wrong).__name__
    if isinstance(wrong, list) and not call.startswith(("encode", "count")):
        # A list of str is a batch of texts to train on.
        wrong, place, kind = [5], "texts[2][0]", "int"
    with pytest.raises(TypeError, match=rf"^{re.escape(place)} must be a str, not {kind}"):
        TAKES_TEXTS[call](["a", "é", wrong, "b"])


@pytest.mark.parametrize("call", TAKES_TEXTS)
def test_a_lone_surrogate_is_named_by_the_index_of_its_text(call: str) -> None:
    with pytest.raises(
        UnicodeEncodeError, match=r"position 1: surrogates not allowed; the text is texts\[3\]"
    ) as caught:
        TAKES_TEXTS[call](["plain", "é", "東 ab", "a\ud800b"])
    assert caught.value.object == "a\ud800b"
    assert "surrogatepass" in str(caught.value)


@pytest.mark.parametrize("call", ["encode_batch", "encode_batch_to_numpy", "count_tokens_batch"])
@pytest.mark.parametrize("before", [2, 300_000])
def test_a_text_that_cannot_be_encoded_is_named_by_its_index(call: str, before: int) -> None:
    special = Tokenizer.train("b", 257, special_tokens=["<s>"])
    texts = ["b"] * before
    with pytest.raises(SpecialTokenError, match=rf'^texts\[{before}\]: the text contains .*"<s>" at byte 2'):
        getattr(special, call)([*texts, "b <s>", "<s>"], allowed_special=[], disallowed_special="all")
    lacks_a = Tokenizer({i: bytes([i]) for i in range(256) if i != 97}, [], missing_bytes="raise")
    with pytest.raises(MissingByteError, match=rf"^texts\[{before}\]: .* no token for byte 97"):
        getattr(lacks_a, call)([*texts, "ba", "a"])
    with pytest.raises(MissingByteError, match=r"^the vocabulary has no token for byte 97"):
        lacks_a.encode("ba")


COLUMNS = {"id": ["a", "b"], "text": ["low lower", "lowest"]}
TABLES: dict[str, Callable[[], Any]] = {
    "dict": lambda: COLUMNS,
    "mapping": lambda: UserDict(COLUMNS),
    "pandas": lambda: pandas.DataFrame(COLUMNS),
    "polars": lambda: polars.DataFrame(COLUMNS),
    "pyarrow": lambda: pyarrow.table(COLUMNS),
    "record batch": lambda: pyarrow.record_batch(COLUMNS),
    "datasets": lambda: pytest.importorskip("datasets").Dataset.from_dict(COLUMNS),
}
ITERATES_TEXTS: dict[str, Callable[[Any], object]] = {
    **TAKES_TEXTS,
    "encode_ordinary_batch": TOKENIZER.encode_ordinary_batch,
    "encode_batch_with_offsets": TOKENIZER.encode_batch_with_offsets,
    "encode_iterable": lambda texts: list(TOKENIZER.encode_iterable(texts)),
    "huggingface encode_batch": TOKENIZER.as_huggingface().encode_batch,
    "huggingface encode_batch_fast": TOKENIZER.as_huggingface().encode_batch_fast,
    "tiktoken encode_batch": TOKENIZER.as_tiktoken().encode_batch,
    "tiktoken encode_ordinary_batch": TOKENIZER.as_tiktoken().encode_ordinary_batch,
    "first_seen": lambda texts: Tokenizer.train(texts, 258, tie_break="first_seen"),
    "extend": lambda texts: TOKENIZER.extend(texts, 260),
    "CountBuilder": lambda texts: CountBuilder().add_texts(texts),
    "Corpus.of_texts": Corpus.of_texts,
    "reference train": lambda texts: naive.train(texts, 258),
    "reference extend": lambda texts: extend(texts, naive.train("ab ab", 257), 1),
}


COLUMN = r"must be an iterable of str, not \w+; pass one column, as \w+\['text'\]"
NO_TEXTS: dict[str, tuple[Callable[[], Any], str]] = {
    **{name: (make, f"{COLUMN}; it has 'id'") for name, make in TABLES.items()},
    "an empty dict": (dict, f"{COLUMN}$"),
    "counts": (lambda: {b"low": 3}, r"PretokenCounts\.from_items takes counts"),
    "texts by name": (lambda: {"a.txt": "low lower"}, r"pass its values: \w+\.values\(\)"),
    "bytes": (lambda: b"ab", r"must be .*str, not bytes; decode it first$"),
}


@pytest.mark.parametrize("what", NO_TEXTS)
@pytest.mark.parametrize("call", ITERATES_TEXTS)
def test_what_is_no_iterable_of_texts_names_the_remedy(call: str, what: str) -> None:
    make, message = NO_TEXTS[what]
    with pytest.raises(TypeError, match=message):
        ITERATES_TEXTS[call](make())


@pytest.mark.parametrize("table", ["pandas", "polars", "pyarrow", "datasets"])
@pytest.mark.parametrize(
    "call", [Corpus, lambda paths: Tokenizer.train_files(paths, 300)], ids=["Corpus", "train_files"]
)
def test_texts_in_place_of_paths_name_the_call_for_texts(call: Callable[[Any], object], table: str) -> None:
    # These used to be taken for file names.
    made = TABLES[table]()
    for texts in (made["text"], made):
        if not (call is Corpus and texts is made and table == "datasets"):
            with pytest.raises(TypeError, match=r"a path or a list of paths, not \w+; .*pairloom\.Corpus\.of_texts\("):
                call(texts)
    with pytest.raises(TypeError, match=r"not Corpus; Tokenizer\.train and PretokenCounts\.from_texts take a Corpus"):
        call(Corpus.of_texts(["low lower"]))


@pytest.mark.parametrize("call", ["train", "from_texts"])
def test_the_index_counts_texts_of_all_batches(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.text_batches.BATCH_CHARACTERS", 100)
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 100)
    with pytest.raises(UnicodeEncodeError, match=r"texts\[57\]"):
        TAKES_TEXTS[call](["twenty characters, 20"] * 57 + ["\udfff"])


def test_a_piece_of_an_iterable_is_named_by_its_index() -> None:
    with pytest.raises(TypeError, match=r"^iterable\[1\] must be a str, not NoneType$"):
        list(TOKENIZER.encode_iterable(["a", None]))  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError, match=r"the text is iterable\[2\]"):
        list(TOKENIZER.encode_iterable(["a", "b", "\ud83d"]))


def test_an_empty_array_of_any_kind_holds_no_ids() -> None:
    assert TOKENIZER.decode(np.array([])) == ""
    assert TOKENIZER.decode_batch([np.array([]), [97]]) == ["", TOKENIZER.decode([97])]


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ([9999], UnknownTokenIdError, "unknown token id 9999"),
        ([-1], UnknownTokenIdError, "unknown token id -1"),
        ([2**70], UnknownTokenIdError, f"unknown token id {2**70}"),
        (np.array([70000]), UnknownTokenIdError, "unknown token id 70000"),
        ([97, "b"], TypeError, "an id must be an int, not str"),
        ([True], TypeError, "an id must be an int, not bool"),
        (None, TypeError, "ids must be a list, an integer array or an iterable of int, not NoneType"),
        (97, TypeError, "ids must be a list, an integer array or an iterable of int, not int"),
        (np.array([0.5]), TypeError, "ids must be integers, not float64"),
        (np.array([97], "M8[s]"), TypeError, "ids must be integers, not datetime64[s]"),
        (np.zeros((2, 2), int), TypeError, "ids must have one dimension, not 2"),
    ],
)
def test_wrong_ids_are_named_by_the_index_of_their_list(wrong: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        TOKENIZER.decode_batch([[97], (98,), wrong])
    assert str(caught.value) == f"list_of_ids[2]: {words}"
    with pytest.raises(kind) as caught:
        TOKENIZER.decode(wrong)
    assert str(caught.value) == words


def test_malformed_bytes_are_named_by_the_index_of_their_list() -> None:
    with pytest.raises(UnicodeDecodeError, match=r"list_of_ids\[1\]: invalid start byte"):
        TOKENIZER.decode_batch([[97], [0x80]])


@pytest.mark.parametrize("dtype", [">u2", ">i4", ">u8"])
def test_arrays_of_another_byte_order_name_the_remedy(dtype: str) -> None:
    ids = np.array([97, 98], dtype)
    with pytest.raises(TypeError, match=f"this machine's byte order, not {dtype}; .*newbyteorder"):
        TOKENIZER.decode(ids)
    assert TOKENIZER.decode(ids.astype(ids.dtype.newbyteorder("="))) == "ab"


class Lying(list[Any]):
    """A list that says it is longer, or shorter, than it is."""

    def __init__(self, items: list[Any], length: int) -> None:
        super().__init__(items)
        self._length = length

    def __len__(self) -> int:
        return self._length


@pytest.mark.parametrize("length", [0, 1, 1 << 40, 1 << 62])
def test_what_a_list_says_of_its_length_does_not_matter(length: int) -> None:
    texts, ids = ["ab ab", "é", ""], [[256, 257], [195, 169], []]
    lying = Lying(texts, length)
    assert TOKENIZER.encode_batch(lying) == ids
    assert TOKENIZER.encode_batch_to_numpy(lying)[1].tolist() == [0, 2, 4, 4]
    assert TOKENIZER.count_tokens_batch(lying).tolist() == [2, 2, 0]
    assert TOKENIZER.decode_batch(Lying([Lying(item, length) for item in ids], length)) == texts
    assert TOKENIZER.decode(Lying(ids[0], length)) == texts[0]


def test_a_list_that_overrides_its_iteration_is_read_by_it() -> None:
    class Doubled(list[str]):
        def __iter__(self) -> Iterator[str]:
            return itertools.chain.from_iterable((text, text) for text in list.__iter__(self))

    assert TOKENIZER.encode_batch(Doubled(["ab"])) == [[256], [256]]
