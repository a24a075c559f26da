"""A run that replaces another and fails: the complete old folder remains. test_kills.py kills such runs."""

import errno
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, Tokenizer, pack_shards, tokenize_files
from pairloom.shards.packed import tokenize_packed
from pairloom.shards.publishing import Publisher
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import contents, documents_of, manifest_of

OLD, NEW = Tokenizer.train(DOCUMENTS, 400), Tokenizer.train(DOCUMENTS, 500)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def made(folder: Path, format: str = "npy") -> Path:
    (folder / "a.jsonl").write_text(json_lines(DOCUMENTS))
    tokenize_files(OLD, folder / "a.jsonl", folder / "out", format=format, shard_tokens=800)
    assert len(manifest_of(folder / "out")["shards"]) > 2
    return folder / "out"


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_an_input_that_cannot_be_read_leaves_the_old_folder(tmp_path: Path, format: str) -> None:
    out = made(tmp_path, format)
    before = contents(out)
    (tmp_path / "bad.jsonl").write_text(json_lines(DOCUMENTS * 9) + "{broken\n")
    with pytest.raises(CorpusError, match="line 577"):
        tokenize_files(NEW, tmp_path / "bad.jsonl", out, overwrite=True, shard_tokens=300)
    assert contents(out) == before


def test_a_full_disk_leaves_the_old_folder_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = made(tmp_path)
    before = contents(out)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "publish", full)
        with pytest.raises(
            OSError, match="no space left for a new run while the old one exists; the old one is unchanged"
        ):
            tokenize_files(NEW, tmp_path / "a.jsonl", out, overwrite=True)
    assert contents(out) == before


def test_rows_that_cannot_be_packed_leave_the_old_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = made(tmp_path)
    pack_shards(out, tmp_path / "rows", seq_len=32)
    before = contents(tmp_path / "rows")
    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr(Publisher, "publish", lambda *_: 1 / 0)
        pack_shards(out, tmp_path / "rows", seq_len=64, overwrite=True)
    assert contents(tmp_path / "rows") == before
    (tmp_path / "bad.jsonl").write_text("{broken\n")
    pack = {"seq_len": 8, "seed": None, "shuffle": "document", "rank": 0, "world_size": 1}
    with pytest.raises(CorpusError):
        tokenize_packed(NEW, Corpus(tmp_path / "bad.jsonl"), tmp_path / "rows", pack, overwrite=True)
    assert contents(tmp_path / "rows") == before


def test_a_folder_with_a_damaged_manifest_can_be_replaced(tmp_path: Path) -> None:
    out = made(tmp_path)
    for damage in (b"", b"{}", b"\xff"):
        (out / "manifest.json").write_bytes(damage)
        tokenize_files(NEW, tmp_path / "a.jsonl", out, overwrite=True)
        assert documents_of(out) == [NEW.encode(text) for text in DOCUMENTS]
