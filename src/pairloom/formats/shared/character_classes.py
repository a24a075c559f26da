"""Classes of characters by which steps of HuggingFace's library split, as regular expressions.

Its tables are of other Unicode versions than pairloom's: measured over all code points with tokenizers 0.23.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CLUSTER", "DIGIT", "LETTERS", "PUNCTUATION", "WORDS"]

DIGIT: Final = "[\\p{N}\U00011de0-\U00011de9\U00016ff4-\U00016ff6]"
"""Digits: numbers of Unicode 17."""

PUNCTUATION: Final = (
    "[\\p{P}$+<=>^`|~\u166d\U000111c9&&[^\u061d\u09fd\u0a76\u0c77-\u0c84\u1b4e-\u1b4f\u1b7d-\u1b7f\u2e43-\u2e5d"
    "\U00010d6e\U00010ead\U00010f55-\U00010f59\U00010f86-\U00010f89\U000113d4-\U000113d8\U0001144b-\U0001145d"
    "\U00011660-\U0001166c\U000116b9\U0001183b\U00011944-\U00011946\U000119e2\U00011a3f-\U00011a46"
    "\U00011a9a-\U00011aa2\U00011b00-\U00011b09\U00011be1\U00011c41-\U00011c45\U00011c70-\U00011c71"
    "\U00011ef7-\U00011ef8\U00011f43-\U00011f4f\U00011fff\U00012ff1-\U00012ff2\U00016d6d-\U00016d6f"
    "\U00016e97-\U00016e9a\U00016fe2\U0001e5ff\U0001e95e-\U0001e95f]]"
)
"""Punctuation: that of an older Unicode, and all of ASCII that is neither letter, digit nor space."""

_LETTERS = "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0143"
_WORD = _LETTERS + "0-9_\u00b5"

LETTERS: Final = f"[{_LETTERS}]+"
"""UnicodeScripts behind ByteLevel: runs of the letters of the byte alphabet; the others are of no script."""

WORDS: Final = f"[{_WORD}]+|[^{_WORD}]+"
"""Whitespace behind ByteLevel, where there is no white space left."""


def _cluster() -> str:
    names = ("L", "V", "T", "LV", "LVT", "RI", "PP", "EX", "ZWJ", "SM", "CN")
    lead, vowel, trail, lv, lvt, regional, prepend, extend, zwj, spacing, control = (
        rf"\p{{gcb={name}}}" for name in names
    )
    pictograph = r"\p{ExtPict}"
    hangul = rf"{lead}*(?:[{lv}{vowel}]{vowel}*{trail}*|{lvt}{trail}*)|{lead}+|{trail}+"
    # Only these depend on the text before, back to its beginning: flags are pairs of regional indicators, and ZWJ joins
    # two pictographs.
    flag = rf"(?<=(?:\A|[^{regional}])(?:{regional}{regional})*){regional}{regional}"
    joined = rf"{extend}*{zwj}{pictograph}"
    emoji = rf"(?:{pictograph}|(?<={pictograph}{extend}*){joined})(?:{joined})*"
    core = rf"{flag}|{emoji}|{hangul}|[^\r\n{control}]"
    return rf"(?>\r\n|[\r\n{control}]|{prepend}*(?:{core})[{extend}{zwj}{spacing}]*)"


CLUSTER: Final = _cluster()
r"""A grapheme cluster, `\X`, by Unicode's annex 29 as Oniguruma 6.9.10 has it: tables of 16.0, without rule GB9c."""
