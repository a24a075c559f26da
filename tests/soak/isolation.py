"""Runs cases in a child process, so that a crash, an abort or a hang is a result and not the end of the run."""

import contextlib
import ctypes
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.soak.harness import Result

MAX_SECONDS = 2.0
MAX_BYTES = 200 << 20
MAX_BYTES_PER_FILE_BYTE = 10

_CLEAR_REFS = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
# Only glibc has it.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one case.

    result: what the case returned, None if its process died. death: how the process died ("signal 6", "no answer after
    60 s"), None if it did not. seconds: processor time of the case. n_bytes: by how much its peak memory was above the
    memory in use before, without pages of files, 0 where the system does not say.
    """

    result: Any
    death: str | None
    seconds: float
    n_bytes: int


def run_cases(
    case: Callable[[int], Any], count: int, *, first: int = 0, timeout: float = 60.0
) -> Iterator[tuple[int, Outcome]]:
    """Runs case(first) to case(count - 1) in a child process and yields the outcome of each.

    A new child replaces a dead one.

    timeout: seconds after which a case without an answer counts as hanging, and its process is killed.
    """
    context = multiprocessing.get_context("fork")
    following = first
    while following < count:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(case, following, count, sender), daemon=True)
        child.start()
        sender.close()
        while following < count:
            try:
                # Second by second, so that at most one second counts while both processes are stopped (SIGSTOP).
                if not any(receiver.poll(1.0) for _ in range(max(1, round(timeout)))):
                    child.kill()
                    child.join()
                    yield following, Outcome(None, f"no answer after {timeout:.0f} s", timeout, 0)
                    following += 1
                    break
                outcome = receiver.recv()
            except EOFError:
                child.join()
                code = child.exitcode or 0
                yield following, Outcome(None, f"signal {-code}" if code < 0 else f"exit status {code}", 0.0, 0)
                following += 1
                break
            yield following, outcome
            following += 1
        receiver.close()
        child.join()


def run_by_kind(
    kinds: tuple[str, ...], count: int, seed: int, case: Callable[[int], tuple[str, int]]
) -> Iterator[Result]:
    """Runs cases of all kinds in turn; a case that takes too much time or memory fails.

    case: returns its outcome, which starts with a column of the table or "FAILED", and the bytes of its file.
    """
    for number, outcome in run_cases(case, count):
        if outcome.result and outcome.seconds > MAX_SECONDS:
            # A busy disk also costs system time, so the faster of two runs counts.
            ((_, second),) = run_cases(case, number + 1, first=number)
            outcome = min(outcome, second, key=lambda each: each.seconds) if second.result else outcome
        what, n_file_bytes = outcome.result or (f"FAILED {outcome.death}", 0)
        if outcome.result and outcome.seconds > MAX_SECONDS:
            what = f"FAILED {outcome.seconds:.1f} s for {n_file_bytes} bytes ({what})"
        elif outcome.result and outcome.n_bytes > max(MAX_BYTES, MAX_BYTES_PER_FILE_BYTE * n_file_bytes):
            what = f"FAILED {outcome.n_bytes >> 20} MB for {n_file_bytes} bytes ({what})"
        largest = {"slowest, s": outcome.seconds, "most memory, MB": outcome.n_bytes / 2**20}
        yield result_of(kinds[number % len(kinds)], what, f"case {number} of seed {seed}", largest)


def result_of(row: str, what: str, case: str, largest: Mapping[str, float] = MappingProxyType({})) -> Result:
    """Returns the result of a case: `what` starts with a column of the table, or is "FAILED" and why."""
    if what.startswith("FAILED"):
        return Result(row, {"cases": 1}, f"{case}: {what}", largest)
    return Result(row, {"cases": 1, what.split(":")[0].split()[0]: 1}, "", largest)


def _child(case: Callable[[int], Any], first: int, count: int, sender: Connection) -> None:
    for number in range(first, count):
        before = reset_peak()
        started = time.process_time()
        result = case(number)
        seconds = time.process_time() - started
        sender.send(Outcome(result, None, seconds, peak_growth(before)))
    sender.close()


class Memory(NamedTuple):
    """Returns bytes in memory: the peak since the last reset, and the file pages now."""

    peak: int
    files: int


def reset_peak() -> Memory:
    """Resets the memory peak of this process to what is in use now, and returns that.

    Returns freed memory to the system first; otherwise a case could use it unnoticed.
    """
    if _TRIM is not None:
        _TRIM(0)
    with contextlib.suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _memory()


def peak_growth(before: Memory) -> int:
    """Returns by how many bytes the peak has risen since `reset_peak` returned `before`, without file pages.

    Such pages are those of libraries above all. A forked process has none of them at first, and the system takes them
    back when it likes, so a case would seem to take what it touches of them: seven megabytes for a run that writes
    shards.
    """
    now = _memory()
    return max(0, now.peak - before.peak - max(0, now.files - before.files))


def _memory() -> Memory:
    try:
        status = _STATUS.read_text()
    except OSError:
        return Memory(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, 0)
    return Memory(*(int(status.partition(name)[2].split()[0]) * 1024 for name in ("VmHWM:", "RssFile:")))
