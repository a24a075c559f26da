"""What can be told of a pattern's matches without running it: whether they may be empty, or always are."""

from __future__ import annotations

from typing import Final

from pairloom.formats.shared.regex_syntax import GROUP, INTERVAL, REFERENCE, atom_end

__all__ = ["can_match_nothing", "never_consumes"]


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
        interval = INTERVAL.match(pattern, at) if character == "{" else None
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
            found = GROUP.match(pattern, at)
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
            end = atom_end(pattern, at)
            last_is_empty = pattern[at:end] in _EMPTY or REFERENCE.fullmatch(pattern[at:end]) is not None
            if pattern[at:end] == r"\K":
                # The match begins here; all before it counts as nothing.
                return True
            at = end
        assertion, earlier, before = levels[-1]
        levels[-1] = (assertion, earlier, before and last_is_empty)
    return any(earlier or current for _, earlier, current in levels)


_EMPTY: Final = frozenset(("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"))


def never_consumes(pattern: str) -> bool:
    r"""Whether a pattern matches only nothing: all of it is assertions. False for some such patterns.

    >>> [never_consumes(pattern) for pattern in (r"(?=[A-Z])|\b", r"(?<=a)(?=\d{3}$)", r"(?=a)a", "a*")]
    [True, True, False, False]
    """
    depth = at = 0  # depth counts groups from the outermost assertion on
    while at < len(pattern):
        character = pattern[at]
        if character == "(":
            text = found[0] if (found := GROUP.match(pattern, at)) else "("
            is_assertion = text[2:3] in ("=", "!") or text[:3] == "(?<"
            depth += not text.endswith(")") and (depth > 0 or is_assertion)
            at += len(text)
        elif character == ")":
            depth -= depth > 0
            at += 1
        else:
            end = atom_end(pattern, at)
            if depth == 0 and pattern[at:end] not in _EMPTY and character != "|":
                return False
            at = end
    return True
