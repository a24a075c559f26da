"""Runs that are killed at each of their changes to the disk, or fail: no shard is lost, and the next run mends it."""

import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pairloom import (
    Corpus,
    CorpusError,
    Tokenizer,
    drop_documents,
    open_shards,
    pack_shards,
    tokenize_files,
    verify_shards,
)
from pairloom.shards.files import MANIFESTS
from pairloom.shards.packed import tokenize_packed
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import contents, documents_of, manifest_of

OLD, NEW = Tokenizer.train(DOCUMENTS, 400), Tokenizer.train(DOCUMENTS, 500)
KILLED = 77

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def killed_at(step: int, run: Callable[[], object]) -> bool:
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


GONE = ["3", "4", "60"]
PROGRAMS: dict[str, Callable[..., object]] = {
    # Into a new folder.
    "resume": lambda source, before, out, **options: tokenize_files(NEW, source, out, resume=True, **options),
    # Over older shards, which stay until the new ones are complete.
    "replace": lambda source, before, out, **options: tokenize_files(NEW, source, out, overwrite=True, **options),
    "pack": lambda source, before, out, format, **_: pack_shards(
        before, out, seq_len=40, format=format, overwrite=True
    ),
    # In a finished folder.
    "drop": lambda source, before, out, **_: drop_documents(out, GONE),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "old_format", "format", "stride"),
    [
        *(("resume", "npy", "npy", 1), ("resume", "npy", "parquet", 3), ("pack", "npy", "npy", 3)),
        *(("replace", "npy", "npy", 1), ("replace", "parquet", "bin", 3), ("replace", "npy", "parquet", 3)),
        *(("drop", "npy", "npy", 1), ("drop", "parquet", "parquet", 3)),
    ],
)
def test_a_kill_at_any_moment_is_mended_by_the_next_run(
    tmp_path: Path, program: str, old_format: str, format: str, stride: int
) -> None:
    source, before, whole, killed = (tmp_path / name for name in ("a.jsonl", "before", "whole", "killed"))
    source.write_text(json_lines(DOCUMENTS))
    options: dict[str, Any] = {"format": format, "shard_tokens": 2000, "provenance": True, "id_field": "id"}
    old_options = {**options, "format": old_format, "shard_tokens": 800}
    tokenize_files(OLD, source, before, **old_options)
    assert len(manifest_of(before)["shards"]) > 2

    def run(out: Path) -> None:
        PROGRAMS[program](source, before, out, **options)

    def prepare(out: Path) -> None:
        if program != "resume":
            shutil.copytree(before, out)

    prepare(whole)
    run(whole)
    old, new = documents_of(before), documents_of(whole)
    is_killed, step, seen = True, 1, []
    while is_killed:
        prepare(killed)
        is_killed = killed_at(step, lambda: run(killed))
        found = None
        if any((killed / name).exists() for name in MANIFESTS):
            found = [ids.tolist() for ids in open_shards(killed, incomplete=True)]
            damage = verify_shards(killed, deep=True)
            assert all("left by a killed run" in message or "has not finished" in message for message in damage), damage
        if program == "resume":
            assert found is None or found == new[: len(found)]
        elif program == "drop":
            assert found is not None and [ids for ids in old if ids in found or ids not in new] == old
        else:
            assert found in (old, new)
        if program == "replace" and found == old:
            # The next run removes the leftovers and finds the folder finished.
            assert tokenize_files(OLD, source, killed, resume=True, **old_options).was_complete
            assert contents(killed) == contents(before)
        else:
            run(killed)
            assert documents_of(killed) == new and verify_shards(killed, deep=True) == []
            if program == "drop":
                # Each call leaves a record.
                assert sum(record["documents"] for record in manifest_of(killed)["dropped"]) == len(GONE)
            else:
                assert contents(killed) == contents(whole)
        seen.append(found == new)
        shutil.rmtree(killed)
        step += stride
    assert seen == sorted(seen) and len(seen) > 24 // stride


@pytest.mark.long
def test_a_training_killed_at_any_moment_learns_the_same(tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "a.txt", tmp_path / "checkpoint"
    source.write_text("\n".join(DOCUMENTS))
    expected = Tokenizer.train_files(source, 300)
    step = 1
    while killed_at(step, lambda: Tokenizer.train_files(source, 300, checkpoint=checkpoint)):
        assert Tokenizer.train_files(source, 300, checkpoint=checkpoint) == expected
        shutil.rmtree(checkpoint)
        step += 1
    assert step > 3


def made(folder: Path, format: str = "npy") -> Path:
    (folder / "a.jsonl").write_text(json_lines(DOCUMENTS))
    tokenize_files(OLD, folder / "a.jsonl", folder / "out", format=format, shard_tokens=800)
    assert len(manifest_of(folder / "out")["shards"]) > 2
    return folder / "out"


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_runs_that_fail_leave_the_old_folder_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    out, rows, bad = made(tmp_path, format), tmp_path / "rows", tmp_path / "bad.jsonl"
    pack_shards(out, rows, seq_len=32)
    before = contents(out), contents(rows)
    bad.write_text(json_lines(DOCUMENTS * 9) + "{broken\n")
    with pytest.raises(CorpusError, match="line 577"):
        tokenize_files(NEW, bad, out, overwrite=True, shard_tokens=300)
    pack = {"seq_len": 8, "seed": None, "shuffle": "document", "rank": 0, "world_size": 1}
    with pytest.raises(CorpusError, match="line 577"):
        tokenize_packed(NEW, Corpus(bad), rows, pack, overwrite=True)
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("pairloom.shards.tokenize_files.publish_shard", full)
    monkeypatch.setattr("pairloom.shards.packed.publish_shard", full)
    with pytest.raises(OSError, match="beside the old run, which is unchanged"):
        tokenize_files(NEW, tmp_path / "a.jsonl", out, overwrite=True)
    with pytest.raises(OSError, match="No space left on device"):
        pack_shards(out, rows, seq_len=64, overwrite=True)
    assert (contents(out), contents(rows)) == before


def test_a_folder_with_a_damaged_manifest_can_be_replaced(tmp_path: Path) -> None:
    out = made(tmp_path)
    for damage in (b"", b"{}", b"\xff"):
        (out / "manifest.json").write_bytes(damage)
        tokenize_files(NEW, tmp_path / "a.jsonl", out, overwrite=True)
        assert documents_of(out) == [NEW.encode(text) for text in DOCUMENTS]
