"""Two trainings with a checkpoint, or two runs of `pairloom tokenize`, on one folder: one of them is killed.

Both start at about the same time. The other must succeed or be refused, and a last run must end with the model or the
folder of a run that nothing disturbed. `tests/shards/test_kills.py` kills single runs, at each change to the disk.
"""

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pairloom import Tokenizer
from tests.corpus.files import DOCUMENTS, json_lines
from tests.soak.harness import Result

SUMMARY = (
    "two trainings with a checkpoint, or two of tokenize, on one folder, one of them killed at a random moment;"
    " a failure is another model or folder in the end, or an error other than that another run is writing there"
)
QUICK = 2
FULL = 200

_FORMATS = ("npy", "bin", "parquet", "megatron")
_REFUSED = "another run is writing here"


class _Run(NamedTuple):
    """A command on `out`, its last argument, and its files and seconds uninterrupted."""

    name: str
    command: list[str]
    whole: dict[str, bytes]
    seconds: float


def run(count: int, seed: int) -> Iterator[Result]:
    """Kills in turn a training and a tokenization of each format."""
    is_quick = count <= QUICK
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        folder = Path(name)
        runs = [_training(folder, 400_000 if is_quick else 2_000_000)]
        runs += _tokenizings(folder, _FORMATS[:1] if is_quick else _FORMATS, 1500 if is_quick else 6000)
        for number in range(count):
            each, rng = runs[number % len(runs)], random.Random(f"{seed} {number}")
            failure = _pair(each, folder / "out", rng) or _ended(each, folder / "out")
            yield Result(each.name, {"kills": 1}, failure and f"case {number} of seed {seed}: {failure}")


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
    return [
        _measured(f"tokenize, {format}", [*command, "--format", format, "--output"], folder / "out")
        for format in formats
    ]


def _measured(name: str, command: list[str], out: Path) -> _Run:
    started = time.perf_counter()
    subprocess.run([*command, str(out)], check=True, capture_output=True, timeout=120)
    found = _Run(name, command, _contents(out), time.perf_counter() - started)
    _clear(out)
    return found


def _pair(run: _Run, out: Path, rng: random.Random) -> str:
    """Starts two runs at about the same time and kills one; returns what is wrong with the other's end."""
    with _started(run, out) as first:
        time.sleep(rng.uniform(0, 0.5) * run.seconds)
        with _started(run, out) as second:
            time.sleep(rng.uniform(0, 1.0) * run.seconds)
            killed, survivor = rng.sample([first, second], 2)
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
            _, errors = survivor.communicate(timeout=120)
    if survivor.returncode == 0 or (survivor.returncode == 1 and _REFUSED in errors):
        return ""
    return f"the one that was not killed ended with {survivor.returncode}: {errors[-300:]}"


def _started(run: _Run, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([*run.command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _ended(run: _Run, out: Path) -> str:
    """Runs it once more, to its end, and cleans up."""
    done = subprocess.run([*run.command, str(out)], capture_output=True, text=True, timeout=120)
    found = _contents(out)
    _clear(out)
    if done.returncode:
        return f"the last run ended with {done.returncode}: {done.stderr[-300:]}"
    wrong = sorted(name for name in {*found, *run.whole} if found.get(name) != run.whole.get(name))
    return f"another result: {wrong}" if wrong else ""


def _contents(out: Path) -> dict[str, bytes]:
    """Returns the files of a folder of shards, or the model next to a checkpoint."""
    model = out.with_suffix(".json")
    paths = [model] if model.exists() else [*out.iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def _clear(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.with_suffix(".json").unlink(missing_ok=True)
