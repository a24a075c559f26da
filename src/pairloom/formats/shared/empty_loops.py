r"""Respells loops whose body may match nothing, so that each round takes a character.

Oniguruma leaves such a loop behind a round that took nothing, other engines go on, or try what else the body can match
first. What the rounds take, and in which order ends are tried, can be written without such rounds where the body
prefers matches of nothing to all others, or all others to them: `(?:a|b*)*` is `(?:a|b+)*`, and `(?:a??)*` is `a*?`.
Where always nothing lies between others, as in `(?:a*|b)*`, the loop takes a's, then ends, then tries b: it is
`a*(?:ba*)*?`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pairloom.formats.shared.empty_matches import EMPTY, least_length
from pairloom.formats.shared.regex_syntax import FLAGS, GROUP, INTERVAL, NAMED_REFERENCE, REFERENCE, alternatives

__all__ = ["without_empty_rounds"]

# A body whose parts may all be nothing is written once for each part. Recursion is bounded, too.
_LONGEST: Final = 500
_MOST_GROUPS: Final = 50
_ENDLESS: Final = -1


def without_empty_rounds(loop: str) -> str | None:
    r"""The loop, a group and its quantifier, as a group whose rounds take something; None where it cannot be written.

    >>> [without_empty_rounds(loop) for loop in (r"(\s?)+", "(?:a*b?)*", r"(?:a|\b)+", "(?:a??)*", r"(?:\b|a)*")]
    ['(?:\\s*)', '(?:(?:a+b?|b)*)', '(?:a+|(?:\\b))', '(?:a*?)', None]
    >>> without_empty_rounds("(?:a*|b)*")
    '(?:a+(?:ba*)*?||ba*(?:ba*)*?)'
    """
    if len(loop) > _LONGEST or loop.count("(") > _MOST_GROUPS:
        return None
    try:
        return f"(?:{_alternatives(loop).whole})"
    except _NotExpressible:
        return None


class _NotExpressible(Exception):
    """A pattern whose matches of nothing lie between others, or that is unknown here."""


class _Parts(NamedTuple):
    """A pattern as two: its matches of something, and of nothing; None where there are none."""

    something: str | None
    nothing: str | None  # "" where it always may match nothing
    is_last: bool = True  # nothing is tried behind all else
    is_first: bool = True
    behind: str | None = None  # matches of something that are tried behind nothing, which there always is

    @property
    def whole(self) -> str:
        if self.behind is not None:
            return f"{self.something}||{self.behind}"
        if self.nothing is None or self.something is None:
            return self.something or self.nothing or ""
        if self.nothing:
            both = (self.something, self.nothing) if self.is_last else (self.nothing, self.something)
            return "|".join(both)
        return self._optional("" if self.is_last else "?")

    def _optional(self, lazy: str) -> str:
        something = self.something or ""
        if (loop := _as_loop(something)) is not None and loop[1] == "+" + lazy:
            return f"{loop[0]}*{lazy}"
        return f"{_grouped(something)}?{lazy}"


def _as_loop(pattern: str) -> tuple[str, str] | None:
    """The atom and the quantifier of a pattern that is nothing else."""
    items = alternatives(pattern)
    return items[0][0] if len(items) == 1 and len(items[0]) == 1 and items[0][0][1] else None


def _grouped(pattern: str) -> str:
    items = alternatives(pattern)
    is_atom = len(items) == 1 and len(items[0]) == 1 and not items[0][0][1]
    return pattern if is_atom else f"(?:{pattern})"


def _alternatives(pattern: str) -> _Parts:
    each = [_sequence(items) for items in alternatives(pattern)]
    if len(each) == 1:
        return each[0]
    if (between := _around_nothing(each)) is not None:
        return between
    something = [part for parts in each for part in (parts.something, parts.behind) if part is not None]
    nothing = [parts.nothing for parts in each if parts.nothing is not None]
    # Behind an alternative that may always be nothing, to be nothing again changes nothing.
    last = next((i for i, parts in enumerate(each) if parts.nothing is not None), len(each) - 1)
    is_last = all(parts.something is None for parts in each[last + 1 :]) and each[last].is_last
    is_first = not nothing or (last == 0 and each[0].is_first and (each[0].nothing == "" or len(each) == 1))
    return _checked(
        "|".join(something) if something else None,
        None if not nothing else "" if "" in nothing else "|".join(nothing),
        is_last,
        is_first,
    )


def _around_nothing(each: list[_Parts]) -> _Parts | None:
    """Alternatives of which the first that may be nothing always may, and not before or behind all others."""
    at = next((i for i, parts in enumerate(each) if parts.nothing is not None), None)
    if at is None or each[at].nothing != "":
        return None
    first = each[at]
    is_before = first.behind is not None or first.is_last
    before = [*each[:at], *([first] if is_before else [])]
    behind = [first.behind if is_before else first.something]
    behind += [part for parts in each[at + 1 :] for part in (parts.something, parts.behind)]
    found = ["|".join(part for part in side if part is not None) for side in ([p.something for p in before], behind)]
    if not all(found):
        return None
    if max(map(len, found)) > _LONGEST:
        raise _NotExpressible
    return _Parts(found[0], "", is_last=False, is_first=False, behind=found[1])


def _checked(something: str | None, nothing: str | None, is_last: bool, is_first: bool) -> _Parts:
    if something is None or nothing is None:
        return _Parts(something, nothing)
    if (not is_last and not is_first) or len(something) > _LONGEST:
        raise _NotExpressible
    return _Parts(something, nothing, is_last, is_first)


def _sequence(items: list[tuple[str, str]]) -> _Parts:
    if not items:
        return _Parts(None, "")
    parts = _item(*items[0])
    if len(items) == 1:
        return parts
    rest = _sequence(items[1:])
    if parts.behind is not None or rest.behind is not None:
        raise _NotExpressible
    if parts.nothing is None or rest.nothing is None:
        return _Parts("".join(atom + quantifier for atom, quantifier in items), None)
    behind = "".join(atom + quantifier for atom, quantifier in items[1:])
    taking = []
    if parts.something is not None:
        taking.append(_in_sequence(parts.something) + behind)
    if rest.something is not None:
        taking.append(_in_sequence(parts.nothing) + _in_sequence(rest.something))
    is_last = parts.is_last and rest.is_last
    is_first = parts.is_first and rest.is_first
    if not is_last:
        taking.reverse()
    return _checked(
        "|".join(taking) if taking else None,
        _in_sequence(parts.nothing) + _in_sequence(rest.nothing),
        is_last,
        is_first,
    )


def _in_sequence(pattern: str) -> str:
    return f"(?:{pattern})" if len(alternatives(pattern)) > 1 else pattern


def _item(atom: str, quantifier: str) -> _Parts:
    if atom == r"\K" or REFERENCE.fullmatch(atom) or NAMED_REFERENCE.fullmatch(atom):
        raise _NotExpressible
    if quantifier[-1:] == "+" and len(quantifier) > 1:
        return _atomic(_item(atom, quantifier[:-1]))
    if quantifier:
        return _repeated(atom, quantifier)
    if atom in EMPTY or atom.startswith(("(?=", "(?!", "(?<=", "(?<!")):
        return _Parts(None, atom)
    if least_length(atom) > 0:
        return _Parts(atom, None)
    found = GROUP.match(atom)
    if found is None or FLAGS.fullmatch(atom):
        raise _NotExpressible
    parts = _alternatives(atom[found.end() : -1])
    if found[0] == "(?>":
        return _atomic(parts)
    begin = "(?:" if found[0] == "(" else found[0]
    something = None if parts.something is None else _wrapped(begin, parts.something)
    nothing = None if parts.nothing is None else parts.nothing and f"{begin}{parts.nothing})"
    behind = None if parts.behind is None else _wrapped(begin, parts.behind)
    return parts._replace(something=something, nothing=nothing, behind=behind)


def _wrapped(begin: str, pattern: str) -> str:
    return pattern if begin == "(?:" and len(alternatives(pattern)) == 1 else f"{begin}{pattern})"


def _atomic(parts: _Parts) -> _Parts:
    """Only the first match that is found."""
    if parts.behind is not None:
        parts = _Parts(parts.something, "", is_first=False)
    if parts.something is None or parts.nothing is None:
        something = None if parts.something is None else f"(?>{parts.something})"
        return parts._replace(something=something)
    if parts.is_last:
        nothing = f"(?!{parts.something}){_in_sequence(parts.nothing)}"
        return parts._replace(something=f"(?>{parts.something})", nothing=nothing)
    if parts.nothing == "":
        return _Parts(None, "")
    raise _NotExpressible


def _repeated(atom: str, quantifier: str) -> _Parts:
    parts = _item(atom, "")
    lazy = "?" if len(quantifier) > 1 and quantifier[-1] == "?" else ""
    interval = INTERVAL.match(quantifier)
    if interval:
        least = int(interval[1])
        most = int(interval[3]) if interval[3] else _ENDLESS if interval[2] else least
    else:
        least, most = {"*": (0, _ENDLESS), "+": (1, _ENDLESS), "?": (0, 1)}[quantifier[0]]
    if most == 0:
        return _Parts(None, "")
    if parts.something is None:
        return _Parts(None, "" if least == 0 else parts.nothing)
    if parts.nothing is None:
        if least > 0:
            return _Parts(atom + quantifier, None)
        return _Parts(_times(parts.something, 1, most, lazy), "", not lazy, bool(lazy))
    if parts.behind is not None:
        return _repeated_around_nothing(parts.something, parts.behind, quantifier)
    if (least, most) == (0, 1):
        # Nothing is preferred where it is first in the body, or where the quantifier is lazy.
        if parts.nothing and not lazy and not parts.is_last:
            raise _NotExpressible
        is_first = bool(lazy) or (parts.is_first and not parts.is_last)
        return _Parts(parts.something, "", not is_first, is_first)
    is_bounded = most != _ENDLESS
    is_unknown = (
        (least > 1 and parts.nothing != "")
        or ((is_bounded or least > 1) and not parts.is_last)
        or ((is_bounded or least > 1) and least > 0 and lazy != "")
        or (least == 0 and parts.nothing != "" and not parts.is_last and lazy == "")
    )
    if is_unknown:
        raise _NotExpressible
    nothing = "" if least == 0 else parts.nothing
    is_first = (bool(lazy) and least == 0) or not parts.is_last
    how = "?" if lazy or not parts.is_last else ""
    return _Parts(_times(parts.something, 1, most, how), nothing, not is_first, is_first)


def _repeated_around_nothing(before: str, behind: str, quantifier: str) -> _Parts:
    """The loop of a body that tries `before`, nothing, and `behind`, in this order."""
    both = _grouped(f"{before}|{behind}")
    if quantifier == "?":
        return _Parts(before, "", is_last=False, is_first=False, behind=behind)
    if quantifier in ("*?", "??"):
        return _Parts(both + ("+?" if quantifier == "*?" else ""), "", is_last=False)
    if quantifier not in ("*", "+") or 4 * len(both) > _LONGEST:
        raise _NotExpressible
    # A round of nothing ends the loop.
    some, second = _times(before, 1, _ENDLESS, ""), _grouped(behind)
    any_number = _Parts(some, "").whole
    rest = f"(?:{second}{any_number})*?"
    return _Parts(some + rest, "", is_last=False, is_first=False, behind=second + any_number + rest)


def _times(pattern: str, least: int, most: int, lazy: str) -> str:
    if most == 1:
        return pattern
    if most != _ENDLESS:
        return f"{_grouped(pattern)}{{{least},{most}}}{lazy}"
    # A greedy run of greedy runs is one run, and so with lazy ones.
    if (loop := _as_loop(pattern)) is not None and loop[1] == "+" + lazy:
        return pattern
    return f"{_grouped(pattern)}+{lazy}"
