"""The pre_tokenizer of a tokenizer.json: one pattern, or several that split one after the other.

Supported: ByteLevel, Split (all behaviours that keep the text), Digits, and a Sequence of them with ByteLevel last. A
Split that joins matches to their neighbours becomes a pattern whose matches are the joined pieces. Everything else is
refused
by name, including a space put before pieces of the text and behaviours that remove matches or join them to other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from pairloom import _core
from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import shown, take
from pairloom.formats.shared.oniguruma import can_match_nothing, from_oniguruma, to_oniguruma
from pairloom.formats.shared.pattern_aliases import published_of
from pairloom.model import Pattern
from pairloom.patterns import GPT2, PATTERNS

__all__ = ["read_splitters", "write_splitters"]

_MOST_NESTED = 8
# A text as one pretoken.
_WHOLE = r"[\s\S]+"
_NAMED = frozenset(text for text in PATTERNS.values() if isinstance(text, str))
# `$` is the end of a line there and of the text here. After `\s++`, which takes all newlines, the two are one.
_SAME_IN_BOTH = frozenset((published_of(GPT2),))


def read_splitters(node: Any, name: str) -> tuple[Pattern, bool]:
    """The pattern of a pre_tokenizer, and whether a space is put before the text (add_prefix_space).

    Raises FormatError for what a pattern cannot express.
    """
    where = f"{name}: pre_tokenizer"
    steps = _flat(node, where)
    if not steps or steps[-1].get("type") != "ByteLevel":
        raise FormatError(f"{where} does not end in ByteLevel; only byte-level tokenizers can be expressed")
    patterns: list[str] = []
    for step in steps[:-1]:
        patterns.append(_step(step, where))
    last = steps[-1]
    prefix = last.get("add_prefix_space", True) is not False
    if prefix and patterns:
        raise FormatError(
            f"{where}: ByteLevel puts a space before every piece that another step has split off (add_prefix_space),"
            " which cannot be expressed"
        )
    if last.get("use_regex", True):
        patterns.append(GPT2)
    if not patterns:
        patterns.append(_WHOLE)
    return patterns[0] if len(patterns) == 1 else tuple(patterns), prefix


def write_splitters(pattern: Pattern, prefix: bool) -> dict[str, Any]:
    """The pre_tokenizer of a pattern; FormatError where it cannot put a space before the text as well."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    use_regex = patterns[-1] == GPT2
    byte_level = {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}
    steps: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": _written(text)}, "behavior": "Isolated", "invert": False}
        for text in (patterns[:-1] if use_regex else patterns if patterns != [_WHOLE] else [])
    ]
    if prefix and steps:
        raise FormatError(
            "a tokenizer.json cannot put a space before a text that is split by another pattern than GPT-2's; save as"
            " 'pairloom'"
        )
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level]} if steps else byte_level


def _flat(node: Any, where: str, depth: int = 0) -> list[dict[str, Any]]:
    if node is None:
        return []
    if depth > _MOST_NESTED:
        raise FormatError(f"{where} is nested too deeply: more than {_MOST_NESTED} sequences lie in each other")
    if type(node) is not dict:
        raise FormatError(f"{where} must be an object, not {shown(node)}")
    if node.get("type") == "Sequence":
        inner = take(node, "pretokenizers", list, where)
        return [step for part in inner for step in _flat(part, where, depth + 1)]
    return [node]


def _written(text: str) -> str:
    return text if text in _SAME_IN_BOTH else to_oniguruma(text)


@cache
def _as_named() -> dict[str, str]:
    """The named patterns by the spelling that `write_splitters` gives them."""
    return {to_oniguruma(text): text for text in _NAMED}


def _read(written: str, where: str) -> str:
    if written in _SAME_IN_BOTH:
        return written
    if (named := _as_named().get(written)) is not None:
        return named
    try:
        return from_oniguruma(written)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None


def _step(step: dict[str, Any], where: str) -> str:
    kind = take(step, "type", str, where)
    if kind == "Digits":
        # Rust's char::is_numeric, by which Digits goes, is the property N.
        return r"\p{N}" if take(step, "individual_digits", bool, f"{where}: Digits") else r"\p{N}+"
    if kind != "Split":
        raise FormatError(f"{where}: {shown(kind)} cannot be expressed as a pattern")
    pattern = take(step, "pattern", dict, f"{where}: Split")
    if set(pattern) == {"String"}:
        text = re.escape(take(pattern, "String", str, f"{where}: Split"))
    elif set(pattern) == {"Regex"}:
        text = _read(take(pattern, "Regex", str, f"{where}: Split"), where)
    else:
        raise FormatError(f"{where}: a Split's pattern has one of String and Regex, not {shown(pattern)}")
    behavior = take(step, "behavior", str, f"{where}: Split")
    invert = take(step, "invert", bool, f"{where}: Split")
    if can_match_nothing(text):
        raise FormatError(
            f"{where}: a Split whose pattern {shown(text, 200)} can match nothing would cut between characters, which"
            " cannot be expressed; write it so that each match has a character"
        )
    # Removing what a pattern does not match removes nothing where the pattern matches everything, as all those do that
    # have a scanner of their own.
    if behavior == "Isolated" or (behavior == "Removed" and invert and _core.is_scanned(text)):
        return text
    if behavior not in _JOINED:
        raise FormatError(
            f"{where}: a Split with behavior {shown(behavior)} and invert {invert} leaves parts of the text out; ids"
            " could not be decoded to it"
        )
    return _JOINED[behavior][invert](text)


def _with_previous(text: str) -> str:
    """Each match with the text before it, as far as the match before."""
    return rf"(?>(?:(?!{text})[\s\S])*)(?:{text})|(?:(?!{text})[\s\S])+"


def _with_next(text: str) -> str:
    """Each match with the text behind it, as far as the next match."""
    return rf"(?:{text})(?>(?:(?!{text})[\s\S])*)|(?:(?!{text})[\s\S])+"


def _contiguous(text: str) -> str:
    """Matches that stand side by side as one."""
    return f"(?:{text})+"


# By whether it is inverted: then the text between matches is what is joined.
_JOINED: Final[dict[str, tuple[Callable[[str], str], Callable[[str], str]]]] = {
    "MergedWithPrevious": (_with_previous, _with_next),
    "MergedWithNext": (_with_next, _with_previous),
    "Contiguous": (_contiguous, _contiguous),
}
