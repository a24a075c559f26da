"""Names of local files: those in a folder, those that a glob matches; each file once where links lead to it again."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

__all__ = ["PASSED_BY", "each_once", "files_below", "matching", "name_of", "path_order"]


PASSED_BY = ("_", ".")
"""What names begin with that are passed by in folders: engines name so what is no data (_temporary, _delta_log)."""


def files_below(path: str, prefixes: tuple[str, ...] = PASSED_BY, passed_by: list[str] | None = None) -> Iterator[str]:
    """The files in a folder and in those below it, also behind links.

    Names that begin with `prefixes` are passed by; of these, those that begin with _ are appended to `passed_by`.
    """
    # Folders to read, and what those above them are without links.
    left: list[tuple[str, tuple[str, ...]]] = [(path, ())]
    while left:
        folder, above = left.pop()
        real = os.path.realpath(folder)
        if real in above:
            # Links in a circle.
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(prefixes):
                    if passed_by is not None and entry.name.startswith("_"):
                        passed_by.append(entry.path)
                elif entry.is_dir():
                    left.append((entry.path, (*above, real)))
                else:
                    yield str(Path(entry.path))


def matching(pattern: str) -> Iterator[str]:
    """The paths that a glob matches, ** with folders behind links, too."""
    before, sign, after = _parted(pattern)
    # Unlike Path.glob, this takes a whole path with the pattern in it.
    found = glob.glob(before)  # noqa: PTH207
    if not sign:
        yield from found
        return
    # glob follows links in a circle forty times, and two circles in all orders of them.
    parts = [sign, *PurePath(after).parts]
    for folder in filter(os.path.isdir, found):
        for name in files_below(folder, () if any(part.startswith(".") for part in parts) else (".",)):
            if _matches(PurePath(os.path.relpath(name, folder)).parts, parts):
                yield name


def _parted(pattern: str) -> tuple[str, str, str]:
    """(what stands before the part "**" of a path, "**", what stands behind it); the latter two empty without it."""
    path = PurePath(pattern)
    if "**" not in path.parts:
        return pattern, "", ""
    at = path.parts.index("**")
    return str(PurePath(*path.parts[:at])), "**", str(PurePath(*path.parts[at + 1 :]))


def _matches(names: tuple[str, ...], parts: list[str]) -> bool:
    """Whether the parts of a file's path are matched by those of a pattern.

    "**" stands for any number of folders, at the end with the file, but for those that are passed by in folders. Names
    that begin with a dot are matched by parts that begin with one alone.
    """
    if not parts or not names:
        return not names and not parts
    is_hidden = names[0].startswith(".") and not parts[0].startswith(".")
    if parts[0] == "**":
        is_end = len(names) == len(parts) == 1
        is_passed_by = names[0].startswith(PASSED_BY)
        return _matches(names, parts[1:]) or (not is_passed_by and (is_end or _matches(names[1:], parts)))
    return not is_hidden and fnmatch.fnmatch(names[0], parts[0]) and _matches(names[1:], parts[1:])


def each_once(names: list[str], doubled: list[str]) -> list[tuple[str, os.stat_result]]:
    """(name, status) of the files, sorted; of several names of one, by way of links, the first.

    The others are appended to `doubled`.
    """
    # Files of one number may be hard links, or of a file system that numbers none: only what a path leads to tells.
    # That is asked of few.
    first_of_number: dict[tuple[int, int], str] = {}
    kept: list[tuple[str, os.stat_result]] = []
    for name in sorted(names, key=path_order):
        status = Path(name).stat()
        first = first_of_number.setdefault((status.st_dev, status.st_ino), name)
        if first != name and os.path.realpath(first) == os.path.realpath(name):
            doubled.append(name)
        else:
            kept.append((name, status))
    return kept


def path_order(path: str) -> str:
    """The key by which paths are sorted: the same on every platform."""
    return path.replace(os.sep, "/")


def name_of(path: str) -> str:
    """The last part of a path."""
    # pathlib takes twenty times as long, and folders hold many files.
    return os.path.basename(path)  # noqa: PTH119
