"""Calls of every kind with limited address space: a result, MemoryError or a documented error.

A process imports everything, makes the inputs and is never changed after that; each case is a fork of it. The fork
sets RLIMIT_AS to its size plus 0.25 to 80 MB, runs the call, lifts the limit and reports the outcome. A result must
equal that of the same call without a limit. After a MemoryError the objects of the call must still work. Panics,
aborts, other errors and calls that do not return within a minute are failures. RUST_BACKTRACE=1 is set, because a panic
that looks for its backtrace without memory hangs.
"""

import contextlib
import ctypes
import errno
import gc
import hashlib
import io
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow

from tests.soak.harness import Table
from tests.soak.isolation import run_cases

SUMMARY = (
    "calls of every kind while RLIMIT_AS allows 0.25 to 80 MB more than there is; a failure is a panic, an abort,"
    " a hang, an error that is not documented, or another result than without a limit"
)

MEGABYTE = 1 << 20
LIMITS = tuple(
    int(megabytes * MEGABYTE)
    for megabytes in (
        *(0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12),
        *(14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80),
    )
)
"""Bytes that a process may have more than it has."""

QUICK = 40
FULL = 25 * 15

_MAX_SECONDS = 60
_SCALE, _QUICK_SCALE = 20, 2
_OUTCOMES = ("equal", "MemoryError", "documented error", "failed")


class Inputs:
    """The inputs of the calls; made once, in a process without a limit."""

    def __init__(self, folder: Path, scale: int) -> None:
        from pairloom import Tokenizer

        self.folder = folder
        line = "the cat ate théâtre 東京 12345 <|endoftext|> and a quick brown fox, 'tis; it jumps\n"
        other = "".join(f"{number * 7919 % 10007}ab{number % 97} " for number in range(3000))
        self.text = (line * 40 + other) * (14 * scale)
        self.texts = [self.text[begin : begin + 700] for begin in range(0, len(self.text), 700)]
        self.training_text = self.text[: 100_000 * scale]
        self.tokenizer = Tokenizer.train(self.training_text, 600, decode_errors="replace")
        self.ids = Tokenizer.train(self.training_text, 600, decode_errors="replace").encode_to_numpy(self.text)
        self.id_list = self.ids.tolist()
        self.path = folder / "text.txt"
        self.path.write_text(self.text, encoding="utf-8")
        self.training_path = folder / "training.txt"
        self.training_path.write_text(self.training_text, encoding="utf-8")
        from backports import zstd  # type: ignore[import-not-found, unused-ignore]

        self.zstandard = folder / "text.txt.zst"
        self.zstandard.write_bytes(zstd.compress(self.path.read_bytes()))
        self.model, self.column = folder / "model.json", pyarrow.array(self.texts)
        self.tokenizer.save(self.model)


Call = Callable[[Inputs], object]


def _calls() -> dict[str, Call]:
    """Returns the calls by their names in the table. A call returns its result; an endless one never returns."""
    import pairloom
    from pairloom import Corpus, PretokenCounts, Tokenizer

    def output(inputs: Inputs, name: str) -> Path:
        return inputs.folder / f"out-{os.getpid()}" / name

    def tokenized(inputs: Inputs) -> object:
        pairloom.tokenize_files(inputs.tokenizer, inputs.path, output(inputs, "shards"), shard_tokens=500_000)
        return output(inputs, "shards")

    def decoded(inputs: Inputs) -> object:
        stream = inputs.tokenizer.decode_stream()
        return "".join([stream.push(i) for i in inputs.id_list[:200_000]]) + stream.finish()

    def checkpointed(inputs: Inputs) -> object:
        return Tokenizer.train_files(inputs.training_path, 600, checkpoint=output(inputs, "checkpoint")).merges

    return {
        # Training and counting.
        "Tokenizer.train": lambda x: Tokenizer.train(x.training_text, 600).merges,
        "Tokenizer.train_files, checkpoint": checkpointed,
        "PretokenCounts.from_texts": lambda x: len(PretokenCounts.from_texts(x.texts)),
        # Encoding.
        "Tokenizer.encode": lambda x: x.tokenizer.encode(x.text),
        "Tokenizer.encode_batch_to_numpy": lambda x: x.tokenizer.encode_batch_to_numpy(x.texts),
        "Tokenizer.encode_with_offsets": lambda x: x.tokenizer.encode_with_offsets(x.text),
        "Tokenizer.with_normalizer, encode": lambda x: x.tokenizer.with_normalizer("nfd").encode(x.text),
        "Tokenizer.encode_arrow": lambda x: x.tokenizer.encode_arrow(x.column).flatten().to_numpy(),
        "Tokenizer.encode_file": lambda x: x.tokenizer.encode_file(x.path),
        # Decoding.
        "Tokenizer.decode, list": lambda x: x.tokenizer.decode(x.id_list),
        "Tokenizer.decode, endless": lambda x: x.tokenizer.decode(itertools.repeat(97)),
        "Tokenizer.decode_stream": decoded,
        # Files.
        "Tokenizer.load": lambda x: Tokenizer.load(x.model).n_vocab,
        # Corpora and shards.
        "Corpus, .zst": lambda x: sum(map(len, Corpus(x.zstandard))),
        "tokenize_files": tokenized,
    }


def run(count: int, seed: int) -> Table:
    """Runs `count` cases in a separate process; the seed is ignored."""
    table = Table(("call", "limits", *_OUTCOMES))
    command = [sys.executable, "-m", "tests.soak.memory_limits", str(count)]
    environment = {
        **os.environ,
        "RUST_BACKTRACE": "1",
        # Threads of libraries do not survive the fork.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        # Freed memory goes back to the system, so that the limit takes effect at once.
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "MALLOC_TRIM_THRESHOLD_": "65536",
        # Its own pool reserves a gigabyte of address space, which would hide the limit.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        table.failures.append(f"the process of all cases ended with {done.returncode}: {done.stderr[-1000:]}")
        return table
    tallies: dict[str, Counter[str]] = {}
    for name, limit, outcome, detail in json.loads(done.stdout):
        tallies.setdefault(name, Counter())[outcome] += 1
        if outcome == "failed":
            table.failures.append(f"{name} with {limit / MEGABYTE:g} MB of room: {detail}")
    total: Counter[str] = Counter()
    for name, tally in [*sorted(tallies.items()), ("all", total)]:
        table.add(name, sum(tally.values()), *(tally[outcome] for outcome in _OUTCOMES))
        total.update(tally)
    return table


def cases(count: int, names: list[str]) -> list[tuple[str, int]]:
    """Returns (call, extra bytes): all calls at one limit, then at the next; distant limits come first."""
    order = sorted(range(len(LIMITS)), key=lambda number: f"{number:05b}"[::-1])
    all_cases = [(name, LIMITS[number]) for number in order for name in names]
    if count < len(names):
        # All of them would take too long, so use an even share of calls and limits.
        step = next(step for step in range(1, len(all_cases)) if len(all_cases) // step <= count or step > 1000)
        return all_cases[:: step + (step % 2 == 0)][:count]
    return all_cases[:count]


def _main(count: int) -> list[tuple[str, int, str, str]]:
    """Yields (call, extra bytes, outcome, detail) for each case."""
    names = list(_calls())
    chosen = cases(count, names)
    with tempfile.TemporaryDirectory(prefix="pairloom-limits-") as folder:
        # Whatever is imported late is imported here; with little text, so that no memory is left to use again.
        (Path(folder) / "small").mkdir()
        _warm_up(Path(folder) / "small")
        inputs = Inputs(Path(folder), scale=_SCALE if count > QUICK else _QUICK_SCALE)
        gc.collect()
        gc.freeze()
        with contextlib.suppress(AttributeError):
            # Freed memory would be reused before new memory is requested.
            ctypes.CDLL(None).malloc_trim(0)
        expected: dict[str, tuple[str, str]] = {}
        found = []
        for name, room in chosen:
            if name not in expected and "endless" not in name:
                expected[name] = _in_fork(name, inputs, None)
            outcome, detail = _in_fork(name, inputs, room)
            if outcome == "done":
                outcome = "equal" if (outcome, detail) == expected[name] else "failed"
                detail = "" if outcome == "equal" else f"another result than without a limit: {expected[name]}"
            found.append((name, room, outcome, detail))
        return found


def _warm_up(folder: Path) -> None:
    inputs = Inputs(folder, scale=1)
    for name, call in _calls().items():
        if "endless" not in name:
            with _scratch(folder):
                call(inputs)


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    scratch = folder / f"out-{os.getpid()}"
    scratch.mkdir()
    yield
    shutil.rmtree(scratch)


def _in_fork(name: str, inputs: Inputs, room: int | None) -> tuple[str, str]:
    """("done", digest of the result), ("MemoryError", ""), ("documented error", ...) or ("failed", ...)."""
    call, messages = _calls()[name], inputs.folder / "stderr"
    ((_, outcome),) = run_cases(lambda _: _limited(call, inputs, room, messages), 1, timeout=_MAX_SECONDS)
    for left in inputs.folder.glob("out-*"):
        shutil.rmtree(left, ignore_errors=True)
    found: tuple[str, str] = outcome.result or ("failed", f"{outcome.death}: {messages.read_text()[-300:]}")
    return found


def _limited(call: Call, inputs: Inputs, room: int | None, messages: Path) -> tuple[str, str]:
    file = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 2)
    warnings.simplefilter("ignore")
    (inputs.folder / f"out-{os.getpid()}").mkdir()
    error: BaseException | None = None
    result: object = None
    if room is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + room, most))
    try:
        result = call(inputs)
    except BaseException as raised:
        error = raised
    if room is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if error is None:
        return "done", _digest(result)
    # A failed call must not leave partial state in its objects.
    ids = inputs.tokenizer.encode("the cat ate <|endoftext|>")
    if inputs.tokenizer.decode(ids) != "the cat ate <|endoftext|>":
        return "failed", f"after {error!r} the tokenizer gives other results"
    if isinstance(error, MemoryError):
        return "MemoryError", ""
    if _is_documented(error):
        return "documented error", repr(error)
    import traceback

    text = io.StringIO()
    traceback.print_exception(error, file=text)
    return "failed", text.getvalue()[-700:]


def _is_documented(error: BaseException) -> bool:
    """Returns whether the error means that memory was refused; for threads, files and mappings it is an OSError."""
    return isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN)


def _digest(result: object) -> str:
    digest = hashlib.sha256()
    if isinstance(result, Path):
        files = sorted(path for path in result.rglob("*") if path.is_file()) if result.is_dir() else [result]
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
    elif isinstance(result, tuple):
        digest.update("".join(map(_digest, result)).encode())
    elif isinstance(result, np.ndarray):
        digest.update(result.dtype.str.encode() + result.tobytes())
    else:
        digest.update(repr(result).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    json.dump(_main(int(sys.argv[1])), sys.stdout)
