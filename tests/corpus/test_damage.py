"""Files whose damage shows late: skipped as a whole, or an error. A lack of memory is not damage."""

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from pairloom import Corpus, CorpusError, CountsError, PretokenCounts, Tokenizer, tokenize_files
from pairloom.analysis.stats import corpus_stats
from tests.corpus.files import COMPRESSORS, write_arrow, write_parquet
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(["order costs euros, paid by customer 0123456789 "] * 9, 300)


def orders(n: int) -> list[str]:
    rng = random.Random(n)
    return [
        f"order {at:06} costs {rng.randrange(10**6)} euros, paid by customer {rng.randrange(10**6)}" for at in range(n)
    ]


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_wrong_checksum_fails_before_the_manifest_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 10_000)
    path, out = tmp_path / f"a.txt{suffix}", tmp_path / "out"
    data = bytearray(COMPRESSORS[suffix]("\n".join(orders(3000)).encode()))
    # Damage the checksum, or the data that it covers.
    data[-6 if suffix == ".gz" else len(data) // 2] ^= 1
    path.write_bytes(data)
    options: dict[str, Any] = {"separator": "\n", "shard_tokens": 2000}
    with pytest.raises(CorpusError, match=r"a\.txt.* damaged"):
        tokenize_files(TOKENIZER, path, out, **options)
    if suffix == ".gz":
        # Shards already contain documents of the file, so it can no longer be skipped.
        assert not manifest_of(out)["complete"] and manifest_of(out)["shards"]
        with pytest.raises(CorpusError, match=r"a\.txt\.gz: .*; it cannot be skipped, because \d+ of its documents"):
            tokenize_files(TOKENIZER, path, out, resume=True, skip_bad_files=True, **options)
        assert not manifest_of(out)["complete"]


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_an_empty_compressed_file_is_damage(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match=rf"a\.jsonl\{suffix}: the file is empty, so it is not \w+"):
        list(Corpus(path))
    reading = Corpus(path, skip_bad_files=True).read()
    assert list(reading) == [] and len(reading.skipped_files) == 1


def test_text_named_as_compressed_is_not_called_damaged(tmp_path: Path) -> None:
    """Browsers and curl can decompress a download, and keep its name."""
    (tmp_path / "a.txt.gz").write_text("plain text", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"not readable as gzip: .*; it does not begin as gzip does: .*, rename it$"):
        list(Corpus(tmp_path / "a.txt.gz"))


def write_late_damage(folder: Path) -> list[Path]:
    """Files of each kind whose first half is intact."""
    texts = orders(2000)
    table = pa.table({"text": texts})
    parquet.write_table(table, folder / "group.parquet", row_group_size=500, compression="none", use_dictionary=False)
    data = bytearray((folder / "group.parquet").read_bytes())
    at = data.index(texts[1600].encode()) - 4
    data[at : at + 4] = b"\xff\xff\xff\x7f"  # the length of a text
    (folder / "group.parquet").write_bytes(data)
    parquet.write_table(
        table, folder / "page.parquet", row_group_size=500, compression="none", write_page_checksum=True
    )
    data = bytearray((folder / "page.parquet").read_bytes())
    data[data.index(texts[1600].encode()) + 8] ^= 1
    (folder / "page.parquet").write_bytes(data)
    write_arrow(folder / "batch.arrow", table, stream=True, rows=100)
    os.truncate(folder / "batch.arrow", (folder / "batch.arrow").stat().st_size * 3 // 4)
    record = "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: {}\r\n\r\n{}\r\n\r\n"
    (folder / "a.warc").write_text("".join(record.format(len(text), text) for text in texts)[:-50], newline="")
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts) + "{")
    (folder / "a.txt").write_bytes("\n".join(texts).encode() + b"\xff")
    (folder / "one.txt.gz").write_bytes(gzip.compress(" ".join(texts).encode())[:-1])
    return sorted(folder.iterdir())


def test_late_damage_leaves_out_the_whole_file_of_any_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 5000)
    (tmp_path / "in").mkdir()
    paths = write_late_damage(tmp_path / "in")
    good = tmp_path / "good.txt"
    good.write_text("order 5")
    for path in paths:
        options: dict[str, Any] = {"separator": None if path.name == "one.txt.gz" else "\n"}
        with pytest.raises(CorpusError, match=path.name):
            list(Corpus(path, **options))
        corpus = Corpus([path, good], skip_bad_files=True, **options)
        assert list(corpus) == ["order 5"], path.name
        with pytest.warns(UserWarning, match="1 files that could not be read were skipped"):
            assert PretokenCounts.from_texts(corpus) == PretokenCounts.from_texts(["order 5"])
        with pytest.warns(UserWarning, match="1 files"):
            assert corpus_stats(TOKENIZER, corpus).n_documents == 1
        for format in ("npy", "parquet", "bin", "megatron"):
            with pytest.warns(UserWarning, match="1 files"):
                result = tokenize_files(TOKENIZER, corpus, tmp_path / "out", format=format, overwrite=True)
            assert documents_of(tmp_path / "out") == [TOKENIZER.encode("order 5")]
            assert result.n_bytes == 7 and result.n_skipped == 0


def test_records_left_out_count_once_though_files_are_read_twice(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{\n{"text": "b"}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n{\n')[:-1])
    reading = Corpus(sorted(tmp_path.iterdir()), skip_bad=True, skip_bad_files=True).read()
    assert [text for block in reading for text in block.documents.texts()] == ["a", "b"]
    assert reading.n_skipped == len(reading.messages) == len(reading.skipped_files) == 1


def test_what_cannot_be_read_twice_is_copied_first(tmp_path: Path, memory: Any) -> None:
    data = COMPRESSORS[".gz"](b"a\nb\nc")
    memory.pipe({"/damage/bad.txt.gz": data[:-3], "/damage/good.txt.gz": data, "/damage/c.parquet": b"PAR1"})
    corpus = Corpus("memory://damage", separator="\n", skip_bad_files=True)
    assert list(corpus) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="2 files that could not be read were skipped"):
        assert PretokenCounts.from_texts(corpus).n_documents == 3
    for written, expected in ((data, ["a", "b", "c"]), (data[:-3], [])):
        pipe = tmp_path / "p.txt.gz"
        os.mkfifo(pipe)
        if os.fork() == 0:
            pipe.write_bytes(written)
            os._exit(0)
        assert list(Corpus(pipe, separator="\n", skip_bad_files=True)) == expected
        os.wait()
        pipe.unlink()


def test_zeros_after_compressed_data_are_no_damage(tmp_path: Path) -> None:
    for suffix, compress in COMPRESSORS.items():
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(compress(b"one ") + compress(b"two") + bytes(500))
        assert list(Corpus(path)) == ["one two"]
        path.write_bytes(bytes(500))
        with pytest.raises(CorpusError, match="not readable as"):
            list(Corpus(path))


@pytest.mark.parametrize("plain_footer", [False, True])
def test_encrypted_parquet_is_named(tmp_path: Path, plain_footer: bool) -> None:
    encryption: Any = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key: bytes, name: str) -> bytes:
            return key

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return key

    factory, names = encryption.CryptoFactory(lambda _: Keys()), {"a": ["text"]}
    chosen = encryption.EncryptionConfiguration(footer_key="f", column_keys=names, plaintext_footer=plain_footer)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), chosen)
    table = pa.table({"text": ["a"]})
    parquet.write_table(table, tmp_path / "a.parquet", encryption_properties=properties)
    with pytest.raises(CorpusError, match="the file is encrypted: write it without encryption"):
        list(Corpus(tmp_path / "a.parquet"))


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """After a given call, opening Parquet or Arrow fails to allocate this many bytes."""

    def begin(n_bytes: int) -> None:
        def refused(*_: object, **__: object) -> None:
            raise pa.ArrowMemoryError(f"malloc of size {n_bytes} failed")

        monkeypatch.setattr(parquet, "ParquetFile", refused)
        monkeypatch.setattr(pa.ipc, "open_file", refused)

    return begin


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_a_file_that_finds_no_memory_is_not_called_damaged(
    tmp_path: Path, refuse: Callable[[int], None], write: Callable[[Path, list[str]], None], skips: bool
) -> None:
    path = tmp_path / ("a.parquet" if write == write_parquet else "a.arrow")
    write(path, ["ab", "the cat"])
    refuse(4096)
    with pytest.raises(MemoryError, match="malloc"):
        list(Corpus(path, skip_bad_files=skips, skip_bad=skips))


def test_counts_that_find_no_memory_are_not_called_damaged(tmp_path: Path, refuse: Callable[[int], None]) -> None:
    path = tmp_path / "counts.parquet"
    PretokenCounts.from_texts(["ab ab"]).save(path)
    refuse(4096)
    with pytest.raises(MemoryError, match="malloc"):
        PretokenCounts.load(path)
    refuse(1 << 60)
    with pytest.raises(CountsError, match=r"counts\.parquet: .* the file is damaged"):
        PretokenCounts.load(path)
