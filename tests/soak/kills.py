"""Trainings with a checkpoint, `pairloom tokenize` and `pairloom drop`, killed at a random moment and run again.

Two fifths of the kills hit one of two runs in the same folder; the others hit a single run.
"""

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pairloom import Tokenizer, verify_shards
from pairloom.shards.files import MANIFESTS
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import manifest_of
from tests.soak.harness import Table

SUMMARY = (
    "trainings with a checkpoint, tokenize, and drop, killed at a random moment (SIGKILL), up to three times in a row;"
    " a failure is another model or folder in the end, or a shard that the manifest names and that is lost or wrong"
)
QUICK = 5
FULL = 200

_FORMATS = ("npy", "bin", "parquet", "megatron")
_REFUSED = "another run is writing here"


class _Run(NamedTuple):
    """A command on `out`, its last argument: the files and seconds uninterrupted, and the folder that it changes."""

    name: str
    command: list[str]
    whole: dict[str, bytes]
    seconds: float
    before: Path | None = None


def run(count: int, seed: int) -> Table:
    """Runs a fifth of the kills for each program, alone and with another process on its folder."""
    table = Table(("run", "kills", "lost or wrong"))
    is_quick = count <= QUICK
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        folder = Path(name)
        runs = {
            "train": [_training(folder, 400_000 if is_quick else 2_000_000)],
            "tokenize": _tokenizings(folder, _FORMATS[:1] if is_quick else _FORMATS, 1500 if is_quick else 6000),
        }
        runs["drop"] = [_dropping(folder, run) for run in runs["tokenize"]]
        for what, of_program in runs.items():
            for where, case in (("alone in its folder", _alone), ("two on one folder, one killed", _pair)):
                if (what, case) == ("drop", _pair):
                    continue
                failures = []
                for turn in range(count // 5):
                    rng = random.Random(f"{seed} {what} {where} {turn}")
                    each = of_program[turn % len(of_program)]
                    if failure := case(each, folder / "out", rng):
                        failures.append(f"{each.name}, {where}, turn {turn}: {failure}")
                table.add(f"{what}, {where}", count // 5, len(failures))
                table.failures += failures
    return table


def _training(folder: Path, n_words: int) -> _Run:
    """A training with a checkpoint next to its model, on the same few megabytes of text every time."""
    draw = random.Random(5)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 12))) for _ in range(30_000)]
    corpus = folder / "corpus.txt"
    corpus.write_text(" ".join(draw.choices(words, k=n_words)))
    script = (
        "import sys; from pairloom import Tokenizer; out = sys.argv[1];"
        f"Tokenizer.train_files([{str(corpus)!r}], 6000, checkpoint=out).save(out + '.json', overwrite=True)"
    )
    return _measured("train", [sys.executable, "-W", "ignore", "-c", script], folder / "out")


def _tokenizings(folder: Path, formats: tuple[str, ...], n_documents: int) -> list[_Run]:
    model, corpus = folder / "model.json", folder / "corpus"
    corpus.mkdir()
    Tokenizer.train(DOCUMENTS, 500).save(model)
    rng = random.Random(5)
    for name in "ab":
        documents = [" ".join(rng.choices(DOCUMENTS, k=20)) for _ in range(n_documents // 2)]
        (corpus / f"{name}.jsonl").write_text(json_lines(documents))
    options = ["--shard-tokens", "100000", "--eot", "--resume", "--quiet", "--model", str(model)]
    options += ["--provenance", "--id-field", "id"]
    command = [sys.executable, "-m", "pairloom", "tokenize", *options, "--input", str(corpus)]
    return [_measured(format, [*command, "--format", format, "--output"], folder / "out") for format in formats]


def _dropping(folder: Path, tokenizing: _Run) -> _Run:
    """Removes some documents from each input of a run; their ids are the same in both inputs."""
    before, ids = folder / f"before-{tokenizing.name}", folder / "ids"
    subprocess.run([*tokenizing.command, str(before)], check=True, capture_output=True, timeout=120)
    ids.write_text("".join(f"{id}\n" for id in range(0, 700, 70)))
    command = [sys.executable, "-m", "pairloom", "drop", "--ids", str(ids)]
    return _measured(f"drop, {tokenizing.name}", command, folder / "out", before)


def _measured(name: str, command: list[str], out: Path, before: Path | None = None) -> _Run:
    _prepare(out, before)
    started = time.perf_counter()
    subprocess.run([*command, str(out)], check=True, capture_output=True, timeout=120)
    found = _Run(name, command, _contents(out), time.perf_counter() - started, before)
    _clear(out)
    return found


def _prepare(out: Path, before: Path | None) -> None:
    if before is not None:
        shutil.copytree(before, out)


def _alone(run: _Run, out: Path, rng: random.Random) -> str | None:
    """Kills a run up to three times and runs it again; returns what is wrong then."""
    _prepare(out, run.before)
    for _ in range(rng.randrange(1, 4)):
        with _started(run, out) as process:
            time.sleep(rng.uniform(0.1, 1.0) * run.seconds)
            process.send_signal(signal.SIGKILL)
        if lost := _lost(run, out):
            return lost
    return _ended(run, out)


def _pair(run: _Run, out: Path, rng: random.Random) -> str | None:
    """Starts two runs at about the same time and kills one; the other must succeed or be refused."""
    with _started(run, out) as first:
        time.sleep(rng.uniform(0, 0.5) * run.seconds)
        with _started(run, out) as second:
            time.sleep(rng.uniform(0, 1.0) * run.seconds)
            killed, survivor = rng.sample([first, second], 2)
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
            _, errors = survivor.communicate(timeout=120)
    if survivor.returncode not in (0, 1) or (survivor.returncode == 1 and _REFUSED not in errors):
        return f"the one that was not killed ended with {survivor.returncode}: {errors[-300:]}"
    return _lost(run, out) or _ended(run, out)


def _started(run: _Run, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([*run.command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _lost(run: _Run, out: Path) -> str | None:
    """Returns the first file of a manifest that is neither in its old nor in its new state."""
    if not any((out / name).exists() for name in MANIFESTS):
        return None
    earlier = {} if run.before is None else _contents(run.before)
    manifest = manifest_of(out)
    for entry in [*manifest["shards"], *manifest["indexes"]]:
        # drop first writes its replacements to a hidden folder, then moves them into place.
        path = out / entry["file"]
        path = path if path.exists() else out / path.name
        known = (run.whole[path.name], earlier.get(path.name))
        if not path.exists() or path.read_bytes() not in known:
            return f"{entry['file']} is in the manifest, but lost or wrong"
    return None


def _ended(run: _Run, out: Path) -> str | None:
    """Runs it once more, to its end, and cleans up."""
    done = subprocess.run([*run.command, str(out)], capture_output=True, text=True, timeout=120)
    found = _contents(out)
    damage = verify_shards(out, deep=True) if run.before is not None else []
    _clear(out)
    if done.returncode or damage:
        return f"the last run ended with {done.returncode}: {done.stderr[-300:]} {damage}"
    # The manifest records each call of drop.
    names = {*found, *run.whole} - (set() if run.before is None else {*MANIFESTS})
    wrong = sorted(name for name in names if found.get(name) != run.whole.get(name))
    return f"another result: {wrong}" if wrong else None


def _contents(out: Path) -> dict[str, bytes]:
    """Returns the files of a folder of shards, or the model next to a checkpoint."""
    model = out.with_suffix(".json")
    paths = [model] if model.exists() else [*out.iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def _clear(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.with_suffix(".json").unlink(missing_ok=True)
