"""Strict JSON parsing, and the typed getters that the format modules share.

Refused, with the file's name and the location: bytes that are not UTF-8, duplicate keys, NaN and Infinity, nesting
deeper than Python's limit, integers of thousands of digits. Cost: one pass of the interpreter's C parser.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from pairloom.errors import FormatError
from pairloom.model import LARGEST_ID

__all__ = ["parse", "shown", "take_id"]

T = TypeVar("T")


def parse(data: bytes, name: str) -> Any:
    """The value that `data` holds; raises FormatError naming `name` and the location."""

    def refuse(constant: str) -> NoReturn:
        raise FormatError(f"{name}: {constant} is not JSON; write a finite number")

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{name}: not UTF-8 at byte {error.start} (0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None
    try:
        return json.loads(text, object_pairs_hook=_distinct(name), parse_constant=refuse)
    except json.JSONDecodeError as error:
        cut = " (the file may be cut short)" if error.pos >= len(text.rstrip()) else ""
        raise FormatError(f"{name}: not JSON: {error.msg} at line {error.lineno} column {error.colno}{cut}") from None
    except RecursionError:
        raise FormatError(f"{name}: nested too deeply to be a tokenizer; the file is damaged") from None
    except FormatError:
        raise
    except ValueError:
        # The interpreter's limit on the digits of an integer.
        raise FormatError(f"{name}: holds a number of thousands of digits; the file is damaged") from None


def _distinct(name: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise FormatError(f"{name}: key {shown(key)} is given twice; keep one of them")
                seen.add(key)
        return built

    return build


def shown(value: object, limit: int = 60) -> str:
    """The value as a message shows it: cut to `limit` characters."""
    text = repr(value[:limit] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def take_id(value: object, where: str) -> int:
    """`value`, which must be an integer that an id can be."""
    if type(value) is not int:
        raise FormatError(f"{where}: an id must be an integer, not {shown(value)}")
    if not 0 <= value <= LARGEST_ID:
        raise FormatError(f"{where}: id {shown(value)} is outside 0 to {LARGEST_ID}")
    return value
