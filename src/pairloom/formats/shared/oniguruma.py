"""Translates patterns between the dialects of fancy-regex (pairloom, tiktoken) and Oniguruma (HuggingFace tokenizers).

Three constructs that tokenizers use differ in Oniguruma's Ruby syntax: `{1,3}+` is possessive in fancy-regex and a
repeated group in Oniguruma; `$` is the end of the text there and the end of a line here; `^` likewise for the start.
They are rewritten. Constructs that cannot be rewritten are refused by name.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import shown

__all__ = ["can_match_nothing", "from_oniguruma", "to_oniguruma"]

Direction = Literal["to", "from"]

_GROUP: Final = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|i:|i\))|(?!\?))")
_PROPERTY: Final = re.compile(r"\\[pP]\{\^?[A-Za-z_ ]+\}")
_CODE_POINT: Final = re.compile(r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}")
_INTERVAL: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
# Escapes that mean the same: assertions and classes by Unicode's properties, and control characters.
_SAME: Final = frozenset("dDsSAzntrfva")


def to_oniguruma(pattern: str) -> str:
    r"""The pattern for a tokenizer.json.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$")
    '(?>\\p{N}{1,3})|\\s++\\z'
    """
    return _respelt(pattern, "to")


def from_oniguruma(pattern: str) -> str:
    r"""The pattern that a tokenizer.json holds.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+$")
    '(?:\\p{N}{1,3})+|\\s+(?=\\n|\\z)'
    """
    return _respelt(pattern, "from")


def can_match_nothing(pattern: str) -> bool:
    r"""Whether a pattern may match an empty text; True for some that cannot, such as `(?=a)a?(?<=a)`.

    >>> [can_match_nothing(pattern) for pattern in (r"a|b+", r"a*", r"(?:a|(?=b))", r"[ab]{0,2}c")]
    [False, True, True, False]
    """
    # Of each open group: whether it is an assertion, an alternative before could be empty, and this one could so far.
    levels: list[tuple[bool, bool, bool]] = [(False, False, True)]
    at = 0
    last_is_empty = True
    before = True
    while at < len(pattern):
        character = pattern[at]
        interval = _INTERVAL.match(pattern, at) if character == "{" else None
        if character in "*?" or (interval and int(interval[1]) == 0):
            # The atom may be left out: the sequence is as empty as it was before it.
            if at and pattern[at - 1] not in "*+?":
                assertion, earlier, _ = levels[-1]
                levels[-1] = (assertion, earlier, before)
            at = interval.end() if interval else at + 1
            continue
        if character == "+" or interval:
            at = interval.end() if interval else at + 1
            continue
        if character == "(":
            found = _GROUP.match(pattern, at)
            text = found[0] if found else "("
            at += len(text)
            if not text.endswith(")"):
                levels.append((text[2:3] in ("=", "!") or text[:3] == "(?<", False, True))
            continue
        assertion, earlier, current = levels[-1]
        if character == "|":
            levels[-1] = (assertion, earlier or current, True)
            at += 1
            continue
        if character == ")" and len(levels) > 1:
            levels.pop()
            last_is_empty = assertion or earlier or current
            at += 1
        else:
            end = _atom_end(pattern, at)
            last_is_empty = pattern[at:end] in _EMPTY
            at = end
        assertion, earlier, before = levels[-1]
        levels[-1] = (assertion, earlier, before and last_is_empty)
    return any(earlier or current for _, earlier, current in levels)


_EMPTY: Final = frozenset(("^", "$", r"\A", r"\z", r"\Z"))


def _respelt(pattern: str, direction: Direction) -> str:
    parts: list[str] = []
    open_groups: list[int] = []
    atom = 0  # where in `parts` the last atom begins
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "(":
            found = _GROUP.match(pattern, at)
            if found is None:
                raise _refusal(pattern, pattern[at : at + 4])
            if not found[0].endswith(")"):
                open_groups.append(len(parts))
            parts.append(found[0])
            at = found.end()
        elif character == ")":
            atom = open_groups.pop() if open_groups else 0
            parts.append(character)
            at += 1
        elif character in "*+?" or (character == "{" and _INTERVAL.match(pattern, at)):
            at = _quantifier(pattern, at, parts, atom, direction)
        else:
            atom = len(parts)
            end = _atom_end(pattern, at)
            parts.append(_ANCHORS[direction].get(pattern[at:end], pattern[at:end]))
            at = end
    return "".join(parts)


# What `^` after a trailing newline matches is not the same in any spelling: from a tokenizer.json it is refused.
_ANCHORS: Final[dict[Direction, dict[str, str]]] = {
    "to": {"$": r"\z", "^": r"\A"},
    "from": {"$": r"(?=\n|\z)"},
}


def _atom_end(pattern: str, at: int) -> int:
    """Where the escape, class or character at `at` ends."""
    character = pattern[at]
    if character == "\\":
        return _escape_end(pattern, at)
    if character == "[":
        return _class_end(pattern, at)
    return at + 1


def _escape_end(pattern: str, at: int) -> int:
    for form in (_PROPERTY, _CODE_POINT):
        if found := form.match(pattern, at):
            return found.end()
    letter = pattern[at + 1 : at + 2]
    if not letter or (letter.isalnum() and letter not in _SAME):
        raise _refusal(pattern, pattern[at : at + 2])
    return at + 2


def _class_end(pattern: str, at: int) -> int:
    depth = 0
    start = at
    while at < len(pattern):
        if pattern[at] == "\\":
            at = _escape_end(pattern, at)
            continue
        for operator in ("[:", "--", "~~"):
            if pattern.startswith(operator, at):
                raise _refusal(pattern, operator)
        if pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]":
            depth -= 1
        at += 1
        if depth == 0:
            return at
    raise _refusal(pattern, pattern[start : start + 4])


def _quantifier(pattern: str, at: int, parts: list[str], atom: int, direction: Direction) -> int:
    """Appends the quantifier at `at`, respelling the parts from `atom` on where it must."""
    found = _INTERVAL.match(pattern, at)
    end = found.end() if found else at + 1
    quantifier = pattern[at:end]
    suffix = pattern[end : end + 1]
    if found and suffix == "?" and not found[2]:
        raise _refusal(pattern, quantifier + suffix)
    if found and suffix == "+":
        repeated = "".join(parts[atom:]) + quantifier
        parts[atom:] = [f"(?>{repeated})" if direction == "to" else f"(?:{repeated})+"]
        return end + 1
    if suffix and suffix in "?+":
        quantifier += suffix
        end += 1
    parts.append(quantifier)
    return end


def _refusal(pattern: str, construct: str) -> FormatError:
    return FormatError(
        f"pattern {shown(pattern, 200)} uses {construct!r}, which means other things to pairloom and to HuggingFace's"
        " tokenizers; write it another way, or save as 'pairloom'"
    )
