"""Classes of characters by which steps of HuggingFace's library split, as regular expressions.

Its tables are of other Unicode versions than pairloom's: measured over all code points with tokenizers 0.23.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DIGIT", "PUNCTUATION"]

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
