"""Shared by all peers/with_<library>.py: reads one job from stdin and prints one JSON result.

A job is {"task": name, ...}; "peak_bytes" is added to the result. The script runs in the interpreter that has its
library, so this module imports only the standard library.
"""

from __future__ import annotations

import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Job = dict[str, Any]
Result = dict[str, Any]
Value = TypeVar("Value")

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DOCUMENT_CHARACTERS = 4096


def timed(function: Callable[[], Value]) -> tuple[float, Value]:
    """Returns (seconds, the function's result)."""
    began = time.perf_counter()
    value = function()
    return time.perf_counter() - began, value


def repeated(function: Callable[[], Value], repeats: int) -> tuple[list[float], Value]:
    """Returns (seconds of each call, the last result); each result is dropped before the next call."""
    seconds, value = timed(function)
    times = [seconds]
    for _ in range(repeats - 1):
        del value
        seconds, value = timed(function)
        times.append(seconds)
    return times, value


def repeated_on_processor(function: Callable[[], object], repeats: int) -> list[float]:
    """Returns the processor seconds of each call; each result is dropped before the next call."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        value = function()
        times.append(time.process_time() - began)
        del value
    return times


def peak_bytes() -> int:
    """Returns the peak memory of this process, including mapped file pages.

    Linux's VmHWM covers only this program; ru_maxrss can be inherited from the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def documents(path: str, limit: int | None = None) -> list[str]:
    """Splits the text of a file into documents, at the first line end after every 4096 characters."""
    with open(path, "rb") as file:
        text = file.read(limit if limit is not None else -1).decode(errors="ignore")
    cuts, start = [], 0
    while start < len(text):
        end = text.find("\n", start + DOCUMENT_CHARACTERS) + 1 or len(text)
        cuts.append(text[start:end])
        start = end
    return cuts


def texts_of(job: Job) -> list[str]:
    """Returns the texts of a job: those of a JSON list, otherwise the documents of its corpus."""
    if "texts" in job:
        texts: list[str] = json.loads(Path(job["texts"]).read_text(encoding="utf-8"))
        return texts
    return documents(job["path"], job.get("limit"))


def byte_of_character() -> dict[str, int]:
    """Returns the byte for each character of the GPT-2 alphabet."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + index): b for index, b in enumerate(others)}


def write_tokens(job: Job, tokens: Iterable[bytes]) -> None:
    """If the job asks for the answer, writes the tokens that training made, in order, one per line in hex."""
    if job.get("answer"):
        Path(job["answer"]).write_text("".join(token.hex() + "\n" for token in tokens))


def ids_digest(ids: Any) -> str:
    """sha256 of ids as little-endian uint32; takes lists and arrays."""
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(ids, dtype="<u4").tobytes()).hexdigest()


def documents_digest(lists: Iterable[Any]) -> list[str]:
    """Returns a short digest of each document's ids."""
    return [ids_digest(ids)[:16] for ids in lists]


def counts_digest(items: Iterable[tuple[bytes, int]]) -> str:
    """sha256 of (pretoken, count) in the order of the bytes."""
    digest = hashlib.sha256()
    for pretoken, n in sorted(items):
        digest.update(b"%d %d " % (len(pretoken), n) + pretoken)
    return digest.hexdigest()


def latency(job: Job, encode: Callable[[str], object]) -> Result:
    """Nanoseconds of one call, of the same text and of ever different texts: p50 and p99, less the clock's own time.

    Some clocks go in steps of ten nanoseconds, a fifteenth of what a short text takes, so p50 is the mean of the
    middle half of the calls.
    """
    clock = time.perf_counter_ns
    empty = []
    for _ in range(20_000):
        began = clock()
        empty.append(clock() - began)
    clock_ns = middle(sorted(empty))
    result: Result = {"clock_ns": clock_ns}
    for name, texts in job["texts"].items():
        texts = texts * (job["calls"] // len(texts) + 1)
        for text in texts[:2000]:
            encode(text)
        times = []
        for text in texts[: job["calls"]]:
            began = clock()
            encode(text)
            times.append(clock() - began)
        times.sort()
        result[name] = {
            "p50_ns": middle(times) - clock_ns,
            "p99_ns": times[len(times) * 99 // 100] - clock_ns,
        }
    return result


def middle(times: list[int]) -> float:
    """Returns the mean of the middle half of sorted times."""
    quarter = len(times) // 4
    return statistics.fmean(times[quarter : len(times) - quarter])


_READY_BYTES = 768 << 20
"""At least as much as any library takes for 80 MB of text."""
_WRITE = f"""
import mmap
with mmap.mmap(-1, {_READY_BYTES}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
    memory.madvise(mmap.MADV_HUGEPAGE)
    for at in range(0, {_READY_BYTES}, mmap.PAGESIZE):
        memory[at] = 1
"""


def _ready_memory() -> None:
    """Lets a child process write to memory and end, so that the system has that much memory ready.

    The host of a virtual machine takes memory that has been free for a while; a first call would time how it comes back
    (docs/decisions/benchmarks.md). Private memory in huge pages: what else is freed is not what the next process gets.
    """
    if sys.platform == "linux":
        subprocess.run([sys.executable, "-c", _WRITE], check=True)


def serve(tasks: dict[str, Callable[[Job], Result]]) -> None:
    """Runs the job on stdin."""
    job: Job = json.load(sys.stdin)
    if job.get("ready_memory"):
        _ready_memory()
    result = tasks[job["task"]](job)
    result.setdefault("peak_bytes", peak_bytes())
    print(json.dumps(result))
