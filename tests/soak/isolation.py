"""Runs cases in a child process, so that a crash, an abort or a hang is a result and not the end of the run."""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "peak_growth", "reset_peak", "run_cases"]

_CLEAR_REFS = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_MAPS = Path("/proc/self/maps")
_MADV_POPULATE_READ = 22
_LIBC = ctypes.CDLL(None)
# glibc's; other allocators have none.
_TRIM = getattr(_LIBC, "malloc_trim", None)


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    result: what the case returned, None if its process died. death: how the process died ("signal 6", "no answer after
    60 s"), None if it did not. seconds: processor time of the case. n_bytes: by how much its peak memory was above the
    memory in use before, 0 where the system does not say.
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
    _map_libraries()
    for number in range(first, count):
        before = reset_peak()
        started = time.process_time()
        result = case(number)
        seconds = time.process_time() - started
        sender.send(Outcome(result, None, seconds, peak_growth(before)))
    sender.close()


def _map_libraries() -> None:
    """Maps what is loaded of libraries into this process, where the system can: Linux since 5.14.

    A forked process has none of these pages, and the case that comes first would seem to take what it touches of them:
    seven megabytes for a run that writes shards.
    """
    try:
        lines = _MAPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        range_, permissions, _, _, _, *path = line.split(maxsplit=5)
        if permissions.startswith("r") and ".so" in "".join(path):
            start, end = (int(address, 16) for address in range_.split("-"))
            _LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_POPULATE_READ)


def reset_peak() -> int:
    """Makes the peak of this process's memory what is in use now, and returns that in bytes.

    What the allocator keeps of memory that was freed is given back first: else a case could use it unseen.
    """
    if _TRIM is not None:
        _TRIM(0)
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _peak()


def peak_growth(before: int) -> int:
    """By how many bytes the peak has risen since `reset_peak` returned `before`."""
    return max(0, _peak() - before)


def _peak() -> int:
    try:
        status = _STATUS.read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
