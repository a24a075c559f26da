"""Trainings with a checkpoint that are killed at a random moment, alone and two on one folder, and then resumed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pairloom import Tokenizer
from tests.soak.harness import Table

SUMMARY = "trainings with checkpoint= killed at a random moment; resumed, the model equals that of an uninterrupted run"
QUICK = 2
FULL = 100

_VOCAB_SIZE = 6000
_SCRIPT = """
import sys
from pairloom import Tokenizer
corpus, model, checkpoint = sys.argv[1:]
Tokenizer.train_files([corpus], 6000, checkpoint=checkpoint).save(model, overwrite=True)
"""
_REFUSED = "another run is writing here"


def write_corpus(folder: Path, n_words: int) -> Path:
    """A text of some megabytes; the same every time."""
    draw = random.Random(5)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 12))) for _ in range(30_000)]
    file = folder / "corpus.txt"
    file.write_text(" ".join(draw.choices(words, k=n_words)))
    return file


def run(count: int, seed: int) -> Table:
    """Half of the kills hit a training that is alone in its folder, half one of two in the same folder."""
    table = Table(("training", "kills", "wrong models"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = write_corpus(folder, 2_000_000)
        alone = failures_of_kills(corpus, folder, (count + 1) // 2, seed)
        table.add("alone in its folder", (count + 1) // 2, len(alone))
        pairs = failures_of_pairs(corpus, folder, count // 2, seed)
        table.add("two processes on one folder, one killed", count // 2, len(pairs))
    table.failures = alone + pairs
    return table


def failures_of_kills(corpus: Path, folder: Path, times: int, seed: int) -> list[str]:
    """Kills a training, up to three times over, and resumes it; the models that are wrong."""
    expected, duration = _expected(corpus, folder)
    draw = random.Random(seed)
    failures = []
    for turn in range(times):
        checkpoint, model = folder / f"alone{turn}", folder / f"alone{turn}.json"
        command = _command(corpus, model, checkpoint)
        for _ in range(draw.randrange(1, 4)):
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
                time.sleep(draw.uniform(0, duration))
                process.send_signal(signal.SIGKILL)
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120)
        if done.returncode or model.read_bytes() != expected:
            failures.append(f"kill {turn}: status {done.returncode}: {done.stderr[-300:]}")
        shutil.rmtree(checkpoint)
    return failures


def failures_of_pairs(corpus: Path, folder: Path, times: int, seed: int) -> list[str]:
    """Starts two trainings in one folder and kills one; the other must be right or refused, and then a third right."""
    expected, duration = _expected(corpus, folder)
    draw = random.Random(seed)
    failures = []
    for turn in range(times):
        checkpoint = folder / f"pair{turn}"
        models = [folder / f"pair{turn}-{number}.json" for number in range(3)]
        commands = [_command(corpus, model, checkpoint) for model in models]
        first = subprocess.Popen(commands[0], stderr=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0, duration / 2))
        second = subprocess.Popen(commands[1], stderr=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0, duration))
        killed, survivor = draw.sample([first, second], 2)
        killed.send_signal(signal.SIGKILL)
        for process, model in ((killed, None), (survivor, models[0] if survivor is first else models[1])):
            _, errors = process.communicate(timeout=120)
            if model is None:
                continue
            is_right = process.returncode == 0 and model.read_bytes() == expected
            if not is_right and not (process.returncode == 1 and _REFUSED in errors):
                failures.append(f"pair {turn}: status {process.returncode}: {errors[-300:]}")
        third = subprocess.run(commands[2], stderr=subprocess.PIPE, text=True, timeout=120)
        if third.returncode or models[2].read_bytes() != expected:
            failures.append(f"third run of pair {turn}: status {third.returncode}: {third.stderr[-300:]}")
        shutil.rmtree(checkpoint)
    return failures


def _command(corpus: Path, model: Path, checkpoint: Path) -> list[str]:
    return [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(corpus), str(model), str(checkpoint)]


def _expected(corpus: Path, folder: Path) -> tuple[bytes, float]:
    """(the file of the model of an uninterrupted run, seconds that a whole process takes)."""
    model = folder / "expected.json"
    Tokenizer.train_files([corpus], _VOCAB_SIZE).save(model, overwrite=True)
    started = time.perf_counter()
    checkpoint = folder / "expected"
    subprocess.run(_command(corpus, model, checkpoint), check=True, timeout=120)
    shutil.rmtree(checkpoint)
    return model.read_bytes(), time.perf_counter() - started
