"""Names of local files, in a folder or matching a glob; each file once, even if links lead to it again."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

SKIPPED_PREFIXES = ("_", ".")
"""Prefixes of names to skip in folders: engines use them for what is not data (_temporary, _delta_log)."""


def files_below(path: str, skipped: list[str]) -> Iterator[str]:
    """Yields the files in a folder and in those below it, following links.

    Appends the skipped paths that begin with _ to `skipped`.
    """
    # Folders to read, each with the resolved paths of those above it.
    left: list[tuple[str, tuple[str, ...]]] = [(path, ())]
    while left:
        folder, above = left.pop()
        real = os.path.realpath(folder)
        if real in above:
            # The links form a cycle.
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(SKIPPED_PREFIXES):
                    if entry.name.startswith("_"):
                        skipped.append(entry.path)
                elif entry.is_dir():
                    left.append((entry.path, (*above, real)))
                else:
                    yield str(Path(entry.path))


def is_skipped(path: str, pattern: str) -> bool:
    """Whether "**" in a glob skips this path for a name that begins with _ or ., as folders do.

    It skips none if the glob itself names one after it, as in `**/_more/*.txt`.
    """
    before, stars, after = pattern.partition("**")
    if not stars or any(part.startswith(SKIPPED_PREFIXES) for part in PurePath(after).parts):
        return False
    parts = PurePath(path).parts[len(PurePath(before).parts) : -1 if after else None]
    return any(part.startswith(SKIPPED_PREFIXES) for part in parts)


def each_once(names: list[str], doubled: list[str]) -> list[tuple[str, os.stat_result]]:
    """Returns (path, stat) for each file, sorted. A file reachable by several links is listed once, by its first path.

    Appends the other paths to `doubled`.
    """
    # Files with the same number can be hard links, or lie on a file system without file numbers; only the resolved path
    # decides. Few files need that lookup.
    first_of_number: dict[tuple[int, int], str] = {}
    resolved: dict[tuple[int, int], set[str]] = {}
    kept: list[tuple[str, os.stat_result]] = []
    for name in sorted(names, key=path_order):
        status = Path(name).stat()
        number = (status.st_dev, status.st_ino)
        first = first_of_number.setdefault(number, name)
        if first != name:
            known, path = resolved.setdefault(number, {os.path.realpath(first)}), os.path.realpath(name)
            if path in known:
                doubled.append(name)
                continue
            known.add(path)
        kept.append((name, status))
    return kept


def path_order(path: str) -> str:
    """Returns the key for sorting paths, the same on every platform."""
    return path.replace(os.sep, "/")


def name_of(path: str) -> str:
    """Returns the last part of a path."""
    # pathlib takes twenty times as long, and folders can hold many files.
    return os.path.basename(path)  # noqa: PTH119
