"""Receipts from hostile hands: what a task did not write is refused, and nothing is moved or lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import ResumeError, ShardJob, Tokenizer
from pairloom.shards.job import Receipt
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number}" for number in range(30)]
IDS = TOKENIZER.encode_batch(TEXTS)


def _through_json(receipt: Receipt) -> dict[str, Any]:
    receipts: dict[str, Any] = json.loads(json.dumps({name: getattr(receipt, name) for name in Receipt.__slots__}))
    return receipts


def _entry(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda receipt: receipt["shards"][0][0].update(changes)


def _file(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda receipt: receipt["shards"][0][1][0].update(changes)


def _field(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda receipt: receipt.update(changes)


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "attempt outside": _field(attempt="../../home"),
    "attempt absolute": _field(attempt="/etc"),
    "attempt of this folder": _field(attempt="."),
    "attempt in capitals": _field(attempt="0123456789ABCDEF"),
    "attempt with newline": _field(attempt="0123456789abcdef\n"),
    "attempt no text": _field(attempt=7),
    "attempt of nobody": _field(attempt="0" * 16),
    "file outside": _file(file="../../../home/shard-00000.npy"),
    "file absolute": _file(file="/etc/passwd"),
    "file hidden": _file(file=".shard-00000.npy.partial"),
    "file of other number": _file(file="shard-00001.npy"),
    "file of other format": _file(file="shard-00000.bin"),
    "file no text": _file(file=["shard-00000.npy"]),
    "digest short": _file(sha256="abc"),
    "digest no hex": _file(sha256="g" * 64),
    "size negative": _file(size=-1),
    "size missing": lambda receipt: receipt["shards"][0][1][0].pop("size"),
    "size of another file": _file(size=7),
    "digest missing": lambda receipt: receipt["shards"][0][1][0].pop("sha256"),
    "digest no text": _file(sha256=7),
    "files missing": lambda receipt: receipt["shards"][0][1].pop(),
    "files swapped": lambda receipt: receipt["shards"][0][1].reverse(),
    "shard twice": lambda receipt: receipt["shards"].append(receipt["shards"][0]),
    "shard no pair": _field(shards=[[]]),
    "shards no list": _field(shards=7),
    "tokens negative": _entry(tokens=-5),
    "tokens true": _entry(tokens=True),
    "tokens fraction": _entry(tokens=1.0),
    "tokens huge": _entry(tokens=2**63),
    "documents missing": lambda receipt: receipt["shards"][0][0].pop("documents"),
    "bytes text": _entry(bytes="5"),
    "entry with a file": _entry(file="/etc/passwd"),
    "literals negative": _entry(special_literals={"<|endoftext|>": -1}),
    "literals no dict": _entry(special_literals=[["<|endoftext|>", 1]]),
    "skipped negative": _field(n_skipped=-1),
    "skipped fraction": _field(n_skipped=0.5),
    "input no path": _field(inputs=[{"path": 7, "bytes": 1, "mtime_ns": None}]),
    "input negative": _field(inputs=[{"path": "a", "bytes": -1, "mtime_ns": None}]),
    "input no dict": _field(inputs=["a"]),
    "skipped file of no input": _field(skipped_files=[[0, "a", 0, "damaged"]]),
    "skipped file cut": _field(inputs=[{"path": "a", "bytes": 1, "mtime_ns": None}], skipped_files=[[0, "a"]]),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_receipt_that_no_task_wrote_moves_nothing(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    outside = tmp_path / "home"
    outside.mkdir()
    for name in ("shard-00000.npy", "shard-00000.offsets.npy"):
        (outside / name).write_text("of another")
    with ShardJob(tmp_path / "a" / "shards", TOKENIZER) as job:
        good = job.task.write([TEXTS], 0)
        bad = _through_json(job.task.write([TEXTS], 1))
        change(bad)
        with pytest.raises(
            ResumeError, match=r"receipt 1 was not written by a task|is (lost|not whole); run task '1' again"
        ):
            job.commit([good, Receipt(**bad)])
        # Nothing has its name, and the job can go on.
        assert not [path for path in (tmp_path / "a" / "shards").iterdir() if not path.name.startswith(".")]
        job.commit([good, job.task.write([TEXTS], 1)])
    assert documents_of(tmp_path / "a" / "shards") == IDS * 2
    assert sorted(path.read_text() for path in outside.iterdir()) == ["of another"] * 2


def test_receipts_that_went_through_json_are_committed(tmp_path: Path) -> None:
    with ShardJob(tmp_path / "shards", TOKENIZER, shard_tokens=50) as job:
        job.commit([Receipt(**_through_json(job.task.write([TEXTS[at : at + 10]], at))) for at in (0, 10, 20)])
    assert documents_of(tmp_path / "shards") == IDS


def test_two_tasks_with_one_attempt_are_refused(tmp_path: Path) -> None:
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        receipt = _through_json(job.task.write([TEXTS], 0))
        with pytest.raises(ResumeError, match="two tasks have one attempt"):
            job.commit([Receipt(**receipt), Receipt(**receipt | {"task": "1"})])
        job.commit([Receipt(**receipt), Receipt(**receipt)])
    assert documents_of(tmp_path / "shards") == IDS


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_in_the_place_of_an_attempt_is_not_followed(tmp_path: Path, is_folder: bool) -> None:
    outside = tmp_path / "home"
    outside.mkdir()
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        receipt = job.task.write([TEXTS], 0)
        attempt = tmp_path / "shards" / f".pairloom-job-{job.task.run}" / receipt.attempt
        for path in list(attempt.iterdir()):
            path.rename(outside / path.name)
            if not is_folder:
                path.symlink_to(outside / path.name)
        if is_folder:
            attempt.rmdir()
            attempt.symlink_to(outside)
        with pytest.raises(ResumeError, match="is lost"):
            job.commit([receipt])
    assert len(list(outside.iterdir())) == 2
