r"""Where Oniguruma ignores case in another way than pairloom's engines, so that a pattern cannot be translated.

Letter by letter both engines agree (measured over all of Unicode 16.0). But there a letter can be equal to several:
`(?i:ss)` finds "ß", and `(?i:[ß])` finds "ss". And there a class by a property, outside of brackets, keeps its case.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Final

from pairloom import _core

__all__ = ["folds_to_several", "is_part_of_several", "keeps_its_case"]

# Properties of which no other case of a member is a member of none: by them ignoring case changes nothing.
_CLOSED: Final = frozenset(("N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Z", "Zs"))


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


def folds_to_several(members: str) -> bool:
    """Whether the class has a letter that is equal to several in a row."""
    letters = list(_several())
    # Each one twice: two matches are two pretokens, and what does not match is one.
    return any(len(_core.pretokenize(2 * letter, members)) > 1 for letter in letters)


@cache
def _several() -> dict[str, str]:
    """The letters that are equal to several, and those."""
    return {c: c.casefold() for c in map(chr, range(sys.maxunicode + 1)) if len(c.casefold()) > 1}
