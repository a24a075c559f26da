"""Runs cases in a child process, so that a crash, an abort or a hang is a result and not the end of the run."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Outcome", "peak_growth", "reset_peak", "run_cases"]

_CLEAR_REFS = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
# glibc's; other allocators have none.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    result: what the case returned, None if its process died. death: how the process died ("signal 6", "no answer after
    60 s"), None if it did not. seconds: processor time of the case. n_bytes: by how much its peak memory was above the
    memory in use before, without pages of files, 0 where the system does not say.
    """

    result: Any
    death: str | None
    seconds: float
    n_bytes: int


def run_cases(case: Callable[[int], Any], count: int, *, timeout: float = 60.0) -> Iterator[tuple[int, Outcome]]:
    """Runs case(0), case(1), ... in a child process and yields what became of each; a new child follows a dead one.

    timeout: seconds after which a case without an answer is taken to hang, and its process is killed.
    """
    context = multiprocessing.get_context("fork")
    following = 0
    while following < count:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(case, following, count, sender), daemon=True)
        child.start()
        sender.close()
        while following < count:
            try:
                # Second by second: while both processes are stopped (SIGSTOP) no more than one of them passes.
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


def _child(case: Callable[[int], Any], first: int, count: int, sender: Connection) -> None:
    for number in range(first, count):
        before = reset_peak()
        started = time.process_time()
        result = case(number)
        seconds = time.process_time() - started
        sender.send(Outcome(result, None, seconds, peak_growth(before)))
    sender.close()


class Memory(NamedTuple):
    """Bytes in memory: the most since the peak was reset, and pages of files now."""

    peak: int
    files: int


def reset_peak() -> Memory:
    """Makes the peak of this process's memory what is in use now, and returns that.

    What the allocator keeps of memory that was freed is given back first: else a case could use it unseen.
    """
    if _TRIM is not None:
        _TRIM(0)
    with contextlib.suppress(OSError):
        _CLEAR_REFS.write_text("5")
    return _memory()


def peak_growth(before: Memory) -> int:
    """By how many bytes the peak has risen since `reset_peak` returned `before`, without pages of files.

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
