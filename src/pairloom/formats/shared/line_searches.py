r"""Regexes that Oniguruma does not look for at every position, and so misses matches of.

Where all matches begin with `.+` or the like, it goes on behind the next newline when a search has failed: were there a
match later in the line, there would have been one here. That is wrong behind assertions, as in `\b.+c` and
`(?=a*b|c).+`. Where `.` is a newline too, it does not go on at all.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pairloom.formats.shared.empty_matches import EMPTY
from pairloom.formats.shared.regex_syntax import FLAGS, GROUP, alternatives, least_repeats

__all__ = ["skips_positions"]


def skips_positions(pattern: str) -> str | None:
    r"""The repetition because of which Oniguruma may miss matches of its pattern; None where there is none.

    Raises FormatError for a pattern that is not known here.

    >>> [skips_positions(text) for text in (r"\b.+c", r"(?=a*b|c).+", r"(?=[A-Z]).+", ".+c", r"\b.+c|d", r"(?!a).+c")]
    ['.+', '.+', None, None, None, None]
    >>> [skips_positions(text) for text in (r"\b\O+", r"(?m)(?=a).*", r"(?<=a)\O+")]
    ['\\O+', '.*', None]
    """
    if not _DOTS.search(pattern):
        return None
    of_lines = _start(pattern, (".", r"\N"))
    if of_lines.dots and of_lines.is_asserted and of_lines.looks_far and not of_lines.is_guarded:
        return of_lines.dots
    of_text = _start(pattern, (".", r"\O") if _IS_NEWLINE.search(pattern) else (r"\O",))
    if of_text.dots and of_text.is_asserted and not of_text.is_behind:
        return of_text.dots
    return None


_DOTS: Final = re.compile(r"(?:\.|\\[NO])(?:[*+]|\{\d+,\})(?!\?)")
_UNBOUNDED: Final = re.compile(r"[*+]|\{\d+,\}")
_IS_NEWLINE: Final = re.compile(r"\(\?[isx]*m")
_LOOKS: Final = ("(?=", "(?!", "(?<=", "(?<!")


class _Start(NamedTuple):
    """What all matches begin with."""

    dots: str = ""
    is_asserted: bool = False  # an assertion stands before them
    is_guarded: bool = False  # among them one that makes Oniguruma try all positions
    is_behind: bool = False  # and that is `(?<=...)`
    looks_far: bool = False  # a letter that all matches have, at any distance, is looked for first
    is_nothing: bool = False  # there is nothing but assertions


def _start(pattern: str, dots: tuple[str, ...]) -> _Start:
    each = [_start_of_sequence(items, dots) for items in alternatives(pattern)]
    return _Start(
        each[0].dots if all(start.dots for start in each) else "",
        any(start.is_asserted for start in each),
        all(start.is_guarded for start in each),
        all(start.is_behind for start in each),
        any(start.looks_far for start in each),
        all(start.is_nothing for start in each),
    )


def _start_of_sequence(items: list[tuple[str, str]], dots: tuple[str, ...]) -> _Start:
    before = _Start(is_nothing=True)
    for at, (atom, quantifier) in enumerate(items):
        has_letters_behind = _has_letters("".join(map("".join, items[at + 1 :])))
        if atom in dots and _DOTS.match(atom + quantifier):
            looks_far = before.looks_far or has_letters_behind
            return before._replace(dots=atom + quantifier, looks_far=looks_far, is_nothing=False)
        if FLAGS.fullmatch(atom):
            continue
        if atom in EMPTY or atom == r"\K":
            before = before._replace(is_asserted=True)
        elif atom.startswith(_LOOKS):
            before = before._replace(
                is_asserted=True,
                is_guarded=before.is_guarded or atom.startswith(("(?!", "(?<=")),
                is_behind=before.is_behind or atom.startswith("(?<="),
                looks_far=before.looks_far or (_UNBOUNDED.search(atom) is not None and _has_letters(atom)),
            )
        elif (group := GROUP.match(atom)) and least_repeats(quantifier) > 0:
            inner = _start(atom[group.end() : -1], dots)
            before = _Start(
                inner.dots,
                before.is_asserted or inner.is_asserted or inner.is_nothing,
                before.is_guarded or inner.is_guarded,
                before.is_behind or inner.is_behind,
                before.looks_far or inner.looks_far or has_letters_behind,
                inner.is_nothing,
            )
            if not inner.is_nothing:
                return before
        else:
            return _Start()
    return before


def _has_letters(pattern: str) -> bool:
    """Whether the pattern has an atom that Oniguruma may look for: a character, or a class, which may be of ASCII."""
    return _LETTERS.search(_NO_LETTERS.sub("", pattern)) is not None


# What begins groups, quantifiers, and classes that are not of ASCII only.
_NO_LETTERS: Final = re.compile(
    r"\(?\?(?:[:>=!]|<[=!]|<\w+>|-?[ims]+[:)])|\{\d+(?:,\d*)?\}|\\[wWdDsSNORXbBAzZGK]|\\[pP]\{[^}]*\}"
)
_LETTERS: Final = re.compile(r"[^.*+?()|^$]")
