"""A run that replaces another: whenever it is interrupted, the complete old folder or the complete new one remains."""

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, Tokenizer, open_shards, pack_shards, tokenize_files, verify_shards
from pairloom.shards.packed import tokenize_packed
from pairloom.shards.publishing import Publisher
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import contents, documents_of, manifest_of

OLD, NEW = Tokenizer.train(DOCUMENTS, 400), Tokenizer.train(DOCUMENTS, 500)
KILLED = 77

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


def killed_at(step: int, run: Any) -> bool:
    """Runs in a child process that dies at its `step`-th file system change; returns whether it got that far."""
    child = os.fork()
    if child == 0:
        done = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal done
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
                done += 1
                if done == step:
                    os._exit(KILLED)

        sys.addaudithook(hook)
        try:
            run()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED)
    return status == KILLED


@pytest.mark.parametrize(
    ("old_format", "format", "stride"), [("npy", "npy", 1), ("parquet", "bin", 3), ("npy", "parquet", 3)]
)
@pytest.mark.long
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_folder(
    tmp_path: Path, old_format: str, format: str, stride: int
) -> None:
    out, killed = made(tmp_path, old_format), tmp_path / "killed"
    options: dict[str, Any] = {"format": format, "shard_tokens": 2500}
    tokenize_files(NEW, tmp_path / "a.jsonl", tmp_path / "new", **options)
    documents = {"old": documents_of(out), "new": documents_of(tmp_path / "new")}
    whole = {"old": contents(out), "new": contents(tmp_path / "new")}
    seen: list[str] = []
    is_killed, step = True, 1
    while is_killed:
        shutil.copytree(out, killed)
        is_killed = killed_at(
            step, lambda: tokenize_files(NEW, tmp_path / "a.jsonl", killed, overwrite=True, **options)
        )
        found = [ids.tolist() for ids in open_shards(killed)]
        (now,) = [name for name, expected in documents.items() if found == expected]
        assert all("left by a killed run" in message for message in verify_shards(killed, deep=True))
        # The next run removes the leftovers and finds the folder finished.
        model, known = (OLD, {"format": old_format, "shard_tokens": 800}) if now == "old" else (NEW, options)
        assert tokenize_files(model, tmp_path / "a.jsonl", killed, resume=True, **known).was_complete
        assert contents(killed) == whole[now]
        seen.append(now)
        shutil.rmtree(killed)
        step += stride
    assert seen == sorted(seen, reverse=True) and seen[0] == "old" and seen.count("new") > 12 // stride


def test_a_folder_with_a_damaged_manifest_can_be_replaced(tmp_path: Path) -> None:
    out = made(tmp_path)
    for damage in (b"", b"{}", b"\xff"):
        (out / "manifest.json").write_bytes(damage)
        tokenize_files(NEW, tmp_path / "a.jsonl", out, overwrite=True)
        assert documents_of(out) == [NEW.encode(text) for text in DOCUMENTS]
