"""Columns of other libraries, over the Arrow C interface: the ids of encode_batch, row by row."""

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from pairloom import Tokenizer, UnknownTokenIdError

TEXTS = ["ab the cat", None, "", "héllo 東京 ab<|endoftext|>", "x" * 40, None, "the the"]
TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 270)
MANY = Tokenizer({**TOKENIZER.vocab, 70_000: b"zz"}, TOKENIZER.merges, {"<|endoftext|>": 70_001})


def _bytes(texts: list[str | None]) -> list[bytes | None]:
    return [None if text is None else text.encode() for text in texts]


def _duckdb(texts: list[str | None]) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = pa.table({"n": range(len(texts)), "text": texts})
    return duckdb.connect().from_arrow(table).order("n").project("text")


def _nanoarrow(texts: list[str | None]) -> Any:
    nanoarrow = pytest.importorskip("nanoarrow", reason="nanoarrow is not installed")
    return nanoarrow.Array(texts, nanoarrow.string())


COLUMNS: dict[str, Callable[[list[str | None]], Any]] = {
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "binary": lambda texts: pa.array(_bytes(texts), pa.binary()),
    "large_binary": lambda texts: pa.array(_bytes(texts), pa.large_binary()),
    "binary_view": lambda texts: pa.array(_bytes(texts), pa.binary_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "dictionary that holds the null": lambda texts: pa.array(texts, pa.string()).dictionary_encode("encode"),
    "dictionary of its own type": lambda texts: pa.array(texts).dictionary_encode(),
    "chunked": lambda texts: pa.chunked_array([texts[:2], [], texts[2:3], texts[3:]], pa.string()),
    "sliced": lambda texts: pa.array(["é", None, *texts, "no"], pa.string()).slice(2, len(texts)),
    "sliced views": lambda texts: pa.array(["é", None, *texts, "no"], pa.string_view()).slice(2, len(texts)),
    "table": lambda texts: pa.table({"text": pa.array(texts, pa.string())}),
    "sliced struct": lambda texts: pa.StructArray.from_arrays(
        [pa.array(["a", "b", "c", *texts, "no"], pa.string()).slice(1)], ["text"]
    ).slice(2, len(texts)),
    "record batch": lambda texts: pa.record_batch({"text": pa.array(texts, pa.string())}),
    "polars series": lambda texts: polars.Series(texts, dtype=polars.String),
    "polars categorical": lambda texts: polars.Series(texts, dtype=polars.String).cast(polars.Categorical),
    "polars frame": lambda texts: polars.DataFrame({"text": polars.Series(texts, dtype=polars.String)}),
    "pandas series": lambda texts: pandas.Series(texts, dtype="string[pyarrow]"),
    "pandas frame": lambda texts: pandas.DataFrame({"text": pandas.Series(texts, dtype="string[pyarrow]")}),
    "duckdb": _duckdb,
    "nanoarrow": _nanoarrow,
}


def _expected(tokenizer: Tokenizer, texts: list[str | None], **options: Any) -> list[list[int] | None]:
    encoded = iter(tokenizer.encode_batch([text for text in texts if text is not None], **options))
    return [None if text is None else next(encoded) for text in texts]


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("texts", [TEXTS, [], [None], ["ab"], ["", ""]], ids=["some", "none", "null", "one", "empty"])
def test_columns_of_every_library_equal_encode_batch(kind: str, texts: list[str | None]) -> None:
    column = COLUMNS[kind](texts)
    ids = TOKENIZER.encode_arrow(column)
    ids.validate(full=True)
    assert ids.type == pa.list_(pa.uint16())
    assert ids.to_pylist() == _expected(TOKENIZER, texts)
    counts = TOKENIZER.count_tokens_arrow(COLUMNS[kind](texts))
    counts.validate(full=True)
    assert counts.type == pa.int64()
    assert counts.to_pylist() == [None if row is None else len(row) for row in ids.to_pylist()]
    decoded = TOKENIZER.decode_arrow(ids)
    decoded.validate(full=True)
    assert decoded.to_pylist() == texts


@pytest.mark.parametrize("seed", range(30))
def test_random_chunks_and_slices_equal_encode_batch(seed: int) -> None:
    rng = random.Random(seed)
    words = ["ab", " the", "é", "東京", "😀", "<|endoftext|>", " ", "\n", "x" * rng.randrange(1, 30)]
    texts = [
        None if rng.random() < 0.1 else "".join(rng.choices(words, k=rng.randrange(12)))
        for _ in range(rng.choice([0, 1, 7, 8, 9, 65, 500]))
    ]
    kind = rng.choice([pa.string(), pa.large_string(), pa.string_view(), pa.binary()])
    values = _bytes(texts) if kind == pa.binary() else texts
    chunks, found = [], []
    while True:
        start, stop = sorted(rng.choices(range(len(texts) + 1), k=2))
        chunks.append(pa.array(values, kind).slice(start, stop - start))
        found += texts[start:stop]
        if rng.random() < 0.3:
            break
    column = pa.chunked_array(chunks, kind)
    threads = rng.choice([1, 2, 5])
    options: dict[str, Any] = rng.choice([{}, {"allowed_special": ()}])
    ids = TOKENIZER.encode_arrow(column, threads=threads, **options)
    assert ids.to_pylist() == _expected(TOKENIZER, found, **options)
    flat, offsets = TOKENIZER.encode_batch_to_numpy([text or "" for text in found], **options)
    assert np.array_equal(ids.flatten(), flat)
    assert np.array_equal(ids.offsets, offsets)
    sliced = ids.slice(*rng.choice([(0, None), (1, 3), (len(ids) // 2, None)]))
    assert TOKENIZER.decode_arrow(pa.chunked_array([sliced, ids])).to_pylist() == [
        None if row is None else TOKENIZER.decode(row) for row in sliced.to_pylist() + ids.to_pylist()
    ]


@pytest.mark.parametrize("item", [pa.uint16(), pa.uint32(), pa.int32(), pa.int64()])
@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_ids_come_in_the_type_that_is_asked_for(item: Any, list_of: Callable[[Any], Any]) -> None:
    ids = TOKENIZER.encode_arrow(pa.array(TEXTS), type=list_of(item))
    ids.validate(full=True)
    assert ids.type == list_of(item)
    assert ids.to_pylist() == _expected(TOKENIZER, TEXTS)
    assert TOKENIZER.decode_arrow(ids).to_pylist() == TEXTS


def test_ids_beyond_16_bits_refuse_a_smaller_type() -> None:
    ids = MANY.encode_arrow(pa.array(["zz<|endoftext|>"]))
    assert ids.type == pa.list_(pa.uint32())
    assert ids.to_pylist() == [MANY.encode("zz<|endoftext|>")]
    with pytest.raises(ValueError, match="type supports ids up to 65535, but this tokenizer has ids up to 70001"):
        MANY.encode_arrow(pa.array(["ab"]), type=pa.list_(pa.uint16()))


@pytest.mark.parametrize(
    "item", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
)
def test_ids_of_any_integer_type_are_decoded(item: Any) -> None:
    rows = [[97, 98], None, [], [116, 104, 101]]
    expected = ["ab", None, "", "the"]
    for kind in (pa.list_(item), pa.large_list(item)):
        assert TOKENIZER.decode_arrow(pa.array(rows, kind)).to_pylist() == expected
    fixed = pa.array([[1, 1], [97, 98], None, [98, 97]], pa.list_(item, 2))
    assert TOKENIZER.decode_arrow(fixed.slice(1)).to_pylist() == ["ab", None, "ba"]


def test_malformed_bytes_follow_the_tokenizer_or_the_caller() -> None:
    rows = [[97, 0xFF, 98], [0xE6, 0x9D], [0x80]]
    for errors in ("replace", "ignore"):
        found = TOKENIZER.decode_arrow(pa.array(rows), errors=errors).to_pylist()
        assert found == [TOKENIZER.decode(row, errors=errors) for row in rows]
    with pytest.raises(UnicodeDecodeError, match=r"list_of_ids\[1\]"):
        TOKENIZER.decode_arrow(pa.array([[97], [0x80]]))


def _of_offsets(*offsets: int) -> Any:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abcdef")]
    return pa.Array.from_buffers(pa.string(), 3, buffers)


def _of_view(length: int, buffer: int, offset: int) -> Any:
    view = pa.py_buffer(np.array([length, 0, buffer, offset], np.int32))
    return pa.Array.from_buffers(pa.string_view(), 1, [None, view, pa.py_buffer(b"x" * 30)])


def _of_index(index: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int8()), ["a", "b"], safe=False)


OUTSIDE = r"row [012] of the column lies outside its buffers"


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (["ab"], TypeError, "texts must be an Arrow column .*, not list"),
        ("ab", TypeError, "texts must be an Arrow column .*, not str"),
        (pa.Array, TypeError, "texts must be an Arrow column"),
        (pa.array([1]), ValueError, "the column has type int64, not string or binary"),
        (pa.array([], pa.float32()), ValueError, "the column has type float, not string"),
        (pa.chunked_array([], pa.list_(pa.string())), ValueError, "the column has type list<item: string>, not string"),
        (pa.array([1]).dictionary_encode(), ValueError, "not string"),
        (pa.RunEndEncodedArray.from_arrays([2], ["a"]), ValueError, "run_end_encoded<.*>, not string or binary"),
        (pa.table({"a": ["x"], "b": ["y"]}), ValueError, r'a table of 2 columns \("a", "b"\); pass one of them'),
        (pa.array([b"ab", b"c\xff"]), UnicodeDecodeError, r"position 1.*texts\[1\]"),
        (pa.array(["ab", "ab<|endoftext|>"]), ValueError, r"texts\[1\]: .*<\|endoftext\|>"),
        *((_of_offsets(*offsets), ValueError, OUTSIDE) for offsets in ((0, 4, 2, 6), (3, 2, 4, 6), (0, 2, 1, 6))),
        *((_of_view(20, *at), ValueError, OUTSIDE) for at in ((0, 100), (1, 0), (-1, 0), (0, -1))),
        (_of_view(-5, 0, 0), ValueError, OUTSIDE),
        *((_of_index(index), ValueError, "position 1 out of bounds") for index in (2, -1)),
    ],
    # The names of damaged columns would read them.
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_columns_of_another_kind_and_bad_text_are_refused(column: Any, error: type[Exception], message: str) -> None:
    options: dict[str, Any] = {"allowed_special": (), "disallowed_special": "all"}
    for call in (TOKENIZER.encode_arrow, TOKENIZER.count_tokens_arrow):
        with pytest.raises(error, match=message):
            call(column, **options)


def test_bytes_under_a_null_need_not_be_utf8() -> None:
    bits = pa.py_buffer(b"\x05")
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], np.int32))
    column = pa.Array.from_buffers(pa.string(), 3, [bits, offsets, pa.py_buffer(b"ab\xff\xfeab")])
    assert TOKENIZER.encode_arrow(column).to_pylist() == _expected(TOKENIZER, ["ab", None, "ab"])


@pytest.mark.parametrize("type", [pa.int32(), pa.list_(pa.float32()), pa.list_(pa.string()), pa.string()])
def test_a_type_that_is_no_list_of_integers_is_refused(type: Any) -> None:
    with pytest.raises(ValueError, match=r"type is .*, but must be list or large_list of uint16"):
        TOKENIZER.encode_arrow(pa.array(["ab"]), type=type)
    with pytest.raises(TypeError, match="type must be an Arrow type"):
        TOKENIZER.encode_arrow(pa.array(["ab"]), type="list")


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ([[97]], TypeError, "list_of_ids must be an Arrow column"),
        (pa.array([1]), ValueError, "the column has type int64, not list or large_list of integers"),
        (pa.array([["a"]]), ValueError, "the column has type list<item: string>, not list"),
        (pa.array([[97], [1, None]]), ValueError, r"list_of_ids\[1\] contains a null"),
        (pa.array([[97], [99_999]]), UnknownTokenIdError, r"list_of_ids\[1\]: unknown token id 99999"),
        (pa.array([[97], [-1]]), UnknownTokenIdError, r"list_of_ids\[1\]: unknown token id -1"),
    ],
)
def test_columns_that_are_no_ids_are_refused(column: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TOKENIZER.decode_arrow(column)


class _Stream:
    """Exports a stream that another consumer may have consumed already."""

    def __init__(self, column: Any) -> None:
        self._capsule = column.__arrow_c_stream__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def test_a_stream_that_was_taken_and_one_that_fails_are_errors() -> None:
    stream = _Stream(pa.chunked_array([["ab"]]))
    assert TOKENIZER.encode_arrow(stream).to_pylist() == _expected(TOKENIZER, ["ab"])
    with pytest.raises(ValueError, match="Cannot import released Arrow Stream"):
        TOKENIZER.encode_arrow(stream)

    def batches() -> Any:
        yield pa.record_batch({"text": ["ab"]})
        raise RuntimeError("the disk broke")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("text", pa.string())]), batches())
    with pytest.raises(Exception, match="the disk broke"):
        TOKENIZER.encode_arrow(reader)


def test_no_python_object_is_made_for_a_row() -> None:
    column = pa.array(["ab the cat"] * 100_000)
    TOKENIZER.encode_arrow(column)
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        ids = TOKENIZER.encode_arrow(column)
        counts = TOKENIZER.count_tokens_arrow(column)
        made = sys.getallocatedblocks() - before
    finally:
        gc.enable()
    assert len(ids) == len(counts) == 100_000
    assert made < 1000


def test_results_own_their_memory_and_release_it() -> None:
    ids = TOKENIZER.encode_arrow(polars.Series(["ab the cat"] * 1000))
    polars_ids = polars.Series(ids)
    expected = [TOKENIZER.encode("ab the cat")] * 1000
    first = ids.slice(0, 10)
    del ids
    gc.collect()
    assert first.to_pylist() == expected[:10]
    assert polars_ids.to_list() == expected
