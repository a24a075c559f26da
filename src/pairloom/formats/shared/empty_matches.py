"""What can be told of a pattern's matches without running it: how long they are, and whether they may be empty."""

from __future__ import annotations

from typing import Final

from pairloom.formats.shared.regex_syntax import GROUP, INTERVAL, NAMED_REFERENCE, REFERENCE, atom_end

__all__ = ["EMPTY", "can_match_nothing", "least_length", "never_consumes"]


def can_match_nothing(pattern: str) -> bool:
    r"""Whether a pattern may match an empty text; True for some that cannot, such as `(?=a)a?(?<=a)`.

    >>> [can_match_nothing(pattern) for pattern in (r"a|b+", r"a*", r"(?:a|(?=b))", r"[ab]{0,2}c", r"a\K")]
    [False, True, True, False, True]
    """
    # A match begins where `\K` stands; all before it counts as nothing.
    return least_length(pattern) == 0 or r"\K" in pattern


def least_length(pattern: str) -> int:
    r"""How many characters a text must have that the pattern matches in; less for some, such as `(?=ab)a`.

    >>> [least_length(pattern) for pattern in (r"a|bc+", r"a*b", r"(?:ab){2,3}|\.{5}", r"a\Kb", r"(ab)\1", r"\*?")]
    [1, 1, 4, 2, 4, 0]
    """
    # Of each open group: what begins it, the least of the alternatives before, and of this one so far.
    levels: list[tuple[str, int, int]] = [("", _NONE_BEFORE, 0)]
    captured: list[int] = []  # the least length of each group that references may name
    numbers: list[int] = []  # of the open ones
    at = 0
    atom = 0  # the last one's least length
    is_quantified = True  # and what stands behind it is lazy or possessive
    while at < len(pattern):
        character = pattern[at]
        begin, earlier, current = levels[-1]
        interval = INTERVAL.match(pattern, at) if character == "{" else None
        if character in "*?+" or interval:
            at = interval.end() if interval else at + 1
            n_times = int(interval[1]) if interval else int(character == "+")
            # `a{2}?` may be nothing in one of the engines.
            if not is_quantified or (character == "?" and pattern[at - 2] == "}"):
                levels[-1] = (begin, earlier, current + (n_times - 1) * atom)
                atom *= n_times
            is_quantified = True
            continue
        is_quantified = False
        if character == "(":
            found = GROUP.match(pattern, at)
            text = found[0] if found else "("
            at += len(text)
            is_quantified = True
            if not text.endswith(")"):
                levels.append((text, _NONE_BEFORE, 0))
                if text == "(":
                    numbers.append(len(captured))
                    captured.append(0)
        elif character == "|":
            levels[-1] = (begin, min(earlier, current), 0)
            at += 1
            is_quantified = True
        elif character == ")" and len(levels) > 1:
            levels.pop()
            atom = 0 if begin[2:3] in ("=", "!") or begin[:3] == "(?<" else min(earlier, current)
            if begin == "(":
                captured[numbers.pop()] = atom
            levels[-1] = (*levels[-1][:2], levels[-1][2] + atom)
            at += 1
        else:
            end = atom_end(pattern, at)
            text = pattern[at:end]
            if REFERENCE.fullmatch(text) is not None:
                atom = captured[int(text[1:]) - 1] if int(text[1:]) <= len(captured) else 0
            else:
                is_empty = text in EMPTY or text == r"\K" or NAMED_REFERENCE.fullmatch(text) is not None
                atom = 0 if is_empty else 1
            levels[-1] = (begin, earlier, current + atom)
            at = end
    return min(min(earlier, current) for _, earlier, current in levels)


_NONE_BEFORE: Final = 1 << 62

# Atoms that match nothing.
EMPTY: Final = frozenset(("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B", r"\G"))


def never_consumes(pattern: str) -> bool:
    r"""Whether a pattern matches only nothing: all of it is assertions, or stands before a `\K`. False for some such
    patterns.

    >>> [never_consumes(pattern) for pattern in (r"(?=[A-Z])|\b", r"(?<=a)(?=\d{3}$)", r"(?=a)a", "a*", r"a\K(?=b)")]
    [True, True, False, False, True]
    """
    depth = at = n_groups = 0  # depth counts groups from the outermost assertion on
    consumes = False
    while at < len(pattern):
        character = pattern[at]
        if character == "(":
            text = found[0] if (found := GROUP.match(pattern, at)) else "("
            is_assertion = text[2:3] in ("=", "!") or text[:3] == "(?<"
            n_groups += not text.endswith(")")
            depth += not text.endswith(")") and (depth > 0 or is_assertion)
            at += len(text)
        elif character == ")":
            n_groups -= n_groups > 0
            depth -= depth > 0
            at += 1
        else:
            end = atom_end(pattern, at)
            atom = pattern[at:end]
            if n_groups == 0 and atom == "|" and consumes:
                return False
            if n_groups == 0 and atom == r"\K":
                consumes = False
            elif depth == 0 and atom not in EMPTY and atom != "|":
                consumes = True
            at = end
    return not consumes
