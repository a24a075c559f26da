"""Input, output, messages and progress at the terminal, shared by all commands."""

import argparse
import contextlib
import errno
import json
import os
import re
import sys
import time
from collections.abc import Callable

from pairloom._internal.arguments import LARGEST_INT, as_text, shown
from pairloom._internal.progress import Progress, ProgressEvent
from pairloom._internal.urls import without_secrets
from pairloom.errors import CorpusError

INPUT_SKIPPED = 3
"""The exit status of --strict if some of the input was skipped."""

# How long to wait for a non-blocking pipe, and how much to read at once.
_WAIT_SECONDS, _PIECE_BYTES = 0.01, 1 << 20
_SECONDS_BETWEEN_LINES = 10.0

# say(event, message): event is "error", "warning", "note" or "interrupted".
Say = Callable[[str, str], None]


class UsageError(Exception):
    """Wrong usage; exit status 2."""


class Console:
    """Writes messages and progress to stderr, as --quiet and --log-json select."""

    def __init__(self, *, quiet: bool = False, log_json: bool = False) -> None:
        self.quiet, self._log_json, self._next = quiet, log_json, 0.0

    def say(self, event: str, message: str) -> None:
        """Writes a message, as text or as JSON."""
        if self.quiet and event == "note":
            return
        message = shown_message(message)
        text = f"pairloom: {'warning: ' if event == 'warning' else ''}{message}"
        _write_line(_json(event, message=message) if self._log_json else text)

    def wrote(self, path: str, what: str) -> None:
        """Reports what the command has written, unless --quiet is given."""
        self.say("note", f"wrote {path}: {what}")

    @property
    def progress(self) -> Progress:
        """The `progress` argument of long calls: a bar on a terminal, lines elsewhere, or lines of JSON."""
        return None if self.quiet else self._progress_as_json if self._log_json else True

    def _progress_as_json(self, event: ProgressEvent) -> None:
        if time.monotonic() >= self._next or event.done == event.total:
            self._next = time.monotonic() + _SECONDS_BETWEEN_LINES
            _write_line(_json("progress", **event._asdict()))


def _json(event: str, **fields: object) -> str:
    return json.dumps({"event": event, "time": time.time(), **fields})


def _write_line(line: str) -> None:
    """Writes to stderr; failures are ignored."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `Console`."""
    told = parser.add_mutually_exclusive_group()
    told.add_argument("--quiet", action="store_true", help="write only warnings and errors to stderr")
    told.add_argument(
        "--log-json", action="store_true", help="write progress and messages to stderr as JSON, one object per line"
    )


def is_given(args: argparse.Namespace, option: str) -> bool:
    """Returns whether the option was given; its value can be 0."""
    value = getattr(args, option)
    return value is not None and value is not False


def check_needs(args: argparse.Namespace, **needed: str) -> None:
    """Refuses an option that is given without the one that it needs: `check_needs(args, rank="pack")`."""
    for option, other in needed.items():
        if is_given(args, option) and not is_given(args, other):
            args.wrong_usage(f"--{option} needs --{other}".replace("_", "-"))


def shown_message(message: str) -> str:
    """Makes a message safe to show: names in it can come from others, and URLs can hold secrets.

    Escapes control characters, except newlines before two spaces, which lists have; removes secrets from URLs.
    """
    return "\n  ".join(map(as_text, without_secrets(message).split("\n  ")))


def whole_number(text: str) -> int:
    """Parses an integer option. A value beyond 64 bits is wrong usage."""
    try:
        number = int(text)
    except ValueError:
        remedy = "; write all digits, without a unit" if re.fullmatch(r"[0-9.]+ ?[A-Za-z]{1,3}", text) else ""
        raise argparse.ArgumentTypeError(f"not a whole number: {shown(text)}{remedy}") from None
    if abs(number) > LARGEST_INT:
        raise argparse.ArgumentTypeError(f"{shown(number)} is beyond 64 bits; the largest is {LARGEST_INT}")
    return number


def text_argument(text: str) -> str:
    """Returns the text of --text. Non-UTF-8 arguments arrive as lone surrogates, which are wrong usage."""
    try:
        return os.fsencode(text).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"--text is not UTF-8 at byte {error.start}; pass UTF-8 text, or a file") from None


def read_stdin() -> str:
    """Reads all of stdin as text, without translating newlines."""
    if sys.stdin is None:
        raise UsageError("stdin is closed; pass an input, or redirect one")
    raw, data = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), bytearray()
    # Reading a non-blocking pipe returns what is there, or None if nothing is yet.
    while (piece := raw.read(_PIECE_BYTES)) != b"":
        if piece is None:
            time.sleep(_WAIT_SECONDS)
        else:
            data += piece
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(f"stdin: invalid UTF-8 at byte {error.start}; pass UTF-8 text") from error


def json_line(value: object) -> str:
    """Returns the value as one line of JSON, a command's result."""
    return json.dumps(value) + "\n"


def write_stdout(text: str) -> None:
    """Writes `text` to stdout as UTF-8, without translating newlines."""
    sys.stdout.flush()
    raw, data = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer), memoryview(text.encode())
    # A write can be partial: on a disk that fills up, on a signal, or on a non-blocking pipe.
    while data:
        try:
            n_written = raw.write(data)
        except OSError as error:
            # A closed pipe is no error; on Windows its number is EINVAL.
            if error.errno not in (errno.EPIPE, errno.EINVAL):
                error.filename = "stdout"
            raise
        if n_written:
            data = data[n_written:]
        else:
            time.sleep(_WAIT_SECONDS)
