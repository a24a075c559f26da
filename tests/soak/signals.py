"""Signals: interrupts every command that can take long, while it waits for a silent pipe or works."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pairloom import Tokenizer
from tests.corpus.files import DOCUMENTS
from tests.soak.harness import Result

SUMMARY = (
    "a command gets SIGINT or SIGTERM; it fails if it is still there after the limit, ends with another status than "
    "130 or 143, prints a traceback in which pairloom has a part, or leaves a part of a shard"
)
QUICK = 8
FULL = 300

# A full run needs an idle machine; the normal tests may share theirs.
_SECONDS, _QUICK_SECONDS = 1.0, 20.0
_TEXT_BYTES = 600 << 20
# When the signal is sent, in seconds: a text of this size is being processed then.
_DELAYS = {"works": (0.3, 0.6), "waits for a pipe": (0.6, 2.5)}


class _Case(NamedTuple):
    state: str
    command: str
    arguments: list[str]
    has_silent_input: bool


def run(count: int, seed: int) -> Iterator[Result]:
    """Interrupts `count` commands."""
    rng = random.Random(seed)
    limit = _SECONDS if count > QUICK else _QUICK_SECONDS
    # A background command of a script ignores SIGINT, and the tested commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as name:
        cases = _cases(Path(name), _TEXT_BYTES if count > QUICK else _TEXT_BYTES // 100)
        for number in range(count):
            case = cases[number % len(cases)] if count > len(cases) else rng.choice(cases)
            which = rng.choice((signal.SIGINT, signal.SIGTERM))
            delay = rng.uniform(*_DELAYS[case.state])
            took, problem = _interrupted(case, which, delay, limit, Path(name))
            counts = {"interrupted": int(took is not None), "over before": int(took is None)}
            failure = f"{which.name} after {delay:.2f} s: {problem}" if problem else ""
            yield Result(f"{case.command}, {case.state}", counts, failure, {"most s": took or 0.0})


def _cases(folder: Path, n_bytes: int) -> list[_Case]:
    model, text, fifo = folder / "model.json", folder / "text.txt", folder / "fifo"
    Tokenizer.train(DOCUMENTS, 400).save(model)
    rng = random.Random(1)
    sentences = [" ".join(rng.choices(DOCUMENTS, k=3)) for _ in range(200)]
    with text.open("w") as file:
        while file.tell() < n_bytes:
            file.write(rng.choice(sentences) + "\n")
    os.mkfifo(fifo)
    out, given = str(folder / "out"), ["--model", str(model)]

    def cases_of(command: str, arguments: list[str]) -> Iterator[_Case]:
        for source in (text, fifo):
            state = "works" if source == text else "waits for a pipe"
            yield _Case(state, command, [*arguments, "--input", str(source)], False)

    shards = ["--shard-tokens", "500000", "--lines", "--force"]
    return [
        *cases_of("train", ["--vocab-size", "2000", "--output", out + ".json", "--force"]),
        *cases_of("count", ["--output", out + ".counts", "--force", "--lines"]),
        *cases_of("tokenize", [*given, "--output", out + ".d", *shards]),
        *cases_of("tokenize", [*given, "--output", out + ".d", *shards, "--format", "parquet"]),
        *cases_of("stats", [*given, "--lines"]),
        *cases_of("encode", given),
        *cases_of("compare", [*given, *given, "--lines"]),
        _Case("waits for a pipe", "decode", given, True),
    ]


def _interrupted(
    case: _Case, which: signal.Signals, delay: float, limit: float, folder: Path
) -> tuple[float | None, str | None]:
    """Returns (seconds from the signal to the end, or None if it had ended before; what was wrong)."""
    # Nobody writes into the FIFO, which stays open.
    silence = os.open(folder / "fifo", os.O_RDWR | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-m", "pairloom", case.command, *case.arguments],
        stdin=subprocess.PIPE if case.has_silent_input else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        time.sleep(delay)
        if process.poll() is not None:
            return None, None
        started = time.perf_counter()
        process.send_signal(which)
        process.wait(limit + 10)
        took = time.perf_counter() - started
        return took, _problem(process.communicate()[1].decode(), process.returncode, which, took, limit, folder)
    except subprocess.TimeoutExpired:
        return limit + 10, "still there"
    finally:
        process.kill()
        process.wait()
        os.close(silence)


def _problem(error: str, status: int, which: signal.Signals, took: float, limit: float, folder: Path) -> str | None:
    if "Traceback" in error:
        # Before the program starts, the interpreter prints its own tracebacks.
        return error if "pairloom" in error.replace("pairloom: ", "") or which == signal.SIGTERM else None
    # It ended by itself at the same moment, or the interpreter had not started the program yet.
    if status in (0, -which):
        return None
    if status != 128 + which:
        return f"exit status {status}: {error}"
    if left := [path.name for path in folder.glob("out.d/.shard*")]:
        return f"left {left}"
    return f"took {took:.2f} s" if took > limit else None
