"""Broken input: an error that names the location or, with skip_bad, a count of what was skipped."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from pairloom import Corpus, CorpusError, PretokenCounts
from tests.cases import INPUTS, REFUSED
from tests.corpus.files import DOCUMENTS, write_all, write_arrow, write_parquet

LINE = b'{"text": "a good line"}\n'


@pytest.mark.parametrize(("line", "message"), INPUTS["lines"])
def test_broken_lines(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE * 2 + line.encode("latin-1") + b"\n" + LINE)
    with pytest.raises(CorpusError, match=message):
        list(Corpus(path))
    reading = Corpus(path, skip_bad=True).read()
    assert sum(len(block.documents) for block in reading) == 3
    assert reading.n_skipped == 1
    assert "line 3" in reading.messages[0]
    with pytest.warns(UserWarning, match="1 records"):
        PretokenCounts.from_texts(Corpus(path, skip_bad=True))


def test_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path, ["a"], column="body.text")
    with pytest.raises(CorpusError, match=r"no column 'body'; .*; dots and \[\] stand for .*, so rename the column"):
        list(Corpus(path, text_field="body.text"))
    write_parquet(path, ["a"], column="body")
    with pytest.raises(CorpusError, match=r"a\.parquet: no column 'text'; the columns are 'id', 'body'"):
        list(Corpus(path))
    with pytest.raises(CorpusError, match=r"a\.parquet: column 'id' is int64, not string"):
        list(Corpus(path, text_field="id"))
    with pytest.raises(CorpusError, match="no field 'x' in column 'body'"):
        list(Corpus(path, text_field="body.x"))
    whole = path.read_bytes()
    for data in (b"", b"PAR1", whole[: len(whole) // 2], b"nonsense" * 10):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=r"a\.parquet: not readable as Parquet"):
            list(Corpus(path))
    arrow = tmp_path / "a.arrow"
    arrow.write_bytes(b"nonsense" * 10)
    with pytest.raises(CorpusError, match=r"a\.arrow: not readable as Arrow"):
        list(Corpus(arrow))


def damaged_views(path: Path) -> None:
    """A column of views (a text's length, its first four bytes, number and place of a buffer) into a buffer that is
    not there."""

    texts = ["a text of more than twelve bytes", "another text of such a length"]
    write_arrow(path, pa.array(texts, pa.string_view()))
    data = bytearray(path.read_bytes())
    view = data.index(b"anot", data.index(b"a te"))
    data[view + 4 : view + 8] = b"\x7f\x7f\x7f\x7f"
    path.write_bytes(data)


def damaged_indices(path: Path) -> None:
    """A column of dictionary indices, one of them out of range."""

    column = pa.array(["a", "b", "a"]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array([0, 77_777_777], "int32"), column.dictionary, safe=False)
    write_arrow(path, column)


def damaged_offsets(path: Path) -> None:
    """A column of texts, one of which ends far beyond the text buffer."""

    write_arrow(path, pa.array(["x" * 11, "y" * 12]))
    sound, damaged = (b"".join(n.to_bytes(4, "little") for n in ends) for ends in ((0, 11, 23), (0, 11, 0x7FFFFFF0)))
    assert sound in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(sound, damaged))


@pytest.mark.parametrize("damage", [damaged_views, damaged_indices, damaged_offsets])
def test_arrow_columns_are_checked_before_they_are_read(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "a.arrow"
    damage(path)
    with pytest.raises(CorpusError, match=r"a\.arrow: not readable as Arrow: .*; the file is damaged or truncated"):
        list(Corpus(path))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "b.arrow"])
def test_columns_are_read_from_a_file_of_short_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Slow(io.FileIO):
        """Linux reads at most 2 GiB at once."""

        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(7 if size is None or size < 0 else min(size, 7))

    monkeypatch.setattr("pairloom.corpus.sources.open", lambda path, mode, buffering: Slow(path), raising=False)
    assert list(Corpus(write_all(tmp_path)[name])) == DOCUMENTS


def test_rows_of_a_column_of_nulls_are_skipped(tmp_path: Path) -> None:
    """pandas writes a column of type null if it has no other value, as in one of many files."""
    pyarrow.parquet.write_table(pa.table({"text": pa.nulls(3)}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"a\.parquet: row 0: the text is null; skip such rows with skip_bad"):
        list(Corpus(tmp_path / "a.parquet"))
    reading = Corpus(tmp_path / "a.parquet", skip_bad=True).read()
    assert list(reading) == [] and reading.n_skipped == 3


def test_paths_that_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Corpus(tmp_path / "none.txt")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("no corpus")
    with pytest.raises(CorpusError, match="empty: the folder contains no file"):
        Corpus(tmp_path / "empty")
    with pytest.raises(CorpusError, match="matches no files"):
        Corpus(str(tmp_path / "*.none"))
    with pytest.raises(CorpusError, match="no input"):
        Corpus([])
    with pytest.raises(TypeError):
        Corpus(5)


@pytest.mark.parametrize(("options", "error"), REFUSED["Corpus"])
def test_wrong_options(tmp_path: Path, options: dict[str, Any], error: type[Exception]) -> None:
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(error):
        Corpus(tmp_path / "a.txt", **options)


def test_a_file_that_becomes_shorter_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the cat\n" * 1000)
    corpus = Corpus(path, separator="\n")
    path.write_text("the cat\n" * 10)
    with pytest.raises(CorpusError, match=r"a\.txt: the file was truncated while it was read, at byte 80 of 8000"):
        list(corpus)


@pytest.mark.parametrize("n_batches", [1, 3])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_files_that_are_joined_are_an_error(tmp_path: Path, n_batches: int, compression: str | None) -> None:
    files = []
    for number in (1, 2):
        table = pa.table({"id": [1] * 30, "text": [f"text {number}"] * 30, "more": ["x" * 100] * 30})
        write_arrow(tmp_path / "one.arrow", table, rows=30 // n_batches, compression=compression)
        assert list(Corpus(tmp_path / "one.arrow")) == [f"text {number}"] * 30
        files.append((tmp_path / "one.arrow").read_bytes())
    (tmp_path / "two.arrow").write_bytes(b"".join(files))
    with pytest.raises(CorpusError, match=r"two\.arrow: .* as if Arrow files were concatenated; put each one"):
        list(Corpus(tmp_path / "two.arrow"))


def test_an_arrow_stream_behind_another_is_an_error(tmp_path: Path) -> None:
    streams = []
    for text in ("first", "second"):
        write_arrow(tmp_path / "one.arrow", [text], stream=True)
        streams.append((tmp_path / "one.arrow").read_bytes())
    for name, content in (("one.arrow", streams[0]), ("open.arrow", streams[0][:-8])):
        (tmp_path / name).write_bytes(content)
        assert list(Corpus(tmp_path / name)) == ["first"]
    for tail in (streams[1], b"junk"):
        (tmp_path / "two.arrow").write_bytes(streams[0] + tail)
        with pytest.raises(CorpusError, match=r"two\.arrow: there are more bytes after"):
            list(Corpus(tmp_path / "two.arrow"))
