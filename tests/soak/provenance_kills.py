"""`pairloom tokenize --provenance` and `pairloom drop` that are killed at a random moment, and then run again."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pairloom import open_shards, verify_shards
from tests.corpus.files import DOCUMENTS
from tests.shards.provenance import TOKENIZER
from tests.shards.reading import documents_of
from tests.soak.harness import Table

SUMMARY = (
    "tokenize with provenance, and drop, killed at a random moment (SIGKILL), up to three times each, and run again; a"
    " failure is a shard that is neither as before nor as after, or another folder in the end"
)
QUICK = 1
FULL = 200

_FORMATS = ("npy", "bin", "parquet", "megatron")


class _Runs(NamedTuple):
    """The folder, the documents by id, and the seconds of an uninterrupted tokenize and drop."""

    folder: Path
    texts: dict[str, str]
    gone: list[str]
    seconds: list[float]


def run(count: int, seed: int) -> Table:
    """A kill of each command at least for each case."""
    table = Table(("runs", "kills of tokenize", "kills of drop", "finished and right", "lost, doubled or wrong"))
    n_kills = [0, 0]
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        runs = _prepared(Path(name), 3000 if count > QUICK else 400)
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            try:
                _case(runs, _FORMATS[number % len(_FORMATS)], rng, n_kills)
            except Exception as error:
                table.failures.append(f"case {number}: {error!r}"[:500])
            shutil.rmtree(runs.folder / "out", ignore_errors=True)
    table.add(count, *n_kills, count - len(table.failures), len(table.failures))
    return table


def _prepared(folder: Path, n_documents: int) -> _Runs:
    rng = random.Random(5)
    texts = {f"d{number}": f"{number} " + " ".join(rng.choices(DOCUMENTS, k=5)) for number in range(n_documents)}
    TOKENIZER.save(folder / "model.json")
    (folder / "in.jsonl").write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items()))
    gone = rng.sample(sorted(texts), n_documents // 20)
    (folder / "ids").write_text("".join(f"{id}\n" for id in gone))
    runs = _Runs(folder, texts, gone, [])
    for command in (_tokenize(runs, "npy"), _drop(runs)):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        runs.seconds.append(time.perf_counter() - started)
    shutil.rmtree(folder / "out")
    return runs


def _case(runs: _Runs, format: str, rng: random.Random, n_kills: list[int]) -> None:
    out = runs.folder / "out"
    commands = (_tokenize(runs, format), _drop(runs))
    for number, command in enumerate(commands):
        for _ in range(rng.randrange(1, 4)):
            n_kills[number] += _killed(command, rng.uniform(0.2, 1.0) * runs.seconds[number])
            if number or any((out / name).exists() for name in ("manifest.json", "_manifest.parquet")):
                _check_whole_shards(out, runs)
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-300:]
    (special,) = TOKENIZER.special_tokens.values()
    kept = [text for id, text in runs.texts.items() if id not in runs.gone]
    assert documents_of(out) == [[*ids, special] for ids in TOKENIZER.encode_batch(kept)]
    assert verify_shards(out, deep=True) == []
    shards = open_shards(out)
    assert sum(record["documents"] for record in shards.manifest.dropped) == len(runs.gone)
    for id in rng.sample(sorted(runs.texts), 5):
        assert len(shards.where(id=id)) == (id not in runs.gone)


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
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def _tokenize(runs: _Runs, format: str) -> list[str]:
    paths = [f"--{name}={runs.folder / path}" for name, path in (("model", "model.json"), ("output", "out"))]
    options = ["--input", str(runs.folder / "in.jsonl"), "--format", format, "--shard-tokens", "20000", "--eot"]
    provenance = ["--provenance", "--id-field", "id", "--resume", "--quiet"]
    return [sys.executable, "-m", "pairloom", "tokenize", *paths, *options, *provenance]


def _drop(runs: _Runs) -> list[str]:
    return [sys.executable, "-m", "pairloom", "drop", str(runs.folder / "out"), "--ids", str(runs.folder / "ids")]
