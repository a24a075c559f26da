"""Pipes, terminals and standard input, read so that a thread waiting for data can be stopped.

A blocking read() cannot be interrupted from another thread: while the writer is silent, the reader would keep the
process alive. So the descriptor is polled, and `stop` is checked ten times a second.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
import threading
from pathlib import Path
from typing import Any, Final

__all__ = ["ReadingStopped", "Stream", "is_stream", "open_stdin", "open_stream"]

_POLL_MILLISECONDS: Final = 100
_CHUNK_BYTES: Final = 1 << 20
# Windows polls sockets only. There a read waits until data comes, and Ctrl-C until the read is over.
_CAN_POLL: Final = hasattr(select, "poll")


class ReadingStopped(Exception):
    """Nobody wants what a stream would give any more."""


class Stream:
    """Bytes of a descriptor that may make its reader wait; `read` gives `size` bytes, fewer only at the end."""

    def __init__(self, descriptor: int, stop: threading.Event, ahead: bytes = b"") -> None:
        self._descriptor = descriptor
        self._stop = stop
        self._ahead = ahead
        if _CAN_POLL:
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)

    def read(self, size: int) -> bytes:
        """At most `size` bytes; raises ReadingStopped once `stop` is set."""
        parts, self._ahead = [self._ahead[:size]], self._ahead[size:]
        n_bytes = len(parts[0])
        while n_bytes < size:
            part = self._some(min(size - n_bytes, _CHUNK_BYTES))
            if not part:
                break
            parts.append(part)
            n_bytes += len(part)
        return b"".join(parts)

    def _some(self, size: int) -> bytes:
        while not self._stop.is_set():
            if not _CAN_POLL or self._poll.poll(_POLL_MILLISECONDS):
                return os.read(self._descriptor, size)
        raise ReadingStopped

    def seekable(self) -> bool:
        """It is read once, from its beginning to its end."""
        return False


def is_stream(path: str) -> bool:
    """Whether `path` is a pipe, a terminal or another device, which can be read only once and may make wait."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def open_stream(path: str) -> int:
    """A descriptor of a pipe or a device; unlike open(), it does not wait for somebody to write into the pipe."""
    if not _CAN_POLL:
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return descriptor


def open_stdin(stop: threading.Event) -> Any:
    """Standard input as a file of bytes, going on after what was read from `sys.stdin` before."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed", "-")
    buffer = sys.stdin.buffer
    try:
        descriptor = buffer.fileno()
    except (AttributeError, OSError, io.UnsupportedOperation):
        return buffer
    if stat.S_ISREG(os.fstat(descriptor).st_mode) or not _CAN_POLL:
        return buffer
    return Stream(descriptor, stop, _read_ahead(buffer, descriptor))


def _read_ahead(buffer: Any, descriptor: int) -> bytes:
    """What a buffered reader holds, taken out of it without waiting."""
    if not isinstance(buffer, io.BufferedReader):
        return b""
    was_blocking = os.get_blocking(descriptor)
    os.set_blocking(descriptor, False)
    try:
        held = buffer.peek()
        return buffer.read(len(held)) or b"" if held else b""
    finally:
        os.set_blocking(descriptor, was_blocking)
