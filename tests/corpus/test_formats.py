"""Every kind of file yields the same documents."""

import gzip
import itertools
import json
import re
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from pairloom import Corpus, PretokenCounts, Tokenizer
from pairloom.errors import CorpusError
from tests.cli.commands import output
from tests.corpus.files import (
    COMPRESSORS,
    DOCUMENTS,
    SEPARATOR,
    json_lines,
    write_all,
    write_arrow,
    zstd,
)
from tests.soak.isolation import run_cases


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("size", [7, 100, 1001, 1 << 20])
def test_every_kind_of_file_gives_the_same_documents(
    paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", size)
    monkeypatch.setattr("pairloom.corpus.compression._READ_BYTES", size)
    for name, path in paths.items():
        assert list(Corpus(path, separator=SEPARATOR)) == DOCUMENTS, name
    assert list(Corpus(paths["a.jsonl"], text_field="meta.text")) == DOCUMENTS


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_file_of_hundreds_of_times_its_size_takes_little(tmp_path: Path, suffix: str) -> None:
    for name, text in (("lines", b"hello world " * 10 + b"\n"), ("letter", b"a" * 1000)):
        (tmp_path / f"{name}{suffix}").write_bytes(COMPRESSORS[suffix](text * (200_000_000 // len(text))))

    def case(number: int) -> object:
        corpus = Corpus(tmp_path / f"{'letter' if number else 'lines'}{suffix}", separator="\n")
        if not number:
            return sum(block.documents.n_bytes for block in corpus.read()) > 190_000_000
        with pytest.raises(MemoryError):
            PretokenCounts.from_texts(corpus, max_memory=100_000_000, threads=2)
        return True

    for _, outcome in run_cases(case, 2):
        assert outcome.result and outcome.n_bytes < 160 << 20, outcome


def test_train_files_reads_what_the_suffix_says(paths: dict[str, Path], tmp_path: Path) -> None:
    expected = Tokenizer.train(DOCUMENTS, 400)
    for name in ("a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow"):
        assert Tokenizer.train_files(paths[name], 400) == expected, name
    (tmp_path / "plain.txt.gz").write_bytes(gzip.compress("".join(DOCUMENTS).encode()))
    for plain in ([tmp_path / "plain.txt.gz"], tmp_path, str(tmp_path / "*")):
        assert Tokenizer.train_files(plain, 400) == Tokenizer.train("".join(DOCUMENTS), 400)
    assert Tokenizer.train(Corpus(paths["a.parquet"]), 400) == expected


CHATS = [
    [{"role": "user", "content": "Hi, é"}, {"role": "assistant", "content": ""}],
    [],
    [{"role": "user", "content": "東京\n"}],
]
CONTENTS = ["Hi, é", "", "東京\n"]


def _write_columns(folder: Path, columns: dict[str, Any]) -> list[Path]:
    """Writes a table as Parquet, as an Arrow file and stream, and columns that are lists as JSON lines, if any."""
    table, lists = pyarrow.table(columns), {name: values for name, values in columns.items() if type(values) is list}
    records = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    (folder / "l.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    pyarrow.parquet.write_table(table, folder / "l.parquet", row_group_size=2)
    write_arrow(folder / "file.arrow", table, rows=2)
    write_arrow(folder / "stream.arrow", table, stream=True, rows=2)
    return [folder / name for name in ("l.parquet", "file.arrow", "stream.arrow", "l.jsonl")[: 4 if lists else 3]]


def test_each_text_of_a_list_is_a_document(tmp_path: Path) -> None:
    lists = [["a", "b"], [], ["c"]]
    columns: dict[str, Any] = {
        "id": [1, 2, 3],
        "messages": CHATS,
        "texts": lists,
        "large": pyarrow.array(lists, pyarrow.large_list(pyarrow.large_string())),
        "bytes": pyarrow.array([[b"a", b"b"], [], [b"c"]]),
        "some": pyarrow.array([b"a", b"b", b"c"]).dictionary_encode(),
        "deep": [[["a"], []], [], [["b", "c"]]],
        "in": [{"messages": chat} for chat in CHATS],
    }
    for path in _write_columns(tmp_path, columns):
        assert list(Corpus(path, text_field="messages[].content")) == CONTENTS, path
        assert list(Corpus(path, text_field="in.messages[].content")) == CONTENTS, path
        assert list(Corpus(path, text_field="texts[]")) == ["a", "b", "c"], path
        assert list(Corpus(path, text_field="deep[][]")) == ["a", "b", "c"], path
        with pytest.raises(CorpusError, match=r"(read its elements with|add \[\] to the field)"):
            list(Corpus(path, text_field="texts"))
        with pytest.raises(CorpusError):
            list(Corpus(path, text_field="messages.content"))
        if path.suffix != ".jsonl":
            assert (
                list(Corpus(path, text_field="large[]")) == list(Corpus(path, text_field="bytes[]")) == ["a", "b", "c"]
            )
            assert list(Corpus(path, text_field="some")) == ["a", "b", "c"], path
            with pytest.raises(CorpusError, match="which is not a list"):
                list(Corpus(path, text_field="id[]"))
    output("count --text-field messages[].content --input", tmp_path / "l.parquet", "--output", tmp_path / "c")
    expected = PretokenCounts.from_texts(CONTENTS, special_tokens=["<|endoftext|>"])
    assert PretokenCounts.load(tmp_path / "c") == expected
    datasets: Any = pytest.importorskip("datasets")
    assert list(Corpus(datasets.Dataset.from_dict({"m": CHATS}), text_field="m[].content")) == CONTENTS


def test_nulls_in_lists_are_an_error_or_left_out_one_by_one(tmp_path: Path) -> None:
    for path in _write_columns(tmp_path, {"t": [["a", None, "b"], None, ["c"]], "u": [["a"], None, []]}):
        with pytest.raises(CorpusError, match=r"line 2: invalid type: null|the list is null; skip such rows with"):
            list(Corpus(path, text_field="u[]"))
        with pytest.raises(CorpusError, match=r"l\.jsonl: line 1: invalid type: null, expected a string|is null"):
            list(Corpus(path, text_field="t[]"))
        reading = Corpus(path, text_field="t[]", skip_bad=True).read()
        assert [text for block in reading for text in block.documents.texts()] == ["a", "b", "c"], path
        assert reading.n_skipped == 2, path


def test_messages_without_content_are_left_out_one_by_one(tmp_path: Path) -> None:
    # As in a tool call: its conversation is kept.
    chats: list[Any] = [
        [{"content": "a"}, {"content": None}, None, {"content": "b"}],
        [{"content": "c"}, {"role": "tool"}],
        None,
        [{"content": None}],
    ]
    # As polars writes them.
    view = pyarrow.string_view()
    views = pyarrow.array(chats, pyarrow.large_list(pyarrow.struct({"content": view, "role": view})))
    write_arrow(tmp_path / "views.arrow", pyarrow.table({"t": views}), rows=2)
    for path in [tmp_path / "views.arrow", *_write_columns(tmp_path, {"t": chats})]:
        reading = Corpus(path, text_field="t[].content", skip_bad=True).read(origins=True)
        blocks = list(reading)
        assert [text for block in blocks for text in block.documents.texts()] == ["a", "b", "c"], path
        records = [int(record) for block in blocks if block.origins for record in block.origins.records]
        assert [record - records[0] for record in records] == [0, 0, 1], path
        assert reading.n_skipped == 5, path
        with pytest.raises(CorpusError, match="null"):
            list(Corpus(path, text_field="t[].content"))
    found = [re.sub(r".*line (\d: \d?).*", r"\1", message) for message in reading.messages]
    assert found == ["1: 2", "2: 1", "3: ", "4: 1"], "each line of JSON is named once"
    (tmp_path / "l.jsonl").write_text('{"t": [{"content": "a"}, {}]}\n')
    with pytest.raises(CorpusError, match='no field "content"'):
        list(Corpus(tmp_path / "l.jsonl", text_field="t[].content"))


@pytest.mark.parametrize("kind", ["binary", "large_binary", "string", "large_string"])
@pytest.mark.parametrize("nesting", ["", "[]", "[].content", "[][]", ".content[]"])
def test_columns_that_are_not_utf8_follow_input_errors(tmp_path: Path, kind: str, nesting: str) -> None:
    raw = pyarrow.array([b"first", b"caf\xe9 au lait", b"last", b"\xc3\xa9"]).cast(
        pyarrow.large_binary() if kind.startswith("large") else pyarrow.binary()
    )
    # Build the column without validating its bytes, as many writers do.
    column = pyarrow.Array.from_buffers(getattr(pyarrow, kind)(), 4, raw.buffers())
    ends = pyarrow.array([0, 2, 3, 4], pyarrow.int32())
    for step in reversed(re.findall(r"\[\]|\.content", nesting)):
        if step == "[]":
            column = pyarrow.ListArray.from_arrays(ends, column)
            ends = pyarrow.array([0, 3], pyarrow.int32())
        else:
            column = pyarrow.StructArray.from_arrays([column], ["content"])
    field = f"text{nesting}"
    where = rf": elements of {re.escape(field)}: row 1" if "[]" in nesting else ": row 1"
    for path in _write_columns(tmp_path, {"text": column}):
        message = rf'{re.escape(path.name)}{where}: invalid UTF-8 at byte 3; .*input_errors="replace".*skip_bad'
        with pytest.raises(CorpusError, match=message):
            list(Corpus(path, text_field=field))
        assert list(Corpus(path, text_field=field, input_errors="replace")) == [
            "first",
            "caf\ufffd au lait",
            "last",
            "\xe9",
        ]
        reading = Corpus(path, text_field=field, skip_bad=True).read()
        assert [text for block in reading for text in block.documents.texts()] == ["first", "last", "\xe9"]
        assert reading.n_skipped == 1
        with pytest.warns(UserWarning, match="1 files that could not be read"):
            PretokenCounts.from_texts(Corpus(path, text_field=field, skip_bad_files=True))


def _warc(texts: list[str], *, others: bool = True) -> bytes:
    """Returns records as in Common Crawl's WET files."""

    def record(kind: str, body: bytes, content: str = "text/plain") -> bytes:
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body + b"\r\n\r\n"

    info = record("warcinfo", b"Software-Info: x\r\n", "application/warc-fields") if others else b""
    return info + b"".join(record("conversion", text.encode()) for text in texts)


@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_texts_of_a_crawl_are_documents(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", piece)
    # Each record can be its own gzip member.
    whole = _warc(DOCUMENTS)
    members = b"".join(gzip.compress(_warc([text], others=False)) for text in DOCUMENTS)
    for name, data in (
        ("a.warc", whole),
        ("a.wet", whole),
        ("b.warc.wet.gz", members),
        ("c.warc.gz", gzip.compress(whole)),
    ):
        (tmp_path / name).write_bytes(data)
        assert list(Corpus(tmp_path / name)) == DOCUMENTS, name
    (tmp_path / "unnamed").write_bytes(whole)
    assert list(Corpus(tmp_path / "unnamed", input_format="warc")) == DOCUMENTS


def test_damaged_and_foreign_records_of_a_crawl_are_named(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.warc", _warc(["first", "second"])
    html = whole.replace(
        b"WARC-Type: conversion\r\nContent-Type: text/plain",
        b"WARC-Type: response\r\nContent-Type: application/http",
        1,
    )
    for data, message in (
        (whole[:-6], "record 3: its text is incomplete; the file is truncated"),
        (whole[:-40], "record 3: its header is incomplete"),
        (whole + b"nonsense\r\n\r\n", "record 4: it starts with 'nonsense', not with WARC/"),
        (whole.replace(b"Content-Length: 6", b"Content-Length: x"), "record 3: its Content-Length is 'x'"),
        (whole.replace(b"text/plain", b"image/png"), "record 2 is a conversion of image/png, not text; read the WET"),
        (html, "record 2 is a response of application/http, not text; read the WET files"),
    ):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=re.escape(message)):
            list(Corpus(path))
        reading = Corpus(path, skip_bad_files=True).read()
        assert list(reading) == []
        assert len(reading.skipped_files) == 1
    reading = Corpus(path, skip_bad=True).read()
    assert [text for block in reading for text in block.documents.texts()] == ["second"]
    assert reading.n_skipped == 1 and "is a response" in reading.messages[0]
    path.write_bytes(whole.replace(b"second", b"\xff" * 6))
    with pytest.raises(CorpusError, match=r"a\.warc: text 1 is not UTF-8"):
        list(Corpus(path))
    assert next(iter(Corpus(path, input_errors="replace"))) == "first"


def test_sizes_of_many_files_are_added_up_once(tmp_path: Path) -> None:
    """Each file used to add up the sizes of the files before it."""
    for number in range(50):
        (tmp_path / f"{number:04}.jsonl.zst").write_bytes(zstd(json_lines([f"document {number}"]).encode()))

    class Whole(list[int]):
        def __getitem__(self, index: Any) -> Any:
            assert isinstance(index, int)
            return super().__getitem__(index)

    reading = Corpus(tmp_path).read()
    reading._sizes = Whole(reading._sizes)
    blocks = list(reading)
    assert sum(len(block.documents) for block in blocks) == 50 and blocks[-1].done == reading.total


def test_data_sets(tmp_path: Path) -> None:
    datasets: Any = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict({"text": DOCUMENTS, "id": list(range(len(DOCUMENTS)))})
    assert list(Corpus(dataset)) == DOCUMENTS
    assert list(Corpus(dataset.select(range(10, 20)))) == DOCUMENTS[10:20]
    assert list(Corpus(dataset.to_iterable_dataset())) == DOCUMENTS
    with pytest.raises(ValueError, match=r"has a transform .*; apply it with map, or pass dataset\.with_format"):
        Corpus(dataset.with_transform(lambda rows: {"text": [text.upper() for text in rows["text"]]}))
    assert Tokenizer.train(Corpus(dataset), 400) == Tokenizer.train(DOCUMENTS, 400)


def test_streams_of_data_sets_whose_rows_have_nulls() -> None:
    """The Arrow format of `datasets` fails to join a row with null and one with text."""
    datasets: Any = pytest.importorskip("datasets")
    rows = [{"text": "a", "url": None}, {"text": "b", "url": "x"}, {"text": None, "url": "y"}]
    made = datasets.IterableDataset.from_generator(lambda: iter(rows))
    mapped = datasets.Dataset.from_list(rows).to_iterable_dataset().map(lambda row: row)
    for stream in (made, mapped, made.with_format("arrow")):
        assert list(Corpus(stream, skip_bad=True)) == ["a", "b"]
        with pytest.raises(CorpusError, match="<dataset>: row 2: the text is null"):
            list(Corpus(stream))
        with pytest.raises(CorpusError, match="<dataset>: no column 'no'; the columns are 'text', 'url'"):
            list(Corpus(stream, text_field="no"))
    mixed = datasets.IterableDataset.from_generator(lambda: iter([{"text": "a"}, {"text": 1}]))
    with pytest.raises(CorpusError, match="<dataset>: column 'text' is not text in each row: "):
        list(Corpus(mixed))


def test_standard_input(paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, input_format in (("a.txt", None), ("a.txt.zst", None), ("a.jsonl.gz", "jsonl"), ("a.parquet", None)):
        with paths[name].open("rb") as file:
            monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": file})())
            assert list(Corpus("-", separator=SEPARATOR, input_format=input_format)) == DOCUMENTS, name


def test_folders_and_globs_are_sorted(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl", ".hidden.jsonl", "_SUCCESS", "notes.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json_lines([name]))
    with pytest.warns(UserWarning, match=r"^1 file has no suffix of a corpus .* will not be read: .*/notes\.md; pass"):
        assert list(Corpus(tmp_path)) == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]
    assert list(Corpus(str(tmp_path / "*.jsonl"))) == ["a.jsonl", "b.jsonl"]
    assert list(Corpus(str(tmp_path / "**/*.jsonl"))) == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]
    assert list(Corpus(str(tmp_path / "**" / ".*.jsonl"))) == [".hidden.jsonl"]
    assert list(Corpus(str(tmp_path / "**/**/*.jsonl"))) == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]


def test_what_links_lead_to_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "sub", elsewhere):
        folder.mkdir(parents=True)
    for path in (data / "b.jsonl", data / "sub" / "c.jsonl", elsewhere / "d.jsonl"):
        path.write_text(json_lines([path.name]))
    (data / "linked").symlink_to(elsewhere)
    assert list(Corpus(data)) == ["b.jsonl", "d.jsonl", "c.jsonl"], "a folder elsewhere is read by its link"
    assert list(Corpus(f"{tmp_path}/d*/**/l*/**/*.jsonl")) == ["d.jsonl"]
    (data / "a.jsonl").symlink_to("b.jsonl")
    (data / "another").symlink_to("sub")
    (data / "e.jsonl").hardlink_to(data / "b.jsonl")
    (data / "f.jsonl").symlink_to("e.jsonl")
    for given in (f"{data}/**/*.jsonl", data):
        if given == data:
            (data / "sub" / "circle").symlink_to("..")
        with pytest.warns(UserWarning, match=r"/data/[a-z/]*.* will not be read: it is a link to a file that is"):
            found = Corpus(given)
        assert sorted(found) == ["b.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"], "a hard link is a file like others"
        assert found.names[:2] == [f"{data}/a.jsonl", f"{data}/another/c.jsonl"], "the first name of each is kept"
    monkeypatch.chdir(data)
    with pytest.warns(UserWarning, match="will not be read"):
        assert Corpus("./").names == [name.removeprefix(f"{data}/") for name in found.names]
    # A file is read as often as it is passed.
    assert list(Corpus([data / "a.jsonl", data / "b.jsonl"])) == ["b.jsonl", "b.jsonl"]


def test_tables_are_read_as_plain_text_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,ab ab ab\n")
    with gzip.open(tmp_path / "b.TSV.gz", "wt") as file:
        file.write("1\tab\n")
    for name in ("a.csv", "b.TSV.gz"):
        with pytest.warns(
            UserWarning, match=r"is read as plain text, including separators.* pass input_format=\"text\""
        ):
            Corpus([tmp_path / "a.csv", tmp_path / name])
        Corpus(tmp_path / name, input_format="text")
    with pytest.warns(UserWarning, match="is read as plain text") as warned:
        Tokenizer.train_files([tmp_path / "a.csv"], 257)
    assert len(warned) == 1


def test_options_of_reading_name_the_call_that_takes_a_corpus(tmp_path: Path) -> None:
    # Errors recommend these options, but calls that take paths do not have them.
    (tmp_path / "a.jsonl").write_text("{broken\n")
    files, options = [tmp_path / "a.jsonl"], {"skip_bad": True}
    for call, takes in (
        (lambda **more: Tokenizer.train_files(files, 257, **more), "Tokenizer.train"),
        (lambda **more: PretokenCounts.from_files(files, **more), "PretokenCounts.from_texts"),
    ):
        with pytest.raises(CorpusError, match="skip such lines with skip_bad"):
            call()
        message = f"skip_bad is an option of Corpus; pass Corpus(paths, skip_bad=...) to {takes}"
        with pytest.raises(TypeError, match=re.escape(message)):
            call(**options)
    corpus, start = Corpus(files), Tokenizer.train("ab", 257)
    for call in (partial(Tokenizer.train, corpus, 257), partial(start.extend, corpus, n_tokens=1)):
        with pytest.raises(ValueError, match="input_errors belongs to the Corpus; pass it there"):
            call(input_errors="replace")


def test_options_that_no_input_has_a_use_for_are_named(paths: dict[str, Path]) -> None:
    with pytest.warns(
        UserWarning, match="separator is ignored: it applies to plain text only, and no input is plain text"
    ):
        Corpus([paths["a.jsonl"], paths["a.parquet"]], separator="\n")
    with pytest.warns(
        UserWarning, match="text_field is ignored: it applies to records only, and the inputs are plain text"
    ):
        Corpus(paths["a.txt"], text_field="body")
    datasets: Any = pytest.importorskip("datasets")
    with pytest.warns(UserWarning, match="separator and input_format are ignored: they apply to files"):
        Corpus(datasets.Dataset.from_dict({"text": ["a"]}), separator="\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Corpus([paths["a.jsonl"], paths["a.txt"]], separator="\n", text_field="body")


def test_limits(paths: dict[str, Path]) -> None:
    for name in ("a.txt", "a.jsonl", "a.parquet"):
        capped = list(Corpus(paths[name], separator=SEPARATOR, doc_cap=41))
        assert capped == [text.encode()[:41].decode(errors="ignore") for text in DOCUMENTS], name
        some = "".join(Corpus(paths[name], separator=SEPARATOR, max_bytes=1000))
        assert "".join(DOCUMENTS).startswith(some) and 997 <= len(some.encode()) <= 1000, name
        # The cap applies before the limit, so a character that the cap cuts off does not end the corpus.
        for cap, most in itertools.product((1, 2, 3, 41), (1, 2, 3, 40, 41, 500)):
            both = "".join(Corpus(paths[name], separator=SEPARATOR, doc_cap=cap, max_bytes=most))
            text = "".join(document.encode()[:cap].decode(errors="ignore") for document in DOCUMENTS)
            assert both == text.encode()[:most].decode(errors="ignore"), (name, cap, most)


def test_half_surrogate_pairs_of_json_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "ab \\ud83d cd"}\n{"text": "\\ud83d\\ude42"}\n')
    with pytest.raises(CorpusError, match=r'line 1: .*input_errors="replace"'):
        list(Corpus(tmp_path / "a.jsonl"))
    assert list(Corpus(tmp_path / "a.jsonl", input_errors="replace")) == ["ab \ufffd cd", "\U0001f642"]


def test_json_is_read_as_python_reads_it(tmp_path: Path) -> None:
    lines = [
        '{"text": "tab\\t, quote \\", slash \\/, \\u00e9, \\ud83d\\ude42, nul \\u0000"}',
        '  {"other": [1, {"text": "no"}, null, true, 1e99, -0.5], "text" : "second", "z": {}}  ',
        '{"text": "first", "text": "last"}',
        '{"te\\u0078t": "escaped key"}',
    ]
    (tmp_path / "a.jsonl").write_text("\r\n".join(lines))
    assert list(Corpus(tmp_path / "a.jsonl")) == [json.loads(line)["text"] for line in lines]


def test_counting_reports_the_bytes_of_the_files(paths: dict[str, Path]) -> None:
    events: list[Any] = []
    PretokenCounts.from_texts(Corpus([paths["a.jsonl.gz"], paths["a.parquet"]]), progress=events.append)
    total = paths["a.jsonl.gz"].stat().st_size + paths["a.parquet"].stat().st_size
    assert events[0] == ("count", 0, total)
    assert events[-1] == ("count", total, total)
    assert [event.done for event in events] == sorted(event.done for event in events)
