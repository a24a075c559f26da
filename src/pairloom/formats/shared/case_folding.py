r"""Where Oniguruma ignores case in another way than pairloom's engines.

Letter by letter both engines agree (measured over all of Unicode 16.0). But there a letter can be equal to several:
`(?i:ss)` finds "ß", and `(?i:[ß])` finds "ss". There a class by a property, outside of brackets, keeps its case; and a
class in brackets gets the other case of its members when all its parts are put together, here each part does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain, groupby
from typing import Final

from pairloom import _core

__all__ = ["equal_to", "ignoring_case", "is_part_of_several", "keeps_its_case", "letter_ignoring_case"]

# Properties of which no other case of a member is a member of none: by them ignoring case changes nothing.
_CLOSED: Final = frozenset(("N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Z", "Zs"))

# Where the letters lie that are equal to several: to look at all of Unicode takes a tenth of a second.
_BLOCKS_OF_SEVERAL: Final = (range(0x2000), range(0xFB00, 0xFB50))

# Classes of ASCII written out, whose members of two cases are equal to single letters only.
_ASCII_CLASS: Final = re.compile(r"\[\^?(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[\w .,;:'\"/])*\]", re.ASCII)


def keeps_its_case(name: str) -> bool:
    r"""Whether ignoring case leaves the class `\p{name}` as it is."""
    return name in _CLOSED


def is_part_of_several(literal: str) -> bool:
    """Whether several letters of the text, in a row, are together equal to one.

    >>> [is_part_of_several(text) for text in ("'s", "less", "fi", "\u0149", "'ll")]
    [False, True, True, True, False]
    """
    folded = "".join(map(str.casefold, literal))
    return any(several in folded for several in _several().values())


def ignoring_case(members: str) -> str:
    r"""A class of pairloom's dialect as Oniguruma runs it where case is ignored.

    All letters that are equal to a member are members, also where it is negated or has negated parts; and several in a
    row that are together equal to one, unless it is negated.

    >>> [ignoring_case(text) for text in ("[a-z.]", r"[ß[^\S]]")]
    ['[a-z.]', '(?:(?-i:[ß[^\\S]ẞ])|(?i:ss))']
    """
    if _ASCII_CLASS.fullmatch(members):
        return members
    is_negated = members.startswith("[^")
    inside = f"[{members[2:]}" if is_negated else members
    before = _found(_changing(), inside)
    after = _found(_changing(), f"(?i:[{''.join(map(re.escape, before))}])") if before else []
    added = sorted(set(after).difference(before))
    several = [] if is_negated else sorted({_several()[letter] for letter in after if letter in _several()})
    inside = inside[1:-1] if "&&" not in inside else inside
    text = f"(?-i:[{'^' if is_negated else ''}{inside}{_ranges(added)}])"
    if not several and _found(_changing(), text) == _found(_changing(), f"(?i:{members})"):
        return members
    return f"(?:{text}|{'|'.join(f'(?i:{letters})' for letters in several)})" if several else text


def letter_ignoring_case(letter: str) -> str | None:
    """A letter that is equal to several, as Oniguruma runs it where case is ignored; None for any other."""
    letters = _several().get(letter)
    return f"(?:(?i:{letter})|(?i:{letters}))" if letters else None


def equal_to(letters: str) -> str:
    """The letters that are equal to several in a row.

    >>> equal_to("ss")
    'ßẞ'
    """
    return "".join(letter for letter, several in _several().items() if several == letters.casefold())


def _ranges(letters: Sequence[str]) -> str:
    text = ""
    for _, group in groupby(enumerate(letters), lambda each: ord(each[1]) - each[0]):
        run = [letter for _, letter in group]
        text += "".join(run) if len(run) < 3 else f"{run[0]}-{run[-1]}"
    return text


def _found(letters: str, pattern: str) -> list[str]:
    """The letters that a class has."""
    # Each one twice: two matches are two pretokens, and what does not match is one.
    pieces = (piece.decode() for piece in _core.pretokenize("".join(2 * letter for letter in letters), pattern))
    return list(dict.fromkeys(piece for piece in pieces if len(piece) == 1))


@cache
def _changing() -> str:
    """The letters of two cases, in the order of their code points."""
    return "".join(
        _found("".join(map(chr, chain(range(0xD800), range(0xE000, 0x20000)))), r"\p{Changes_When_Casemapped}")
    )


@cache
def _several() -> dict[str, str]:
    """The letters that are equal to several, and those."""
    return {c: c.casefold() for c in map(chr, chain(*_BLOCKS_OF_SEVERAL)) if len(c.casefold()) > 1}
