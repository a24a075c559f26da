"""Ends a command on SIGINT (Ctrl-C), SIGTERM and SIGHUP: exit status 128 + the signal's number, no traceback.

While modules are imported and options are parsed, there is nothing to clean up, so a signal ends the process at once.
After that it becomes an exception in the main thread, so that partial files are removed. A watchdog thread ends the
process if the main thread does not handle the exception in time, for example inside a library call that never checks
signals.
"""

import _thread
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

# The seconds allowed for cleaning up.
_SECONDS: dict[int, float] = {signal.SIGINT: 0.8, signal.SIGTERM: 5.0}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _SECONDS[signal.SIGHUP] = 5.0


class Interruptions:
    """The signals received so far.

    number: the first signal's number, or 0. may_clean_up: the command has begun, so a signal raises an exception
    instead of ending the process.
    """

    def __init__(self) -> None:
        self.number = 0
        self.may_clean_up = False

    @property
    def status(self) -> int:
        """The exit status after a signal."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def message(self) -> str:
        """The message after a signal."""
        return "interrupted" if self.number in (0, signal.SIGINT) else "terminated"

    def handle(self, number: int, _: FrameType | None) -> None:
        """Handles a signal; the interpreter calls this in the main thread."""
        is_first = not self.number
        self.number = self.number or number
        if not self.may_clean_up or not is_first:
            self.end()
        raise KeyboardInterrupt

    def end(self) -> None:
        """Ends the process now."""
        with contextlib.suppress(OSError):
            os.write(2, f"pairloom: {self.message}\n".encode())
        os._exit(self.status)

    def watch(self, pipe: int) -> None:
        """Reads signal numbers from the wakeup pipe; ends the process after the grace time."""
        with contextlib.suppress(OSError):
            while data := os.read(pipe, 1):
                if data[0] in _SECONDS:
                    time.sleep(_SECONDS[data[0]])
                    self.number = self.number or data[0]
                    self.end()
        os.close(pipe)


@contextlib.contextmanager
def handled() -> Iterator[Interruptions]:
    """Handles the signals during the block, then restores their handlers."""
    interruptions = Interruptions()
    before: dict[int, Any] = {}
    for number in _SECONDS:
        handler = signal.getsignal(number)
        # Ignored signals stay ignored: nohup, and background commands of a script.
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(number, interruptions.handle)
            except ValueError:  # not the main thread
                break
            before[number] = handler
    pipe = _start_watchdog(interruptions) if before else None
    try:
        yield interruptions
    finally:
        # After a signal the watchdog stays active, so that nothing can block the exit.
        if not interruptions.number:
            if pipe is not None:
                signal.set_wakeup_fd(-1)
                os.close(pipe)
            for number, handler in before.items():
                signal.signal(number, handler)


def _start_watchdog(interruptions: Interruptions) -> int | None:
    """Starts the watchdog thread; returns the write end of its pipe, or None."""
    try:
        reading, writing = os.pipe()
    except OSError:
        return None
    if hasattr(os, "set_blocking"):  # on Windows from Python 3.12 on
        os.set_blocking(writing, False)
    try:
        _thread.start_new_thread(interruptions.watch, (reading,))
    except (RuntimeError, MemoryError):
        os.close(reading)
        os.close(writing)
        return None
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return writing
