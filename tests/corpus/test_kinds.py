"""Files that are not what their names say: every entry point reports their real kind with the same message."""

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, PretokenCounts, Tokenizer, tokenize_files
from pairloom.analysis.stats import corpus_stats
from tests.corpus.files import COMPRESSORS, json_lines, write_arrow, write_parquet

TOKENIZER = Tokenizer.train(["ab ab the cat"] * 3, 262)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 12345\n"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"


def tar_of(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return sink.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return sink.getvalue()


def file_of(write: Callable[[Path], None], folder: Path) -> bytes:
    write(folder / "made")
    return (folder / "made").read_bytes()


def kinds(folder: Path) -> Iterator[tuple[bytes, str]]:
    """Yields (bytes, message about them)."""
    files = {"a.txt": b"plain text\n" * 9, "b.jsonl": json_lines(["a", "b"]).encode()}
    yield tar_of(files), "a tar archive: unpack it"
    yield zip_of(files), "a zip archive"
    yield PDF, "a PDF: extract its text first"
    yield LFS, "a Git LFS pointer, not the data: fetch the data with `git lfs pull`"
    yield gzip.compress(b"text"), "compressed with gzip: .* name it .gz"
    yield bz2.compress(b"text"), "compressed with bzip2: .* name it .bz2"
    yield lzma.compress(b"text"), "compressed with xz: .* name it .xz"
    yield COMPRESSORS[".zst"](b"text"), "compressed with zstd: .* name it .zst"
    yield b"\x04\x22\x4d\x18\x64\x40\xa7\x05\0\0\x80text", "compressed with LZ4, which is not read"
    yield b"\x1f\x9d\x90t\xca\xe0", r"compressed with compress \(\.Z\): decompress it"
    yield b"FEA1\0\0\0\0text", "Feather V1, which is not read: write it as Feather V2"
    yield b"Obj\x01\x04\x14avro.codec\x08null", "Avro, which is not read"
    yield file_of(lambda path: write_parquet(path, ["a"]), folder), "Parquet: name it .parquet"
    yield file_of(lambda path: write_arrow(path, ["a"], stream=False), folder), "Arrow: name it .arrow"


def entries(path: Path, out: Path) -> dict[str, Callable[[], Any]]:
    """Every call that reads a text file."""
    return {
        "list": lambda: list(Corpus(path)),
        "lines": lambda: list(Corpus(path, separator="\n")),
        "replaced": lambda: list(Corpus(path, input_errors="replace")),
        "train_files": lambda: Tokenizer.train_files(path, 257),
        "train_replaced": lambda: Tokenizer.train_files(path, 257, input_errors="replace"),
        "first_seen": lambda: Tokenizer.train_files(path, 257, tie_break="first_seen", special_tokens=[]),
        "from_files": lambda: PretokenCounts.from_files(path),
        "from_corpus": lambda: PretokenCounts.from_texts(Corpus(path)),
        "stats": lambda: corpus_stats(TOKENIZER, Corpus(path)),
        "tokenize": lambda: tokenize_files(TOKENIZER, path, out, overwrite=True),
        "encode_file": lambda: TOKENIZER.encode_file(path),
    }


def test_every_entry_point_names_what_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data, message in kinds(tmp_path):
        path.write_bytes(data)
        for name, call in entries(path, tmp_path / "out").items():
            with pytest.raises(CorpusError, match=rf"a\.txt: the file is {message}"):
                call()
                pytest.fail(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_told_what_it_is_by_encode_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(PDF))
    writer.start()
    with pytest.raises(CorpusError, match="pipe: the file is a PDF"):
        TOKENIZER.encode_file(tmp_path / "pipe")
    writer.join()


@pytest.mark.parametrize("suffix", [".jsonl", ".warc", ".txt.gz", ".jsonl.zst", ".parquet", ".arrow"])
def test_what_is_not_text_is_told_what_it_is_under_any_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    own = {".parquet": "Parquet", ".arrow": "Arrow", ".txt.gz": "gzip", ".jsonl.zst": "zstd"}.get(suffix, "-")
    for data, message in kinds(tmp_path):
        if own not in message:
            path.write_bytes(data)
            with pytest.raises(CorpusError, match=rf"a{suffix}: .*the file is {message}"):
                list(Corpus(path))
            assert list(Corpus(path, skip_bad_files=True)) == []


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_an_archive_that_is_compressed_is_told_to_be_one(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.tar{suffix}"
    for name, text in (("a.txt", b"plain"), ("a.jsonl", json_lines(["a", "b"]).encode())):
        path.write_bytes(COMPRESSORS[suffix](tar_of({name: text})))
        with pytest.raises(CorpusError, match=r"a\.tar.*: the file is a tar archive: unpack it, and pass the folder"):
            tokenize_files(TOKENIZER, path, tmp_path / "out", skip_bad=True)


def test_what_only_begins_like_another_kind_is_text(tmp_path: Path) -> None:
    texts = ["FEA1", "Obj", "PAR1 is a gene", "BZh is no word", "ARROW1 flies", "PK", "%PDF", "ustar"]
    for text in [*texts, "version https://git-lfs.com"]:
        (tmp_path / "a.txt").write_text(text)
        assert list(Corpus(tmp_path / "a.txt")) == [text]
        assert TOKENIZER.decode(TOKENIZER.encode_file(tmp_path / "a.txt")) == text


def test_many_nuls_are_warned_of_by_every_entry_point(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data in ("the cat ate\n" * 99).encode("utf-16-le"), b"\1\0\0\0" * 999:
        path.write_bytes(data)
        for name, call in entries(path, tmp_path / "out").items():
            with pytest.warns(UserWarning, match=r"a\.txt holds many NUL characters: it may be UTF-16 without"):
                call()
            assert name
        (tmp_path / "b.txt.gz").write_bytes(gzip.compress(data))
        with pytest.warns(UserWarning, match=r"b\.txt\.gz holds many NUL"):
            PretokenCounts.from_files(tmp_path / "b.txt.gz")


@pytest.mark.filterwarnings("error")
def test_json_and_warc_that_are_read_as_text_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "part-00000"
    path.write_text(json_lines(["ab ab", "the cat"]))
    (tmp_path / "b.gz").write_bytes(gzip.compress(path.read_bytes()))
    wanted = r"JSON that is read as plain text, .* name it \.jsonl or pass input_format=\"jsonl\""
    for name, call in entries(path, tmp_path / "out").items():
        with nullcontext() if name == "encode_file" else pytest.warns(UserWarning, match=wanted):
            call()
    with pytest.warns(UserWarning, match=r"b\.gz holds JSON"):
        PretokenCounts.from_files(tmp_path / "b.gz")
    # Common Crawl's metadata files.
    (tmp_path / "a.warc.wat").write_bytes(b"WARC/1.0\r\nWARC-Type: metadata\r\n")
    with pytest.warns(UserWarning, match=r'a\.warc\.wat holds WARC .* pass input_format="warc"'):
        PretokenCounts.from_files(tmp_path / "a.warc.wat")
    # An explicit input_format, and text that only starts with a brace.
    (tmp_path / "code").write_text('{\n  "name": 1\n} {"ab"} { x: 1 }')
    PretokenCounts.from_files(tmp_path / "code")
    for given in ("text", "jsonl"):
        PretokenCounts.from_texts(Corpus(path, input_format=given))


@pytest.mark.parametrize("separator", ["\n", "\n\n"])
@pytest.mark.filterwarnings("error")
def test_lines_of_windows_cut_at_lf_alone_are_warned_of(tmp_path: Path, separator: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\r\ntwo\r\n")
    with pytest.warns(UserWarning, match=r'a\.txt holds lines that end with CR LF, .* pass separator="(\\r\\n)+"'):
        list(Corpus(tmp_path / "a.txt", separator=separator))
    assert list(Corpus(tmp_path / "a.txt", separator="\r\n")) == ["one", "two"]
    list(Corpus(tmp_path / "a.txt"))


@pytest.mark.filterwarnings("error")
def test_nuls_that_separate_documents_cause_no_warning(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab\0c\0d\0" * 500)
    assert PretokenCounts.from_texts(Corpus(tmp_path / "a.txt", separator="\0")).n_documents == 1500
    (tmp_path / "a.txt").write_bytes(b"a text with a NUL \0 now and then " * 500)
    PretokenCounts.from_files(tmp_path / "a.txt")


@pytest.mark.parametrize("value", [{"text": "a", "b": [1, 2]}, [{"text": "a"}, {"text": "b"}]])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
def test_json_over_several_lines_is_told_to_be_that(tmp_path: Path, value: Any, begin: str) -> None:
    (tmp_path / "a.json").write_text(begin + json.dumps(value, indent=2))
    with pytest.raises(
        CorpusError, match=r"a\.json: line \d: the file is a single JSON value that spans several lines.*jq -c"
    ):
        list(Corpus(tmp_path / "a.json"))


@pytest.mark.filterwarnings("error")
def test_a_folder_that_datasets_saved_is_read(tmp_path: Path) -> None:
    datasets: Any = pytest.importorskip("datasets")
    texts = ["one", "two", "three"]
    made = datasets.Dataset.from_dict({"text": texts})
    made.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"test": made, "train": made}).save_to_disk(str(tmp_path / "both"))
    (tmp_path / "one" / "cache-0123456789abcdef.arrow").write_bytes(
        next((tmp_path / "one").glob("data-*.arrow")).read_bytes()
    )
    assert list(Corpus(tmp_path / "one")) == texts
    assert list(Corpus(str(tmp_path / "one" / "*"))) == texts
    assert list(Corpus(tmp_path / "both")) == texts * 2
    # Among other files, the name means nothing.
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "state.json").write_text(json_lines(["a"]))
    assert list(Corpus(tmp_path / "own")) == ["a"]
    with pytest.raises(CorpusError, match="a single JSON value that spans several lines"):
        list(Corpus(tmp_path / "one" / "state.json"))


def test_empty_files_are_warned_of(tmp_path: Path) -> None:
    for name in ("a.txt", "b.jsonl", "c.txt"):
        (tmp_path / name).write_text("")
    with pytest.warns(UserWarning, match=r"a\.txt and 2 more: empty, so without documents"):
        assert list(Corpus(tmp_path)) == []
    with pytest.warns(UserWarning, match=r"a\.txt: empty, so without documents"):
        Tokenizer.train_files(tmp_path / "a.txt", 257)
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(CorpusError, match=rf"{name}: not readable as .*; the file is empty"):
            list(Corpus(tmp_path / name))
