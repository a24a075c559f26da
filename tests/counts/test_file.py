"""Counts files: loading returns what was saved, and damage is refused with its offset."""

import copy
import hashlib
import json
import os
import pickle
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pairloom import CountBuilder, CountsError, PretokenCounts, Tokenizer

TEXTS = ["ab ab ab", "東京 and  <|endoftext|> more\n\n", "", "12345 '’s"]
SUFFIXES = [".counts", ".parquet"]


COUNTS = PretokenCounts.from_texts(TEXTS, special_tokens=["<|endoftext|>"], corpus_specials="split")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"
    COUNTS.save(path)
    loaded = PretokenCounts.load(path)
    assert loaded == COUNTS
    assert loaded.metadata == COUNTS.metadata
    assert list(loaded.items()) == list(COUNTS.items())
    again = tmp_path / f"d{suffix}"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    with pytest.raises(FileExistsError):
        COUNTS.save(path)
    COUNTS.save(path, overwrite=True)
    empty = PretokenCounts.from_texts([])
    empty.save(path, overwrite=True)
    assert PretokenCounts.load(path) == empty


@pytest.mark.parametrize("suffix", [".PARQUET", ".pq"])
def test_other_spellings_of_parquet_are_parquet(tmp_path: Path, suffix: str) -> None:
    COUNTS.save(tmp_path / f"c{suffix}")
    assert (tmp_path / f"c{suffix}").read_bytes().startswith(b"PAR1")
    assert PretokenCounts.load(tmp_path / f"c{suffix}") == PretokenCounts.from_parquet(tmp_path) == COUNTS


def test_the_native_layout(tmp_path: Path) -> None:
    """Reads a file using only the documented layout."""
    path = tmp_path / "c"
    COUNTS.save(path)
    data = path.read_bytes()
    assert data[:8] == b"PLCOUNTS"
    assert int.from_bytes(data[8:12], "little") == 1
    start = 16 + int.from_bytes(data[12:16], "little")
    header = json.loads(data[16:start])
    n, n_text = header["n_pretokens"], header["n_pretoken_bytes"]
    numbers = [int.from_bytes(data[start + 8 * i : start + 8 * i + 8], "little") for i in range(2 * n)]
    text = data[start + 16 * n : start + 16 * n + n_text]
    starts = [0, *numbers[:n]]
    pretokens = [text[a:b] for a, b in zip(starts, numbers[:n], strict=False)]
    assert list(zip(pretokens, numbers[n:], strict=True)) == list(COUNTS.items())
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    assert header["special_tokens"] == ["<|endoftext|>"] and header["corpus_specials"] == "split"
    assert header["n_documents"] == COUNTS.n_documents and header["n_bytes"] == COUNTS.n_bytes


def test_damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    COUNTS.save(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CountsError, match=str(path)):
            PretokenCounts.load(path)
    for offset in range(0, len(whole), 3):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0x15]) + whole[offset + 1 :])
        with pytest.raises(CountsError, match=str(path)):
            PretokenCounts.load(path)


def resealed(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def test_contents_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "c"
    PretokenCounts.from_texts(["a b c"]).save(path)
    whole = path.read_bytes()
    start = 16 + int.from_bytes(whole[12:16], "little")
    text = whole[-32 - 5 : -32]
    assert text == b" b ca"
    for wrong, message in (
        (whole.replace(text, b" c ba"), "row 1: .*not greater"),
        (whole.replace(text, b" b ba"), "row 1: .*not greater"),
        (whole.replace(text, b" b c "), "row 2: .*not greater"),
        (whole[: start + 24] + bytes(8) + whole[start + 32 :], "row 0: the count is 0"),
        (whole[:start] + (9).to_bytes(8, "little") + whole[start + 8 :], "row 0"),
        (whole.replace(b'"n_documents":1', b'"n_documents":x'), "not JSON"),
        (whole.replace(b'"corpus_specials":"text"', b'"corpus_specials":"toxt"'), "corpus_specials"),
        (whole.replace(b'"n_bytes"', b'"m_bytes"'), "lack 'n_bytes'"),
    ):
        path.write_bytes(resealed(wrong))
        with pytest.raises(CountsError, match=message):
            PretokenCounts.load(path)


def pickled(protocol: int, counts: PretokenCounts) -> PretokenCounts:
    made: PretokenCounts = pickle.loads(pickle.dumps(counts, protocol))
    return made


def test_copies_and_pickles_stay_when_counts_are_added() -> None:
    copies: list[Callable[[PretokenCounts], PretokenCounts]] = [copy.copy, lambda counts: copy.deepcopy([counts])[0]]
    copies += [partial(pickled, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for copied in copies:
        counts = copied(COUNTS)
        again = copied(counts)
        counts += COUNTS
        assert counts == COUNTS + COUNTS and again == COUNTS and again.metadata == COUNTS.metadata
        assert again.columns.n_special_literals == COUNTS.columns.n_special_literals


def test_counts_pickle_without_copies_of_their_columns() -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(COUNTS, 5, buffer_callback=buffers.append)
    n_bytes = sum(len(pretoken) + 16 for pretoken, _ in COUNTS.items())
    assert sum(buffer.raw().nbytes for buffer in buffers) == n_bytes
    assert pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers]) == COUNTS


@pytest.mark.parametrize(
    "begin", [b"", b"\0" * 8, b"PLCOUNTS", b"PLCOUNTS\1\0\0\0\2\0\0\0{}", b"PLCOUNTS\1\0\0\0\xff\xff\xff\xff"]
)
def test_a_huge_file_of_another_kind_is_refused_unread(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "c"
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(1 << 40)
    with pytest.raises(CountsError, match=str(path)):
        PretokenCounts.load(path)


def test_counts_are_read_from_a_pipe(tmp_path: Path) -> None:
    COUNTS.save(tmp_path / "c")
    data = (tmp_path / "c").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for given, is_whole in ((data, True), (data[:-1], False), (data + b"x", False), (data[:30], False)):
        writer = threading.Thread(target=pipe.write_bytes, args=(given,))
        writer.start()
        if is_whole:
            assert PretokenCounts.load(pipe) == COUNTS
        else:
            with pytest.raises(CountsError):
                PretokenCounts.load(pipe)
        writer.join()


def test_sums_beyond_64_bits_are_counts_errors() -> None:
    largest = 2**64 - 1
    one = PretokenCounts.from_items({b"a": 1})
    first, second, third = CountBuilder(), CountBuilder(), CountBuilder()
    first.add_counts(PretokenCounts.from_items({b"a": largest}, n_bytes=0))
    second.add_texts(["a"])
    third.add_counts(PretokenCounts.from_items({b"b": 1}, n_bytes=largest))
    for overflows in (
        lambda: first.add_texts(["a"]),
        lambda: second.add_counts(PretokenCounts.from_items({b"a": largest}, n_bytes=0)),
        lambda: third.add_texts(["a"]),
        lambda: PretokenCounts.from_items({b"a": largest}) + one,
        lambda: PretokenCounts.from_items([(b"a", largest), (b"a", 1)], n_bytes=5),
        lambda: PretokenCounts.from_items({b"ab": largest}),
        lambda: PretokenCounts.from_items({b"a": 1}, n_bytes=largest) + one,
        lambda: PretokenCounts.merged([PretokenCounts.from_items({b"a": 1}, n_documents=largest)] * 2),
        lambda: Tokenizer.train_from_counts(PretokenCounts.from_items({b"ab": largest}, n_bytes=1), 300),
    ):
        with pytest.raises(CountsError, match="64"):
            overflows()
    with pytest.raises(ValueError, match="the largest is"):
        PretokenCounts.from_items({b"a": 2**64})


@pytest.mark.parametrize("items", [5, None, "ab", b"ab", [1], ["ab"], [b"ab"], [(b"a",)], [(b"a", 1, 2)], [("a", 1)]])
def test_items_that_are_no_pairs_are_type_errors(items: Any) -> None:
    counts = COUNTS
    for call in (PretokenCounts.from_items, PretokenCounts.merged, lambda items: COUNTS + items):
        with pytest.raises(TypeError):
            call(items)
    with pytest.raises(TypeError):
        counts += items


@pytest.fixture
def path(tmp_path: Path) -> Path:
    COUNTS.save(tmp_path / "c.parquet")
    return tmp_path / "c.parquet"


@pytest.mark.parametrize("key", ["pattern", "special_tokens", "n_bytes", "unicode_version"])
@pytest.mark.parametrize(
    "value",
    [b"\xff", b'"\xff"', b"[" * 100_000, b"NaN", b"1" + b"0" * 5000, b"null", b"true", b"{}", b'"\\ud800"', b'[""]'],
    ids=lambda value: repr(value[:9]),
)
def test_metadata_that_are_none_are_counts_errors(path: Path, key: str, value: bytes) -> None:
    table = parquet.read_table(path)
    changed = {**table.schema.metadata, f"pairloom.{key}".encode(): value}
    parquet.write_table(table.replace_schema_metadata(changed), path)
    with pytest.raises(CountsError, match=r"c\.parquet.*metadata"):
        PretokenCounts.load(path)


def test_metadata_of_others_that_are_not_utf8_do_no_harm(path: Path) -> None:
    table = parquet.read_table(path)
    parquet.write_table(table.replace_schema_metadata({**table.schema.metadata, b"\xff\xfe": b"\xff"}), path)
    assert PretokenCounts.load(path) == COUNTS
