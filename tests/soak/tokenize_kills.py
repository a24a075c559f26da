"""Runs of `pairloom tokenize` that are killed at a random moment, alone and two on one folder, and then resumed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pairloom import Tokenizer
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import manifest_of
from tests.soak.harness import Table

SUMMARY = (
    "tokenize killed at a random moment (SIGKILL), up to three times in a row; a failure is a shard that the manifest"
    " names and that is not that of an uninterrupted run, or another folder after resuming"
)
QUICK = 2
FULL = 100

_FORMATS = ("npy", "bin", "parquet", "megatron")
_REFUSED = "another run is writing here"


class _Runs(NamedTuple):
    """What all cases share: the model, the corpus, and for each format an uninterrupted run and its seconds."""

    model: Path
    corpus: Path
    whole: dict[str, tuple[dict[str, bytes], float]]


def run(count: int, seed: int) -> Table:
    """Half of the kills hit a run that is alone in its folder, half one of two in the same folder."""
    table = Table(("run", "kills", "resumed and equal", "lost or wrong shards"))
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        folder = Path(name)
        formats = _FORMATS if count > QUICK else _FORMATS[:1]
        runs = _prepared(folder, formats, n_documents=6000 if count > QUICK else 1500)
        cases = (("alone in its folder", _alone), ("two processes on one folder, one killed", _pair))
        for what, case in cases:
            times = count // 2
            failures = []
            for turn in range(times):
                rng = random.Random(f"{seed} {what} {turn}")
                format = formats[turn % len(formats)]
                out = folder / "out"
                failure = case(runs, format, out, rng)
                if failure:
                    failures.append(f"{what}, turn {turn}, {format}: {failure}")
                shutil.rmtree(out, ignore_errors=True)
            table.add(what, times, times - len(failures), len(failures))
            table.failures += failures
    return table


def _prepared(folder: Path, formats: tuple[str, ...], n_documents: int) -> _Runs:
    model, corpus = folder / "model.json", folder / "corpus"
    corpus.mkdir()
    Tokenizer.train(DOCUMENTS, 500).save(model)
    rng = random.Random(5)
    for name in "ab":
        documents = [" ".join(rng.choices(DOCUMENTS, k=20)) for _ in range(n_documents // 2)]
        (corpus / f"{name}.jsonl").write_text(json_lines(documents))
    runs = _Runs(model, corpus, {})
    for format in formats:
        started = time.perf_counter()
        subprocess.run(_command(runs, format, folder / format), check=True, capture_output=True)
        runs.whole[format] = (_contents(folder / format), time.perf_counter() - started)
    return runs


def _alone(runs: _Runs, format: str, out: Path, rng: random.Random) -> str | None:
    for _ in range(rng.randrange(1, 4)):
        with subprocess.Popen(_command(runs, format, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            time.sleep(rng.uniform(0.1, 1.0) * runs.whole[format][1])
            one.send_signal(signal.SIGKILL)
        lost = _lost(runs, format, out)
        if lost:
            return lost
    return _resumed(runs, format, out)


def _pair(runs: _Runs, format: str, out: Path, rng: random.Random) -> str | None:
    """Starts two at about the same time and kills one of them; the other ends well or is refused."""
    seconds = runs.whole[format][1]
    first = subprocess.Popen(_command(runs, format, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(rng.uniform(0, 0.5) * seconds)
    second = subprocess.Popen(_command(runs, format, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(rng.uniform(0, 1.0) * seconds)
    killed, survivor = rng.sample([first, second], 2)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    _, errors = survivor.communicate(timeout=120)
    if survivor.returncode not in (0, 1) or (survivor.returncode == 1 and _REFUSED not in errors):
        return f"the one that was not killed ended with {survivor.returncode}: {errors[-300:]}"
    return _lost(runs, format, out) or _resumed(runs, format, out)


def _lost(runs: _Runs, format: str, out: Path) -> str | None:
    """The first file that the manifest names and that is not as it should be."""
    if not any((out / name).exists() for name in ("manifest.json", "_manifest.parquet")):
        return None
    manifest = manifest_of(out)
    for entry in [*manifest["shards"], *manifest["indexes"]]:
        path = out / entry["file"]
        if not path.exists() or path.read_bytes() != runs.whole[format][0][entry["file"]]:
            return f"{entry['file']} is in the manifest, but lost or wrong"
    return None


def _resumed(runs: _Runs, format: str, out: Path) -> str | None:
    done = subprocess.run(_command(runs, format, out), capture_output=True, text=True, timeout=120)
    if done.returncode:
        return f"resuming ended with {done.returncode}: {done.stderr[-300:]}"
    found, expected = _contents(out), runs.whole[format][0]
    if found != expected:
        return (
            f"another folder: {sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))}"
        )
    return None


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _command(runs: _Runs, format: str, out: Path) -> list[str]:
    options = ["--format", format, "--shard-tokens", "100000", "--eot", "--resume", "--quiet"]
    paths = ["--model", str(runs.model), "--input", str(runs.corpus), "--output", str(out)]
    return [sys.executable, "-m", "pairloom", "tokenize", *paths, *options]
