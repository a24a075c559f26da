"""Patterns as tiktoken runs them.

tiktoken's regex engine, fancy-regex, simplifies repetitions, lookaheads and alternatives, and then some patterns split
otherwise than they are written. pairloom runs all as they are written. So such a pattern is respelt when it is written
for tiktoken, and a warning is given when it is read.
"""

from __future__ import annotations

from pairloom import _core
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError, PatternError
from pairloom.formats.shared.empty_matches import can_match_nothing
from pairloom.formats.shared.json_text import shown
from pairloom.formats.shared.pattern_aliases import published_of
from pairloom.model import Pattern
from pairloom.patterns import SPELLINGS

__all__ = ["for_tiktoken", "left_out", "warn_of_rewriting"]


def for_tiktoken(pattern: Pattern) -> str:
    """One regex by which tiktoken splits every text as the pattern does; FormatError where there is none."""
    if not isinstance(pattern, str):
        if len(pattern) > 1:
            raise FormatError(
                f"tiktoken splits by one pattern, and this tokenizer by {len(pattern)} in turn; use to_huggingface"
            )
        pattern = pattern[0]
    if pattern.startswith("(?#"):
        raise FormatError(f"tiktoken does not know what {shown(pattern)} says about its matches; use to_huggingface")
    if (lost := left_out(pattern)) is not None:
        raise FormatError(
            f"the pattern {shown(pattern, 200)} does not match {shown(lost)}, and tiktoken leaves out what it does not"
            " match; use as_tiktoken, which keeps it, or add an alternative such as [\\s\\S]"
        )
    if _may_match_nothing(pattern):
        raise FormatError(
            f"the pattern {shown(pattern, 200)} may match nothing, or keep text out of a match, where tiktoken fails or"
            " loses text; use as_tiktoken"
        )
    return published_of(pattern) if _is_known(pattern) else _core.spelt_as_written(pattern)


def warn_of_rewriting(pattern: Pattern) -> None:
    """Warns where tiktoken may run a pattern otherwise than it is written."""
    if not isinstance(pattern, str):
        if len(pattern) != 1:
            return
        pattern = pattern[0]
    if _is_known(pattern) or pattern.startswith("(?#"):
        return
    try:
        spelt = _core.spelt_as_written(pattern)
    except PatternError:
        return  # told when it is run
    if spelt != pattern:
        warn(
            f"tiktoken simplifies the pattern {shown(pattern, 200)}, and may then split otherwise than it says: some"
            " repetitions, lookaheads, \\G, \\K, or alternatives that begin with the same repetition; pairloom splits"
            f" as it says, and tiktoken does so by {shown(spelt, 400)}"
        )


def left_out(pattern: str) -> str | None:
    """What the pattern does not match of a text with a few thousand characters of all kinds; None if it matches all."""
    if _is_known(pattern) or _core.is_total(pattern):
        return None
    codes = (*range(0x250), *range(0x250, 0xD800, 97), *range(0xE000, 0x110000, 4001))
    text = " ".join(2 * chr(code) for code in codes)
    # Two characters that are not matched are one pretoken, and by the second pattern two.
    found = _core.pretokenize(text, pattern), _core.pretokenize(text, f"(?:{pattern})|[\\s\\S]")
    return next((left.decode() for left, right in zip(*found, strict=False) if left != right), None)


def _is_known(pattern: str) -> bool:
    """Whether it is a named pattern, which tiktoken runs as it is written."""
    return any(pattern in spellings for spellings in SPELLINGS.values())


def _may_match_nothing(pattern: str) -> bool:
    try:
        return can_match_nothing(pattern)
    except FormatError:
        return False  # syntax that pairloom does not look into
