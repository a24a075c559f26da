"""Code points that Python's `regex` classifies differently from Unicode 16.0, the version of the core's tables.

Comparisons between the two skip these code points, and count them.
"""

import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

import pytest
import regex

GPT2_CLASSES = ("L", "N")
"""The classes that the patterns gpt2 and cl100k ask for, beside white space."""

O200K_CLASSES = ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "N")
"""The classes that the pattern o200k asks for, beside white space."""

WHITE_SPACE = frozenset(
    {*map(ord, "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"), *range(0x2000, 0x200B)}
)
"""The property White_Space, which `\\s` means here; unchanged since Unicode 6.3."""


def unicode16_category() -> Callable[[str], str]:
    """Returns a character's general category in Unicode 16.0; skips the test if no such table is available.

    Python 3.14 has it; elsewhere the package unicodedata2 does.
    """
    if unicodedata.unidata_version.startswith("16."):
        return unicodedata.category
    table = pytest.importorskip("unicodedata2", reason="neither Python nor unicodedata2 has Unicode 16")
    if not table.unidata_version.startswith("16."):
        pytest.skip(f"unicodedata2 has Unicode {table.unidata_version}, not 16")
    category: Callable[[str], str] = table.category
    return category


def unicode16_differences(classes: Sequence[str] = GPT2_CLASSES) -> set[int]:
    """Returns the code points whose class, or whose being white space, differs between `regex` and Unicode 16.0.

    Surrogates are left out: no text contains them.
    """
    category = unicode16_category()
    sixteen = {point: category(chr(point)) for point in range(sys.maxunicode + 1)}
    differences = set(_members(r"\s") ^ WHITE_SPACE)
    for name in classes:
        members = {point for point, found in sixteen.items() if found.startswith(name)}
        differences |= _members(rf"\p{{{name}}}") ^ members
    return differences - set(range(0xD800, 0xE000))


@cache
def _members(pattern: str) -> frozenset[int]:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    return frozenset(ord(match.group()) for match in regex.finditer(pattern, everything))
