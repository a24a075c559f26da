"""Judges by the first bytes of a file whether it is probably not what it is read as.

The core refuses what is certainly not text (`not_text`).
"""

import contextlib
import re
from collections.abc import Mapping, Sequence

from pairloom._internal.arguments import as_text
from pairloom._internal.warnings import warn

BEGIN_BYTES = 512
"""How many bytes at the beginning of a file are checked."""

# How many files, at most, are checked before the core reads them.
_MAX_CHECKED_FILES = 1000
_RECORD = re.compile(rb'\s*\{[ \t]*"(?:[^"\\\n]|\\.)*"[ \t]*:')


def doubt_of(begin: bytes, *, is_meant: bool = False) -> str | None:
    """Returns why a file that begins like this is probably not the plain text that it is read as; None if it may be.

    Reasons: a quarter of the bytes or more are NUL, as in UTF-16 and in numbers; or it is WARC or a JSON record, unless
    the format `is_meant`.
    """
    if len(begin) > 0 and begin.count(0) * 4 >= len(begin):
        return (
            "many NUL characters: it may be UTF-16 without a byte order mark, or not text at all; convert it to "
            "UTF-8, or leave it out"
        )
    if not is_meant and begin.startswith(b"WARC/1."):
        return 'WARC that is read as plain text, including its headers; name it .warc or pass input_format="warc"'
    if not is_meant and _RECORD.match(begin):
        return (
            "JSON that is read as plain text, including keys, quotes and escapes; for JSON lines, name it .jsonl or "
            'pass input_format="jsonl"; to use all of it as text, pass input_format="text"'
        )
    return None


def doubtful_files(paths: Sequence[str], *, is_meant: bool = False) -> dict[str, list[str]]:
    """Returns the files that are probably not plain text, by reason, among the first thousand."""
    found: dict[str, list[str]] = {}
    for path in paths[:_MAX_CHECKED_FILES]:
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
            if doubt := doubt_of(file.read(BEGIN_BYTES), is_meant=is_meant):
                found.setdefault(doubt, []).append(path)
    return found


def warn_of(doubts: Mapping[str, Sequence[str]]) -> None:
    """Warns about the files, once for each reason."""
    for doubt, names in doubts.items():
        more = f" and {len(names) - 1} more hold" if len(names) > 1 else " holds"
        warn(f"{as_text(names[0])}{more} {doubt}")
