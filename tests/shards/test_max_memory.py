"""max_memory: the same shards within a bound on memory, or a MemoryError that says what needs more."""

from __future__ import annotations

import bz2
import functools
import gzip
import json
import lzma
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, PretokenCounts, Tokenizer, tokenize_files
from pairloom.cli import main
from pairloom.shards.memory import LEAST_BYTES
from tests.soak.isolation import run_cases

LEAST = {"npy": LEAST_BYTES, "bin": LEAST_BYTES, "megatron": LEAST_BYTES, "parquet": LEAST_BYTES + 80_000_000}
TEXT = "".join(f"the cat {number * 7919 % 10007}ab{number % 97} ate théâtre 東京,\n" for number in range(30_000))


@functools.cache
def _tokenizer(**options: Any) -> Tokenizer:
    return Tokenizer.train(TEXT[:200_000] + "aaaa " * 9000, 500, special_tokens=["<|endoftext|>"], **options)


def _json_lines(texts: list[str]) -> bytes:
    return b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)


def _parts(size: int) -> list[str]:
    return [TEXT[start : start + size] for start in range(0, len(TEXT), size)]


def _warc(texts: list[str]) -> bytes:
    bodies = [text.encode() for text in texts]
    head = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n"
    return b"".join(head % len(body) + body + b"\r\n\r\n" for body in bodies)


def _columns(path: Path, format: str) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"text": ["", *_parts(900), "", "a"]})
    if format == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=500)
        return
    with pyarrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=500)


_FILES: dict[str, Callable[[Path], Any]] = {
    "a.txt": lambda path: path.write_bytes(TEXT.encode()),
    "a.txt.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "a.txt.bz2": lambda path: path.write_bytes(bz2.compress(TEXT.encode())),
    "a.txt.xz": lambda path: path.write_bytes(lzma.compress(TEXT.encode(), preset=0)),
    "letters.txt": lambda path: path.write_bytes(b"a\n" * 1_000_000),
    "a.jsonl": lambda path: path.write_bytes(_json_lines(["", *_parts(700), ""])),
    "long.jsonl": lambda path: path.write_bytes(_json_lines([TEXT[:1_500_000], "a"] * 3)),
    "a.warc": lambda path: path.write_bytes(_warc(_parts(1500))),
    "a.parquet": lambda path: _columns(path, "parquet"),
    "a.arrow": lambda path: _columns(path, "arrow"),
}


def _corpus(path: Path) -> Corpus:
    return Corpus(path, separator="\n" if path.name == "letters.txt" else None)


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", _FILES)
def test_tokenize_files_writes_the_same_bytes_under_any_bound(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    _FILES[name](path)
    format = {"a.jsonl": "megatron", "letters.txt": "megatron", "a.warc": "bin"}.get(name, "npy")
    contents = []
    for bound in (None, LEAST[format], 50_000_000):
        folder = tmp_path / f"shards-{bound}"
        tokenize_files(
            _tokenizer(), _corpus(path), folder, format=format, eot=True, shard_tokens=300_000, max_memory=bound
        )
        contents.append(_content(folder))
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) >= 3


def test_the_least_bound_writes_the_same_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    _FILES["a.jsonl"](path)
    for bound in (None, LEAST["parquet"]):
        tokenize_files(_tokenizer(), path, tmp_path / f"{bound}", format="parquet", max_memory=bound)
    assert _content(tmp_path / "None") == _content(tmp_path / str(LEAST["parquet"]))


def test_a_document_without_cuts_has_the_same_ids_under_a_bound(tmp_path: Path) -> None:
    # A regex of one's own, and a normaliser: a document is held as a whole.
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    tokenizer = _tokenizer(pattern=r"[a-z]+|\s+|[^a-z\s]+")
    for number, changed in enumerate((tokenizer, tokenizer.with_normalizer(["nfkc"]))):
        for bound in (None, 60_000_000):
            tokenize_files(changed, path, tmp_path / f"{number}-{bound}", max_memory=bound)
        assert _content(tmp_path / f"{number}-None") != {}
        ids = [
            content["shard-00000.npy"]
            for content in map(_content, (tmp_path / f"{number}-None", tmp_path / f"{number}-60000000"))
        ]
        assert ids[0] == ids[1]


@pytest.mark.parametrize("format", LEAST)
def test_a_bound_too_low_for_any_corpus_writes_nothing(tmp_path: Path, format: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abc")
    for bound in (0, 1000, LEAST[format] - 1):
        with pytest.raises(MemoryError, match=rf"max_memory={bound} is too low: .* {format} takes {LEAST[format]:,} "):
            tokenize_files(_tokenizer(), path, tmp_path / "shards", format=format, max_memory=bound)
        assert not (tmp_path / "shards").exists()
    for wrong, error in ((-1, ValueError), ("1GB", TypeError), (True, TypeError), (1.5e9, TypeError)):
        with pytest.raises(error, match="max_memory"):
            tokenize_files(_tokenizer(), path, tmp_path / "shards", format=format, max_memory=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"a" * 12_000_000, "a single pretoken, which is merged as a whole"),
        ("a.jsonl", b'{"text": "' + b"ab " * 2_000_000 + b'"}\n', "a line of a file"),
        ("a.warc", _warc(["ab " * 2_000_000]), "record 1 of 6,000,000 bytes"),
    ],
)
def test_a_file_that_needs_more_than_the_bound_is_named(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(MemoryError, match=rf"{name}: .*{said}.*max_memory") as caught:
        tokenize_files(_tokenizer(), path, tmp_path / "shards", max_memory=40_000_000)
    assert "raise" in str(caught.value)
    assert not (tmp_path / "shards").exists()
    # The same with enough of it.
    done = tokenize_files(_tokenizer(), path, tmp_path / "shards", max_memory=200_000_000)
    assert done.n_documents == 1


def test_a_run_is_resumed_under_another_bound(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text(TEXT, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenize_files(_tokenizer(), paths, tmp_path / "whole", shard_tokens=100_000)
    options: dict[str, Any] = {"shard_tokens": 100_000}
    paths[1].write_bytes(TEXT.encode()[:400_000] + b"\xff")
    with pytest.raises(CorpusError, match=r"b\.txt"):
        tokenize_files(_tokenizer(), paths, tmp_path / "shards", **options, max_memory=20_000_000)
    assert any((tmp_path / "shards").glob("shard-*"))
    paths[1].write_text(TEXT, encoding="utf-8")
    for bound in (10**9, None, 30_000_000):
        tokenize_files(_tokenizer(), paths, tmp_path / "shards", **options, resume=True, max_memory=bound)
        shards, whole = _content(tmp_path / "shards"), _content(tmp_path / "whole")
        assert {name for name in shards if shards[name] != whole[name]} <= {"manifest.json"}
        assert shards.keys() == whole.keys()


@pytest.mark.long
def test_peak_memory_stays_within_the_bound(tmp_path: Path) -> None:
    paths = {
        "letters.txt": b"a\n" * 4_000_000,
        "lines.txt": TEXT.encode() * 8,
        "empty.jsonl": b'{"text":""}\n' * 1_000_000,
        "records.jsonl": _json_lines(_parts(700) * 5),
        "lines.txt.gz": gzip.compress(TEXT.encode() * 8, 1),
        "document.txt": b"a" * 12_000_000,
    }
    for name, data in paths.items():
        (tmp_path / name).write_bytes(data)
    cases = [(name, bound) for name in paths for bound in (LEAST_BYTES, 40_000_000)]
    tokenizer = _tokenizer()
    tokenizer.encode(TEXT)

    def case(number: int) -> str:
        name, bound = cases[number]
        separator = "\n" if ".txt" in name and name != "document.txt" else None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                corpus = Corpus(tmp_path / name, separator=separator)
                tokenize_files(tokenizer, corpus, tmp_path / "out", max_memory=bound, threads=2, overwrite=True)
        except MemoryError as error:
            return str(error)
        return "done"

    def n_bytes_again(number: int) -> int:
        [(_, outcome)] = run_cases(lambda _: case(number), 1)
        return outcome.n_bytes

    # All cases first: a case writes where the next one does.
    for number, outcome in list(run_cases(case, len(cases))):
        name, bound = cases[number]
        assert outcome.death is None, (name, bound)
        wanted = "pretoken" if name == "document.txt" else "done"
        assert wanted in outcome.result or "kept" in outcome.result, (name, bound, outcome.result)
        # Pages of files that the system takes back before a case ends count as its memory: then it is measured again.
        # Some systems take them twice in a row.
        n_bytes = outcome.n_bytes
        for _ in range(4):
            n_bytes = min(n_bytes, n_bytes_again(number)) if n_bytes > bound else n_bytes
        assert n_bytes <= bound, (name, bound, n_bytes, outcome)


def test_the_command_line_takes_max_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    _tokenizer().save("model.json")
    arguments = ["tokenize", "--model", "model.json", "--input", "a.txt", "--quiet"]
    assert main([*arguments, "--output", "free"]) == 0
    assert main([*arguments, "--output", "bounded", "--max-memory", "20000000"]) == 0
    assert _content(Path("free")) == _content(Path("bounded"))
    assert main([*arguments, "--output", "none", "--max-memory", "1000"]) == 1
    assert "--max-memory 1000 is too low" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, "--output", "none", "--max-memory", str(10**30)])


def test_what_the_process_holds_by_pyarrow_is_not_counted(tmp_path: Path) -> None:
    import pyarrow

    path = tmp_path / "a.parquet"
    _columns(path, "parquet")
    held = pyarrow.array([TEXT] * 20)
    assert held.nbytes > LEAST_BYTES
    done = tokenize_files(_tokenizer(), path, tmp_path / "shards", max_memory=LEAST_BYTES)
    assert done.n_documents == len(_parts(900)) + 3
    counts = PretokenCounts.from_corpus(Corpus(path), max_memory=LEAST_BYTES)
    assert counts == PretokenCounts.from_corpus(Corpus(path))


@pytest.mark.parametrize("name", ["a.jsonl", "a.warc", "a.arrow"])
def test_counting_a_record_beyond_max_memory_is_a_memory_error(tmp_path: Path, name: str) -> None:
    import pyarrow

    path, text = tmp_path / name, "ab " * 3_000_000
    if name == "a.arrow":
        table = pyarrow.table({"text": [text]})
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_bytes(_json_lines([text]) if name == "a.jsonl" else _warc([text]))
    with pytest.raises(MemoryError, match=rf"{name}: .*max_memory.*; raise"):
        PretokenCounts.from_corpus(Corpus(path), max_memory=20_000_000)
    assert PretokenCounts.from_corpus(Corpus(path), max_memory=200_000_000).n_documents == 1
