"""Pipes, terminals and standard input.

Who reads them may wait for a silent writer: `ReadAhead` does so in a thread that nothing waits for.
"""

import errno
import io
import os
import stat
import sys
from pathlib import Path
from typing import Any, Final

_CHUNK_BYTES: Final = 1 << 20


class Stream:
    """Bytes of a descriptor; `read` returns `size` bytes, fewer only at the end."""

    def __init__(self, descriptor: int, ahead: bytes = b"") -> None:
        self._descriptor = descriptor
        self._ahead = ahead
        if hasattr(os, "set_blocking"):  # on Windows from Python 3.12 on
            os.set_blocking(descriptor, True)

    def read(self, size: int) -> bytes:
        """At most `size` bytes."""
        parts, self._ahead = [self._ahead[:size]], self._ahead[size:]
        n_left = size - len(parts[0])
        while n_left and (part := os.read(self._descriptor, min(n_left, _CHUNK_BYTES))):
            parts.append(part)
            n_left -= len(part)
        return b"".join(parts)

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


def open_stdin() -> Any:
    """Standard input as a file of bytes, going on after what was read from `sys.stdin` before."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed", "-")
    buffer = sys.stdin.buffer
    try:
        descriptor = buffer.fileno()
    except (AttributeError, OSError, io.UnsupportedOperation):
        return buffer
    if stat.S_ISREG(os.fstat(descriptor).st_mode) or os.name == "nt":
        return buffer
    # Not by the buffer itself: at its end the interpreter aborts if a thread waits in it.
    return Stream(descriptor, _read_ahead(buffer, descriptor))


def _read_ahead(buffer: Any, descriptor: int) -> bytes:
    """What a buffered reader holds, taken out of it without waiting."""
    if not isinstance(buffer, io.BufferedReader):
        return b""
    os.set_blocking(descriptor, False)
    held = buffer.peek()
    return buffer.read(len(held)) or b"" if held else b""
