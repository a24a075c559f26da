"""Parses JSON files that accompany a tokenizer, and the ids in them."""

import json
from typing import Any

from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import LARGEST_ID


def parse(data: bytes, name: str) -> Any:
    """Parses `data`. Raises FormatError with `name` and the location."""
    try:
        text = data.decode()
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        cut = " (the file may be truncated)" if error.pos >= len(text.rstrip()) else ""
        raise FormatError(f"{name}: not JSON: {error.msg} at line {error.lineno} column {error.colno}{cut}") from None
    except (RecursionError, ValueError):
        raise FormatError(f"{name}: the JSON is nested too deeply, or has a number with thousands of digits") from None


def camel_case(name: str) -> str:
    """Returns the name as a tokenizer.json writes it: "merged_with_next" is "MergedWithNext" there."""
    return name.title().replace("_", "")


def take_id(value: object, where: str) -> int:
    """Returns `value`; FormatError if it is not an integer in the range of ids."""
    if type(value) is not int:
        raise FormatError(f"{where}: an id must be an integer, not {shown(value)}")
    if not 0 <= value <= LARGEST_ID:
        raise FormatError(f"{where}: id {shown(value)} is outside 0 to {LARGEST_ID}")
    return value
