"""What the first bytes of a file tell: that it is hardly text. What is certainly none the core refuses (`not_text`)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from pairloom._internal.arguments import as_text
from pairloom._internal.warnings import warn

__all__ = ["BEGIN_BYTES", "files_with_nuls", "holds_nuls", "warn_of_nuls"]

BEGIN_BYTES = 512
"""How many first bytes of a file are looked at."""

# Of many files, so many are looked at before the core reads them.
_MOST_PEEKED = 1000


def holds_nuls(begin: bytes) -> bool:
    """Whether a quarter of the bytes or more are NUL, as of UTF-16 and of numbers."""
    return len(begin) > 0 and begin.count(0) * 4 >= len(begin)


def files_with_nuls(paths: Sequence[str]) -> list[str]:
    """The files, of the first thousand, that begin with many NULs."""
    found = []
    for path in paths[:_MOST_PEEKED]:
        with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
            if holds_nuls(file.read(BEGIN_BYTES)):
                found.append(path)
    return found


def warn_of_nuls(names: Sequence[str]) -> None:
    """Warns of files that begin with many NULs, if there are any."""
    if names:
        more = f" and {len(names) - 1} others hold" if len(names) > 1 else " holds"
        warn(
            f"{as_text(names[0])}{more} many NUL characters: it may be UTF-16 without a byte order mark, or no text at "
            "all; convert it to UTF-8, or leave it out"
        )
