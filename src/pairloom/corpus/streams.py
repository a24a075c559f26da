"""Pipes, terminals and standard input.

Reading them can block on a silent writer: `ReadAhead` reads in a thread that nothing waits for.
"""

import errno
import io
import os
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

_CHUNK_BYTES: Final = 1 << 20


class Stream:
    """The bytes `ahead`, then those of `source`; `read` returns `size` bytes, fewer only at the end."""

    def __init__(self, source: Callable[[int], bytes], ahead: bytes = b"") -> None:
        self._source = source
        self._ahead = ahead
        self._has_ended = False

    @classmethod
    def of_descriptor(cls, descriptor: int, ahead: bytes = b"") -> "Stream":
        """Returns the stream of a descriptor."""
        if hasattr(os, "set_blocking"):  # on Windows from Python 3.12 on
            os.set_blocking(descriptor, True)
        return cls(partial(os.read, descriptor), ahead)

    def read(self, size: int) -> bytes:
        """Returns at most `size` bytes."""
        parts, self._ahead = [self._ahead[:size]], self._ahead[size:]
        n_left = size - len(parts[0])
        # A terminal can be read again after its end (Ctrl-D), which would wait for another end.
        while n_left and not self._has_ended:
            part = self._source(min(n_left, _CHUNK_BYTES))
            self._has_ended = not part
            parts.append(part)
            n_left -= len(part)
        return b"".join(parts)

    def seekable(self) -> bool:
        """Returns False: a stream is read once, from its beginning to its end."""
        return False


def is_stream(path: str) -> bool:
    """Whether `path` is a pipe, a terminal or another device, which can be read only once and can block."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def open_stdin() -> Any:
    """Returns standard input as a file of bytes, continuing after what was already read from `sys.stdin`."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed", "-")
    buffer = sys.stdin.buffer
    try:
        descriptor = buffer.fileno()
    except (AttributeError, OSError, io.UnsupportedOperation):
        return buffer
    if stat.S_ISREG(os.fstat(descriptor).st_mode) or os.name == "nt":
        return buffer
    # Not the buffer itself: if a thread waits in it, the interpreter aborts at exit.
    return Stream.of_descriptor(descriptor, _read_ahead(buffer, descriptor))


def _read_ahead(buffer: Any, descriptor: int) -> bytes:
    """Takes out what a buffered reader holds, without waiting."""
    if not isinstance(buffer, io.BufferedReader):
        return b""
    os.set_blocking(descriptor, False)
    held = buffer.peek()
    return buffer.read(len(held)) or b"" if held else b""
