r"""The syntax of regular expressions, as far as pairloom's dialect and Oniguruma's share it: where an atom ends.

What is not known to be shared is refused by name.
"""

from __future__ import annotations

import re
from typing import Final

from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import shown

__all__ = [
    "CODE_POINT",
    "FLAGS",
    "GROUP",
    "INTERVAL",
    "NAMED_REFERENCE",
    "POSIX",
    "PROPERTY",
    "REFERENCE",
    "alternatives",
    "atom_end",
    "escape_end",
    "least_repeats",
    "refusal",
]

GROUP: Final = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|<[A-Za-z_]\w*>|[ims]+:|-i:|[ims]+\))|(?!\?))")
FLAGS: Final = re.compile(r"\(\?[ims]+\)")
PROPERTY: Final = re.compile(r"\\[pP]\{(\^?)([A-Za-z_ =]+)\}")
CODE_POINT: Final = re.compile(r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}")
INTERVAL: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
REFERENCE: Final = re.compile(r"\\[1-9](?!\d)")
NAMED_REFERENCE: Final = re.compile(r"\\k(?:<(-?\w+)>|'(-?\w+)')")
# Escapes that mean the same: assertions and classes by Unicode's properties, and control characters.
_SAME: Final = frozenset("dDsSAzntrfva")
# Those that are rewritten.
_OTHER: Final = frozenset("wWbBhH")
# Those that are none in a class.
_NO_MEMBERS: Final = frozenset((r"\K", r"\G", r"\X"))
POSIX: Final = re.compile(
    r"\[:(\^?)(alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)


def atom_end(pattern: str, at: int) -> int:
    """Where the escape, class or character at `at` ends."""
    character = pattern[at]
    if character == "\\":
        if REFERENCE.match(pattern, at) or pattern[at : at + 2] in _NO_MEMBERS:
            return at + 2
        if (named := NAMED_REFERENCE.match(pattern, at)) is not None:
            return named.end()
        return escape_end(pattern, at)
    if character == "[":
        return _class_end(pattern, at)
    return at + 1


def escape_end(pattern: str, at: int) -> int:
    """Where the escape at `at` ends; FormatError for one that the engines do not share."""
    for form in (PROPERTY, CODE_POINT):
        if found := form.match(pattern, at):
            return found.end()
    letter = pattern[at + 1 : at + 2]
    if not letter or (letter.isalnum() and letter not in _SAME and letter not in _OTHER and letter not in "RONeZ"):
        raise refusal(pattern, pattern[at : at + 2])
    return at + 2


def _class_end(pattern: str, at: int) -> int:
    depth = 0
    start = at
    while at < len(pattern):
        if pattern[at] == "\\":
            at = escape_end(pattern, at)
            continue
        if (posix := POSIX.match(pattern, at)) is not None:
            at = posix.end()
            continue
        # Oniguruma forgets a range that ends in a class.
        for operator in ("[:", "--", "~~", "-&&", "-["):
            if pattern.startswith(operator, at):
                raise refusal(pattern, operator)
        if pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]":
            depth -= 1
        at += 1
        if depth == 0:
            return at
    raise refusal(pattern, pattern[start : start + 4])


def alternatives(pattern: str) -> list[list[tuple[str, str]]]:
    """The alternatives, each as its atoms, groups among them, and their quantifiers."""
    found: list[list[tuple[str, str]]] = [[]]
    at = 0
    while at < len(pattern):
        begin = at
        if pattern[at] == "|":
            found.append([])
            at += 1
            continue
        at = _group_end(pattern, at) if pattern[at] == "(" else atom_end(pattern, at)
        atom = pattern[begin:at]
        begin = at
        interval = INTERVAL.match(pattern, at)
        if interval or pattern[at : at + 1] in ("*", "+", "?"):
            at = interval.end() if interval else at + 1
            at += pattern[at : at + 1] in ("?", "+")
        found[-1].append((atom, pattern[begin:at]))
    return found


def _group_end(pattern: str, at: int) -> int:
    start, depth = at, 0
    while at < len(pattern):
        if pattern[at] == "(":
            found = GROUP.match(pattern, at)
            if found is None:
                raise refusal(pattern, pattern[at : at + 4])
            depth += 1
            at = found.end()
            depth -= found[0].endswith(")")
        elif pattern[at] == ")":
            depth -= 1
            at += 1
        else:
            at = atom_end(pattern, at)
        if depth == 0:
            return at
    raise refusal(pattern, pattern[start : start + 4])


def least_repeats(quantifier: str) -> int:
    """How often a quantifier repeats at least; 1 for none."""
    interval = INTERVAL.match(quantifier)
    return int(interval[1]) if interval else int(quantifier[:1] not in ("*", "?"))


def refusal(pattern: str, construct: str) -> FormatError:
    """The error for a pattern with a construct that cannot be translated."""
    return FormatError(
        f"pattern {shown(pattern, 200)} uses {construct!r}, which means other things to pairloom and to HuggingFace's"
        " tokenizers; write it another way, or save as 'pairloom'"
    )
