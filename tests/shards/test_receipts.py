"""Forged receipts: anything that a task did not write is refused, and nothing is moved or lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import ResumeError, ShardJob, Tokenizer
from pairloom.shards.job import Receipt
from tests.cases import Case, applied, damaged_cases
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number}" for number in range(30)]
IDS = TOKENIZER.encode_batch(TEXTS)


def _through_json(receipt: Receipt) -> dict[str, Any]:
    receipts: dict[str, Any] = json.loads(json.dumps({name: getattr(receipt, name) for name in Receipt.__slots__}))
    return receipts


def _refused(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Returns the error of a commit with a changed receipt; nothing moves, and a correct commit still works."""
    outside = folder / "home"
    outside.mkdir()
    for name in ("shard-00000.npy", "shard-00000.offsets.npy"):
        (outside / name).write_text("of another")
    shards = folder / "a" / "shards"
    with ShardJob(shards, TOKENIZER) as job:
        good = job.task.write([TEXTS], 0)
        bad = change(_through_json(job.task.write([TEXTS], 1)))
        with pytest.raises(ResumeError) as caught:
            job.commit([good, Receipt(**bad)])
        assert not [path for path in shards.iterdir() if not path.name.startswith(".")]
        job.commit([good, job.task.write([TEXTS], 1)])
    assert documents_of(shards) == IDS * 2
    assert sorted(path.read_text() for path in outside.iterdir()) == ["of another"] * 2
    return str(caught.value)


@pytest.mark.parametrize("case", damaged_cases("receipt"), ids=str)
def test_a_receipt_that_no_task_wrote_moves_nothing(tmp_path: Path, case: Case) -> None:
    message = _refused(tmp_path, lambda receipt: applied(case, receipt))
    assert all(part in message for part in case.error.mentions), message


def test_a_receipt_with_files_swapped_or_a_shard_twice_moves_nothing(tmp_path: Path) -> None:
    for name in ("swapped", "twice"):
        (tmp_path / name).mkdir()

        def change(receipt: dict[str, Any], name: str = name) -> dict[str, Any]:
            shards = receipt["shards"]
            if name == "twice":
                return {**receipt, "shards": shards * 2}
            return {**receipt, "shards": [[entry, files[::-1]] for entry, files in shards]}

        assert "receipt 1 is not from a task" in _refused(tmp_path / name, change)


def test_two_tasks_with_one_attempt_are_refused(tmp_path: Path) -> None:
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        receipt = _through_json(job.task.write([TEXTS], 0))
        with pytest.raises(ResumeError, match="two receipts have the same attempt"):
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
