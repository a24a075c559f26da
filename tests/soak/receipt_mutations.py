"""Receipts of workers, changed at random on their way through JSON, and committed beside files of others.

Each case has a folder with what two tasks wrote, next to a folder of files that are none of the job's. A few places of
the receipts' JSON are replaced, doubled or removed, and the job commits them.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import FormatError, ResumeError, ShardJob, Tokenizer, open_shards
from pairloom.shards.job import Receipt
from tests.soak.harness import Table

SUMMARY = (
    "mutated receipts, committed; a failure is another error than ResumeError, a file outside of the job's folder that"
    " is changed, moved or made, a folder that is not as before after an error, or ids that no task wrote"
)
QUICK = 150
FULL = 20_000

_TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
_TEXTS = [[f"ab the cat {task} {number}" for number in range(30)] for task in range(2)]
_FORMATS = ("npy", "bin", "megatron", "parquet")


def run(count: int, seed: int) -> Table:
    """Runs `count` cases and tabulates them by format."""
    table = Table(("format", "cases", "committed", "refused", "failed"))
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        top = Path(name)
        outcomes: dict[str, Counter[str]] = {format: Counter() for format in _FORMATS}
        for number in range(count):
            format = _FORMATS[number % len(_FORMATS)]
            outcome = run_case(random.Random(f"{seed} {number}"), format, top)
            outcomes[format][outcome.partition(":")[0]] += 1
            if outcome.startswith("failed"):
                table.failures.append(f"{format}, case {number} of seed {seed}: {outcome}")
    for format, whats in outcomes.items():
        if whats:
            table.add(format, whats.total(), *(whats[what] for what in ("committed", "refused", "failed")))
    return table


def run_case(rng: random.Random, format: str, top: Path) -> str:
    """What became of a case: "committed", "refused: ..." or "failed: ..."."""
    folder, outside = top / "shards", top / "outside"
    shutil.rmtree(folder, ignore_errors=True)
    if not outside.exists():
        outside.mkdir()
        for name in ("shard-00000.npy", "shard-00000.bin", "id_rsa"):
            (outside / name).write_text("of another")
    files, receipts, shards = _written(format)
    job = ShardJob(folder, _TOKENIZER, format=format, shard_tokens=100).__enter__()
    for name, data in files.items():
        path = folder / f".pairloom-job-{job.task.run}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    receipts = copy.deepcopy(receipts)
    for receipt in receipts:
        receipt["run"] = job.task.run
    for _ in range(rng.choice((1, 1, 2, 4))):
        _mutate(rng, receipts)
    before = _state(top, folder)
    try:
        made = [Receipt(**receipt) for receipt in json.loads(json.dumps(receipts))]
    except (TypeError, AttributeError):
        job.abort()
        return "refused: no receipt"
    try:
        job.commit(made)
    except ResumeError as error:
        outcome = f"refused: {error}"
        if _state(top, folder) != before or any(not path.name.startswith(".") for path in folder.iterdir()):
            outcome = f"failed: the tree is not as before ({error})"
        job.abort()
        return outcome
    except BaseException as error:
        job.abort()
        return f"failed: {type(error).__name__}: {error}"
    if _state(top, folder) != before:
        return "failed: files outside of the folder are not as before"
    return _outcome_of_commit(folder, shards)


def _outcome_of_commit(folder: Path, shards: list[list[list[int]]]) -> str:
    """Whether what is read is some of the shards that tasks wrote, each whole and once."""
    try:
        opened = open_shards(folder)
        documents = [document.tolist() for document in opened]
        rows = (
            [row for batch in opened.batches(seq_len=8, batch=1, epochs=1, pad_id=0) for row in batch.tolist()]
            if documents
            else []
        )
    except FormatError:
        # Numbers of tokens or documents that the files do not have.
        return "committed"
    left = list(shards)
    while documents:
        whole = next((shard for shard in left if documents[: len(shard)] == shard), None)
        if whole is None:
            return f"failed: wrong ids: {documents[:3]}"
        left.remove(whole)
        del documents[: len(whole)]
    stream = [i for row in rows for i in row]
    if not set(stream) <= {i for shard in shards for document in shard for i in document} | {0}:
        return "failed: wrong ids in batches"
    return "committed"


def _state(top: Path, folder: Path) -> list[tuple[str, bytes]]:
    """The names and contents of all files but those in the job's folder."""
    others = (path for path in sorted(top.rglob("*")) if path != folder and folder not in path.parents)
    return [(str(path), path.read_bytes() if path.is_file() else b"") for path in others]


@cache
def _written(format: str) -> tuple[dict[str, bytes], list[Any], list[list[list[int]]]]:
    """What two tasks write: the files below the hidden folder, the receipts, the documents of each shard."""
    with tempfile.TemporaryDirectory() as name, ShardJob(name, _TOKENIZER, format=format, shard_tokens=100) as job:
        receipts = [job.task.write([texts], str(task)) for task, texts in enumerate(_TEXTS)]
        hidden = Path(name) / f".pairloom-job-{job.task.run}"
        files = {str(path.relative_to(hidden)): path.read_bytes() for path in hidden.rglob("*") if path.is_file()}
        manifest = job.commit(receipts)
        ends = np.cumsum([shard["documents"] for shard in manifest.shards])
        documents = [document.tolist() for document in open_shards(name)]
        shards = [documents[end - shard["documents"] : end] for end, shard in zip(ends, manifest.shards, strict=True)]
    plain = [{name: getattr(receipt, name) for name in Receipt.__slots__} for receipt in receipts]
    # Inputs, as a task that reads a corpus has them.
    for receipt in plain:
        receipt["inputs"] = [{"path": "a.txt", "bytes": 5, "mtime_ns": None}]
        receipt["skipped_files"] = [[0, "a.txt", 0, "damaged"]]
    return files, json.loads(json.dumps(plain)), shards


_VALUES: tuple[Any, ...] = (
    *(
        "",
        "../../outside",
        "../../outside/id_rsa",
        "/etc/passwd",
        "shard-00000.npy",
        "shard-00001.npy",
        "manifest.json",
    ),
    *("..", ".", "0" * 16, "f" * 64, "a\n\x1b[2J", "\udcff", "é" * 300),
    *(-1, -5, 0, 1, 7, 10**6, 2**62, 2**63, 2**64, 1e3, 1.5, float("nan"), True, None),
    *([], {}, [[]], [[{}, []]], {"file": "../../outside/id_rsa"}, {"<|endoftext|>": 3}),
)


def _mutate(rng: random.Random, receipts: list[Any]) -> None:
    """Changes one place of the receipts."""
    # A walk to some place, which ends early now and then.
    owner: Any = receipts
    key: Any = rng.randrange(len(receipts)) if receipts else None
    while key is not None and isinstance(owner[key], (dict, list)) and owner[key] and rng.random() < 0.9:
        owner = owner[key]
        key = rng.choice(sorted(owner)) if isinstance(owner, dict) else rng.randrange(len(owner))
    if key is None:
        return
    kind = rng.randrange(8)
    if kind == 0:
        del owner[key]
    elif kind == 1 and isinstance(owner, list):
        owner.insert(rng.randrange(len(owner) + 1), copy.deepcopy(owner[key]))
    elif kind == 1:
        owner[rng.choice(("extra", "file", "tokens", ""))] = copy.deepcopy(owner[key])
    elif kind == 2 and isinstance(owner, list):
        rng.shuffle(owner)
    elif kind == 3 and isinstance(owner[key], str) and owner[key]:
        at = rng.randrange(len(owner[key]))
        owner[key] = owner[key][:at] + rng.choice("0fg/.\0\\") + owner[key][at + 1 :]
    elif kind == 3 and isinstance(owner[key], int):
        owner[key] += rng.choice((-1, 1, 2**40, -(2**40)))
    else:
        owner[key] = copy.deepcopy(rng.choice(_VALUES))
