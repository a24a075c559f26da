"""`pairloom tokenize --provenance`, into a folder or a bucket, and `pairloom drop`, killed at random and run again."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from pairloom import open_shards, verify_shards
from pairloom.cli import main
from pairloom.shards.files import MANIFESTS
from tests.corpus.files import DOCUMENTS
from tests.shards.provenance import TOKENIZER
from tests.shards.reading import documents_of
from tests.shards.store import object_store
from tests.soak.harness import Table

SUMMARY = (
    "tokenize with provenance, into a folder and into a bucket, and drop, killed at a random moment (SIGKILL), up to"
    " three times each, and run again; a failure is a shard that is neither as before nor as after, or another folder"
    " in the end"
)
QUICK = 1
FULL = 200

# Forks of a process that has imported everything: so a kill meets the work, and many of them take minutes.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["tests.soak.__main__", __name__, "pairloom.cli.tokenize", "pairloom.cli.drop", "s3fs", "pyarrow.parquet"]
)

_FORMATS = ("npy", "bin", "parquet", "megatron")


class _Runs(NamedTuple):
    """The folder, the store of a bucket, the documents by id, and the seconds of each command uninterrupted."""

    folder: Path
    bucket: Any
    texts: dict[str, str]
    gone: list[str]
    seconds: list[float]


def run(count: int, seed: int) -> Table:
    """A kill of each command at least for each case."""
    kills = ("kills of tokenize", "kills of drop", "kills at the bucket")
    table = Table(("runs", *kills, "finished and right", "lost, doubled or wrong"))
    n_kills = [0, 0, 0]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pairloom-soak-")))
        # Starting it takes seconds.
        bucket = stack.enter_context(object_store()) if count > QUICK else None
        runs = _prepared(folder, bucket, 1000 if bucket else 400)
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            try:
                _case(runs, _FORMATS[number % len(_FORMATS)], rng, n_kills)
            except Exception as error:
                table.failures.append(f"case {number}: {error!r}"[:500])
            _clear(runs)
    table.add(count, *n_kills, count - len(table.failures), len(table.failures))
    return table


def _prepared(folder: Path, bucket: Any, n_documents: int) -> _Runs:
    rng = random.Random(5)
    texts = {f"d{number}": f"{number} " + " ".join(rng.choices(DOCUMENTS, k=5)) for number in range(n_documents)}
    TOKENIZER.save(folder / "model.json")
    (folder / "in.jsonl").write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items()))
    gone = rng.sample(sorted(texts), n_documents // 20)
    (folder / "ids").write_text("".join(f"{id}\n" for id in gone))
    runs = _Runs(folder, bucket, texts, gone, [])
    # The first time takes longer than any other.
    for _ in range(2):
        runs.seconds.clear()
        for command in _commands(runs, "npy"):
            started = time.perf_counter()
            assert _status(command) == 0
            runs.seconds.append(time.perf_counter() - started)
        _clear(runs)
    return runs


def _clear(runs: _Runs) -> None:
    shutil.rmtree(runs.folder / "out", ignore_errors=True)
    if runs.bucket is not None:
        runs.bucket.invalidate_cache()
        runs.bucket.rm(runs.bucket.find("corpus"))


def _commands(runs: _Runs, format: str) -> list[list[str]]:
    options = ["--input", str(runs.folder / "in.jsonl"), "--format", format, "--shard-tokens", "10000", "--eot"]
    options += ["--provenance", "--id-field", "id", "--resume", "--quiet", "--model", str(runs.folder / "model.json")]
    out = str(runs.folder / "out")
    commands = [["tokenize", *options, "--output", out], ["drop", out, "--ids", str(runs.folder / "ids")]]
    if runs.bucket is not None:
        commands.append(["tokenize", *options, "--output", "s3://corpus/out", "--takeover"])
    return commands


def _case(runs: _Runs, format: str, rng: random.Random, n_kills: list[int]) -> None:
    out = runs.folder / "out"
    for number, command in enumerate(_commands(runs, format)):
        for _ in range(rng.randrange(1, 4) if runs.bucket is None else 3):
            n_kills[number] += _killed(command, rng.uniform(0.1, 0.7) * runs.seconds[number])
            place = _fetched(runs) if number == 2 else out
            if number == 1 or any((place / name).exists() for name in MANIFESTS):
                _check_whole_shards(place, runs)
        assert _status(command) == 0
    (special,) = TOKENIZER.special_tokens.values()
    kept = [text for id, text in runs.texts.items() if id not in runs.gone]
    places = [(out, kept)] if runs.bucket is None else [(out, kept), (_fetched(runs), [*runs.texts.values()])]
    for place, texts in places:
        assert documents_of(place) == [[*ids, special] for ids in TOKENIZER.encode_batch(texts)]
        assert verify_shards(place, deep=True) == []
    shards = open_shards(out)
    assert sum(record["documents"] for record in shards.manifest.dropped) == len(runs.gone)
    for id in rng.sample(sorted(runs.texts), 5):
        assert len(shards.where(id=id)) == (id not in runs.gone)


def _fetched(runs: _Runs) -> Path:
    """A copy of what is in the bucket."""
    place = runs.folder / "fetched"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    runs.bucket.invalidate_cache()
    for path in runs.bucket.find("corpus/out"):
        runs.bucket.get_file(path, str(place / path.rpartition("/")[2]))
    return place


def _check_whole_shards(out: Path, runs: _Runs) -> None:
    """Each shard that the manifest names holds documents of the input, or all of these but the dropped ones."""
    shards = open_shards(out, incomplete=True)
    for number, entry in enumerate(shards.manifest.shards):
        ids = shards.provenance(number).column("id").to_pylist()
        offsets, tokens = shards.offsets(number).tolist(), shards.ids(number).tolist()
        assert len(ids) == entry["documents"] and len(set(ids)) == len(ids)
        n_gone = len(set(ids) & set(runs.gone))
        assert not entry.get("dropped") or not n_gone
        for at in range(0, len(ids), 17):
            assert TOKENIZER.decode(tokens[offsets[at] : offsets[at + 1] - 1]) == runs.texts[ids[at]]


def _killed(command: list[str], seconds: float) -> bool:
    """Runs and kills; whether it was still running."""
    return _status(command, seconds) == -signal.SIGKILL


def _status(command: list[str], seconds: float | None = None) -> int | None:
    """The exit status of a command, which is killed after so many seconds."""
    process = _PROCESSES.Process(target=_run, args=(command,))
    process.start()
    process.join(seconds)
    if seconds is not None:
        process.kill()
    process.join()
    return process.exitcode


def _run(command: list[str]) -> None:
    with Path(os.devnull).open("w") as sys.stdout:
        sys.exit(main(command))
