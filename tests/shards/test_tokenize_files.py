"""tokenize_files: the ids equal those of encode for any file, format, number of threads and size."""

import errno
import os
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import (
    Corpus,
    CorpusError,
    PretokenCounts,
    SpecialTokenError,
    Tokenizer,
    _core,
    tokenize_files,
)
from pairloom.shards.manifest import Manifest
from pairloom.shards.writers import npy, parquet
from tests.cases import REFUSED
from tests.corpus.files import DOCUMENTS, SEPARATOR, json_lines, write_all, write_parquet
from tests.shards.reading import contents, documents_of, manifest_of

FORMATS = ["npy", "bin", "parquet", "megatron"]
TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("corpus"))


def expected(eot: bool = False) -> list[list[int]]:
    end = [TOKENIZER.special_tokens["<|endoftext|>"]] if eot else []
    return [TOKENIZER.encode(text) + end for text in DOCUMENTS]


def test_ids_of_a_block_survive_later_blocks() -> None:
    encoder = TOKENIZER.block_encoder(threads=1)
    # Keep only a part of each array; those of every other block are dropped, and their memory is reused.
    held = [(text, encoder.push(_core.Documents.from_texts([text]))[0][1:]) for text in DOCUMENTS * 3][::2]
    for text in DOCUMENTS:
        encoder.push(_core.Documents.from_texts([text]))
    assert all(ids.tolist() == TOKENIZER.encode(text)[1:] for text, ids in held)


def test_a_block_encoder_refuses_blocks_after_an_error() -> None:
    reader = _core.PlainText("f", separator="\n", replace=False)
    encoder = TOKENIZER.block_encoder(specials="error")
    encoder.push(reader.push(b"first ab"))
    with pytest.raises(SpecialTokenError):
        encoder.push(reader.push(b"c <|endoftext|>\nsecond"))
    with pytest.raises(ValueError, match="an earlier call failed"):
        encoder.push(reader.push(b" third\n"))


def test_wide_ids(tmp_path: Path) -> None:
    vocab = {value: bytes([value]) for value in range(256)} | {70000: b"ab"}
    tokenizer = Tokenizer(vocab, [(b"a", b"b")], ["<|end|>"])
    (tmp_path / "a.txt").write_text("ab abc")
    for format, dtype in (("npy", "<u4"), ("bin", "<u4"), ("parquet", "<u4"), ("megatron", "<i4")):
        tokenize_files(tokenizer, tmp_path / "a.txt", tmp_path / format, format=format, eot=True)
        assert documents_of(tmp_path / format) == [[70000, 32, 70000, 99, 70001]]
        assert manifest_of(tmp_path / format)["dtype"] == dtype


def test_empty_documents_and_corpora(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json_lines(["", "a", ""]))
    (tmp_path / "empty.txt").write_text("")
    for format in FORMATS:
        tokenize_files(TOKENIZER, tmp_path / "a.jsonl", tmp_path / format, format=format, shard_tokens=1)
        assert documents_of(tmp_path / format) == [[], TOKENIZER.encode("a"), []]
        none = tmp_path / f"{format}-none"
        tokenize_files(TOKENIZER, tmp_path / "empty.txt", none, format=format)
        assert documents_of(none) == [] and manifest_of(none)["complete"]


def test_failures_leave_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json_lines(DOCUMENTS) + "{broken\n")
    out = tmp_path / "out"
    with pytest.raises(CorpusError, match="line 65"):
        tokenize_files(TOKENIZER, tmp_path / "a.jsonl", out)
    assert not out.exists()
    out.mkdir()
    with pytest.raises(CorpusError, match="line 65"):
        tokenize_files(TOKENIZER, tmp_path / "a.jsonl", out)
    assert list(out.iterdir()) == []
    write_parquet(tmp_path / "b.parquet", DOCUMENTS, column="body")
    with pytest.raises(CorpusError, match="no column"):
        tokenize_files(TOKENIZER, tmp_path / "b.parquet", out)
    assert list(out.iterdir()) == []
    with pytest.raises(ValueError, match="special token"):
        tokenize_files(Tokenizer.train("a", 256, special_tokens=[]), tmp_path / "a.jsonl", out, eot=True)
    with pytest.raises(TypeError, match="separator"):
        tokenize_files(TOKENIZER, Corpus(tmp_path / "a.jsonl"), out, separator="\n")


@pytest.mark.parametrize(("options", "message"), REFUSED["tokenize_files"])
def test_wrong_options_are_refused_and_nothing_is_written(
    paths: dict[str, Path], tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        tokenize_files(TOKENIZER, paths["a.jsonl"], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("at", ["write", "sync", "manifest"])
def test_a_shard_that_cannot_be_published_does_not_count(
    paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def syncs_third(handle: int) -> bool:
        third = (tmp_path / "out").glob("*shard-00002*")
        return os.fstat(handle).st_ino in {path.stat().st_ino for path in third}

    owner: Any
    is_third: Any
    owner, name, is_third = {
        "write": (npy, "write_all", lambda file, array: "shard-00002" in file.name and array.dtype == "<u2"),
        "sync": (os, "fsync", syncs_third),
        "manifest": (Manifest, "save", lambda manifest, folder: len(manifest.shards) == 3),
    }[at]
    call = getattr(owner, name)

    def full(*arguments: Any) -> Any:
        if is_third(*arguments):
            raise OSError(errno.ENOSPC, "full", "a file")
        return call(*arguments)

    monkeypatch.setattr(owner, name, full)
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 700)
    with pytest.raises(OSError, match="no space left; free space, then resume"):
        tokenize_files(TOKENIZER, paths["a.jsonl"], tmp_path / "out", shard_tokens=200)
    found = documents_of(tmp_path / "out")
    assert found == expected()[: len(found)] != [] and not list((tmp_path / "out").glob(".*partial"))
    monkeypatch.undo()
    tokenize_files(TOKENIZER, paths["a.jsonl"], tmp_path / "out", shard_tokens=200, resume=True)
    tokenize_files(TOKENIZER, paths["a.jsonl"], tmp_path / "whole", shard_tokens=200)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_records_that_were_broken_can_be_skipped_on_resuming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 700)
    path = tmp_path / "a.jsonl"
    path.write_text(json_lines(DOCUMENTS) + "{broken\n" + json_lines(DOCUMENTS))
    with pytest.raises(CorpusError, match="line 65"):
        tokenize_files(TOKENIZER, path, tmp_path / "out", shard_tokens=200)
    assert manifest_of(tmp_path / "out")["shards"]
    for out, resume in (("out", True), ("whole", False)):
        with pytest.warns(UserWarning, match="1 records"):
            tokenize_files(TOKENIZER, path, tmp_path / out, shard_tokens=200, resume=resume, skip_bad=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_parquet_file_is_not_closed_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_TOKENS", 1)
    writer = parquet.Writer([tmp_path / "shard"], np.dtype("<u4"))
    begun, events = threading.Event(), []

    class Slow:
        def write_table(self, table: Any, **options: Any) -> None:
            begun.set()
            time.sleep(0.2)
            events.append("written")

        def close(self) -> None:
            events.append("closed")

    writer._writer = Slow()
    thread = threading.Thread(target=writer.write, args=(np.zeros(2, np.uint32), np.array([2])))
    thread.start()
    assert begun.wait(10)
    writer.abandon()
    thread.join()
    assert events == ["written", "closed"]


def test_parallel_runs_are_kept_apart(tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        yield "a"
        with pytest.raises(FileExistsError, match="another run"):
            tokenize_files(TOKENIZER, Corpus.of_texts(["b"]), tmp_path / "out", resume=True)

    tokenize_files(TOKENIZER, Corpus.of_texts(texts()), tmp_path / "out")
    assert documents_of(tmp_path / "out") == [TOKENIZER.encode("a")]


@pytest.mark.parametrize("format", FORMATS)
def test_the_folder_of_the_shards_is_not_their_corpus(tmp_path: Path, format: str) -> None:
    (tmp_path / "a.txt").write_text("the cat sat")
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, tmp_path / "a.txt", out, format=format)
    before = contents(out)
    with warnings.catch_warnings():
        # A corpus does not know the suffix of some shard formats.
        warnings.simplefilter("ignore")
        for inputs in (out, [out, out], sorted(out.glob("*.parquet")) or out):
            with pytest.raises(ValueError, match=r"contain only the shards|no file with a suffix of a corpus"):
                tokenize_files(TOKENIZER, inputs, out, format=format, overwrite=True)
    assert contents(out) == before


def write_small(folder: Path, n: int) -> list[Path]:
    """Files with one or two documents, some of them empty."""
    for number in range(n):
        lines = json_lines([f"{number} {text}" for text in DOCUMENTS[: number % 3]]) if number % 7 else "\n"
        (folder / f"{number:04}.jsonl").write_text(lines)
    return sorted(folder.iterdir())


def test_small_files_are_read_some_megabytes_at_a_time(tmp_path: Path) -> None:
    paths = write_small(tmp_path, 500)
    whole = list(Corpus(paths))
    blocks = list(Corpus(paths).read(joined=True))
    assert len(blocks) == 1 and blocks[0].documents.texts() == whole
    assert len(list(Corpus(paths).read())) > 200
    assert PretokenCounts.from_texts(Corpus(paths)) == PretokenCounts.from_texts(whole)


@pytest.mark.parametrize("piece", [60, 1 << 22])
def test_documents_and_tokens_of_each_input_are_in_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", piece)
    for folder in ("many", "kinds"):
        (tmp_path / folder).mkdir()
    inputs = [*write_small(tmp_path / "many", 60), *write_all(tmp_path / "kinds").values()]
    limits: tuple[dict[str, Any], ...] = ({}, {"max_bytes": 40_000, "doc_cap": 100})
    for shard_tokens, some in zip((600, 1 << 30), limits, strict=True):
        out = tmp_path / str(shard_tokens)
        options = {"separator": SEPARATOR, **some}
        tokenize_files(TOKENIZER, Corpus(inputs, **options), out, shard_tokens=shard_tokens, eot=True)
        manifest, ids = manifest_of(out), iter(documents_of(out))
        for path, entry in zip(inputs, manifest["inputs"], strict=True):
            documents = [next(ids) for _ in range(entry["documents"])]
            assert sum(map(len, documents)) == entry["tokens"]
            if "max_bytes" not in options:
                expected = [TOKENIZER.encode(text) for text in Corpus(path, separator=SEPARATOR)]
                assert [document[:-1] for document in documents] == expected
        assert next(ids, None) is None
        for shard in manifest["shards"]:
            assert sum(documents for _, documents, _ in shard["inputs"]) == shard["documents"]
            assert sum(tokens for _, _, tokens in shard["inputs"]) == shard["tokens"]


def test_a_literal_in_many_files_is_named_with_its_document(tmp_path: Path) -> None:
    paths = write_small(tmp_path, 40)
    paths[25].write_text(json_lines(["good", "a <|endoftext|>"]))
    with pytest.raises(SpecialTokenError, match=r"0025\.jsonl: document 1"):
        tokenize_files(TOKENIZER, paths, tmp_path / "out", specials="error")
