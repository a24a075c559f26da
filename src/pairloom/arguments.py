"""Checks of what callers pass: a wrong type or value is named, with the remedy, before any work starts."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "check_choice",
    "check_int",
    "check_max_memory",
    "check_paths",
    "check_special_tokens",
    "check_texts",
    "resolve_threads",
]


def check_int(name: str, value: Any, *, least: int | None = None) -> int:
    """`value`, if it is an int (not a bool) and at least `least`; else TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value


def check_max_memory(max_memory: Any) -> int | None:
    """`max_memory` in bytes, None for no limit; else TypeError or ValueError."""
    return None if max_memory is None else check_int("max_memory", max_memory, least=0)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_special_tokens(tokens: Any) -> tuple[str, ...]:
    """The special tokens as a tuple of non-empty, distinct str; a bare str is a TypeError."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise TypeError(f"special_tokens must be a list of str, not {type(tokens).__name__}: write [{tokens!r}]")
    checked = tuple(tokens)
    for token in checked:
        if not isinstance(token, str):
            raise ValueError(f"a special token must be a str, not {type(token).__name__} ({token!r})")
        if not token:
            raise ValueError("a special token is empty; give it at least one character")
        try:
            token.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"special token {token!r} holds a lone surrogate, which is not text") from error
    if len(set(checked)) < len(checked):
        twice = next(token for token in checked if checked.count(token) > 1)
        raise ValueError(f"special token {twice!r} is given twice; name it once")
    return checked


def check_texts(name: str, texts: Any) -> None:
    """Raises a TypeError when one str stands where several are meant, or anything that is not iterable."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be an iterable of str, not {type(texts).__name__}; wrap a single text in a list")


def check_paths(paths: Any) -> list[str]:
    """The paths as a list of str; a single path is accepted as one path."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if isinstance(paths, bytes) or not isinstance(paths, Iterable):
        raise TypeError(f"paths must be a path or a list of paths, not {type(paths).__name__}")
    checked = []
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"a path must be a str or os.PathLike, not {type(path).__name__}")
        plain = os.fspath(path)
        if not isinstance(plain, str):
            raise TypeError("a path must be a str, not bytes; use os.fsdecode")
        checked.append(plain)
    return checked


def resolve_threads(threads: Any) -> int:
    """`threads` checked; 0 (all there are) becomes 1 inside a worker process, whose siblings use the other cores."""
    check_int("threads", threads, least=0)
    return 1 if threads == 0 and multiprocessing.parent_process() is not None else int(threads)
