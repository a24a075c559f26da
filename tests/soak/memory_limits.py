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
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow

from pairloom import Corpus, PretokenCounts, Tokenizer, tokenize_files
from tests.corpus.files import COMPRESSORS
from tests.soak.harness import Result
from tests.soak.isolation import run_cases

SUMMARY = (
    "calls of every kind while RLIMIT_AS allows 0.25 to 80 MB more than there is; a failure is a panic, an abort,"
    " a hang, an error that is not documented, or another result than without a limit"
)

MEGABYTE = 1 << 20
_MEGABYTES = (0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80)
LIMITS = tuple(int(megabytes * MEGABYTE) for megabytes in _MEGABYTES)
"""Bytes that a process may have more than it has."""

QUICK = 40
FULL = 25 * 15

_MAX_SECONDS = 60
_SCALE, _QUICK_SCALE = 20, 2


class Inputs:
    """The inputs of the calls; made once, in a process without a limit."""

    def __init__(self, folder: Path, scale: int) -> None:
        self.folder, self.output = folder, folder / "out"
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
        self.zstandard = folder / "text.txt.zst"
        self.zstandard.write_bytes(COMPRESSORS[".zst"](self.path.read_bytes()))
        self.model, self.column = folder / "model.json", pyarrow.array(self.texts)
        self.tokenizer.save(self.model)


Call = Callable[[Inputs], object]


def _calls() -> dict[str, Call]:
    """Returns the calls by their names in the table. A call returns its result; an endless one never returns."""

    def tokenized(inputs: Inputs) -> object:
        tokenize_files(inputs.tokenizer, inputs.path, inputs.output / "shards", shard_tokens=500_000)
        return inputs.output / "shards"

    def decoded(inputs: Inputs) -> object:
        stream = inputs.tokenizer.decode_stream()
        return "".join([stream.push(i) for i in inputs.id_list[:200_000]]) + stream.finish()

    def checkpointed(inputs: Inputs) -> object:
        return Tokenizer.train_files(inputs.training_path, 600, checkpoint=inputs.output / "checkpoint").merges

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


_ENVIRONMENT = {
    "RUST_BACKTRACE": "1",
    # Threads of libraries do not survive the fork.
    "OPENBLAS_NUM_THREADS": "1",
    # Freed memory goes back to the system, so that the limit takes effect at once.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    # Its own pool reserves a gigabyte of address space, which would hide the limit.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` of the cases, in a separate process."""
    spawn = multiprocessing.get_context("spawn")
    with mock.patch.dict(os.environ, _ENVIRONMENT), ProcessPoolExecutor(1, spawn) as process:
        yield from process.submit(_results, count, seed).result()


def _results(count: int, seed: int) -> list[Result]:
    calls = _calls()
    # All calls at the smallest limit, then at the others in random order.
    limits = [LIMITS[0], *random.Random(seed).sample(LIMITS[1:], len(LIMITS) - 1)]
    cases = [(name, limit) for limit in limits for name in calls]
    results = []
    with tempfile.TemporaryDirectory(prefix="pairloom-limits-") as folder:
        # Whatever is imported late is imported here; with little text, so that no memory is left to use again.
        (Path(folder) / "small").mkdir()
        small = Inputs(Path(folder) / "small", scale=1)
        for name, call in calls.items():
            if "endless" not in name:
                with _output_folder(small):
                    call(small)
        inputs = Inputs(Path(folder), scale=_SCALE if count > QUICK else _QUICK_SCALE)
        gc.collect()
        gc.freeze()
        with contextlib.suppress(AttributeError):
            # Freed memory would be reused before new memory is requested.
            ctypes.CDLL(None).malloc_trim(0)
        # An endless call has no result.
        expected = {name: _in_fork(call, inputs, None) for name, call in calls.items() if "endless" not in name}
        for name, room in cases[:count]:
            outcome, detail = _in_fork(calls[name], inputs, room)
            if outcome == "equal" and (outcome, detail) != expected.get(name):
                outcome, detail = "failed", "another result than without a limit"
            failure = f"{room / MEGABYTE:g} MB of room: {detail}" if outcome == "failed" else ""
            results.append(Result(name, {"limits": 1} if failure else {"limits": 1, outcome: 1}, failure))
    return results


@contextlib.contextmanager
def _output_folder(inputs: Inputs) -> Iterator[None]:
    inputs.output.mkdir()
    yield
    shutil.rmtree(inputs.output)


def _in_fork(call: Call, inputs: Inputs, room: int | None) -> tuple[str, str]:
    """Returns ("equal", digest of the result), ("MemoryError", ""), ("documented error", "") or ("failed", why)."""
    messages = inputs.folder / "stderr"
    with _output_folder(inputs):
        ((_, outcome),) = run_cases(lambda _: _limited(call, inputs, room, messages), 1, timeout=_MAX_SECONDS)
    found: tuple[str, str] = outcome.result or ("failed", f"{outcome.death}: {messages.read_text()[-300:]}")
    return found


def _limited(call: Call, inputs: Inputs, room: int | None, messages: Path) -> tuple[str, str]:
    file = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 2)
    warnings.simplefilter("ignore")
    error: BaseException | None = None
    result: object = None
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    if room is not None:
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + room, most))
    try:
        result = call(inputs)
    except BaseException as raised:
        error = raised
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if error is None:
        return "equal", _digest(result)
    # A failed call must not leave partial state in its objects.
    ids = inputs.tokenizer.encode("the cat ate <|endoftext|>")
    if inputs.tokenizer.decode(ids) != "the cat ate <|endoftext|>":
        return "failed", f"after {error!r} the tokenizer gives other results"
    if isinstance(error, MemoryError):
        return "MemoryError", ""
    # For threads, files and mappings, refused memory is an OSError.
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
        return "documented error", ""
    return "failed", "".join(traceback.format_exception(error))[-700:]


def _digest(result: object) -> str:
    if isinstance(result, Path):
        result = {path.name: path.read_bytes() for path in sorted(result.iterdir())}
    elif isinstance(result, np.ndarray):
        result = result.dtype, result.tobytes()
    return hashlib.sha256(repr(result).encode()).hexdigest()
