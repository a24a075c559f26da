"""Names of local files: those in a folder, those that a glob matches; each file once where links lead to it again."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

PASSED_BY = ("_", ".")
"""What names begin with that are passed by in folders: engines name so what is no data (_temporary, _delta_log)."""


def files_below(path: str, passed_by: list[str]) -> Iterator[str]:
    """The files in a folder and in those below it, also behind links.

    Of the names that are passed by, those that begin with _ are appended to `passed_by`.
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
                if entry.name.startswith(PASSED_BY):
                    if entry.name.startswith("_"):
                        passed_by.append(entry.path)
                elif entry.is_dir():
                    left.append((entry.path, (*above, real)))
                else:
                    yield str(Path(entry.path))


def matching(pattern: str) -> Iterator[str]:
    """The paths that a glob matches; "**" passes by folders whose names begin with _, unless such a part follows it."""
    before, _, after = pattern.partition("**")
    n_before = len(PurePath(before).parts)
    last = -1 if after else None
    is_named = any(part.startswith("_") for part in PurePath(after).parts)
    # Unlike Path.glob, this takes a whole path with the pattern in it.
    for name in glob.glob(pattern, recursive=True):  # noqa: PTH207
        if is_named or not any(part.startswith("_") for part in PurePath(name).parts[n_before:last]):
            yield name


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
