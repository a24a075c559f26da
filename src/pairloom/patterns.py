"""The named patterns, as text.

Enters: a name ("gpt2") or a regular expression. Leaves: the text of a regular expression.

A pattern's matches are the pretokens. Each text is written without possessive quantifiers and
without `$`, because these two mean different things to different engines; it matches exactly what
the owner's own text matches, which the tests check against that text.
Sources: OpenAI's gpt-2 and tiktoken (r50k_base, cl100k_base, o200k_base).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, overload

GPT2: Final = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""GPT-2, GPT-3: a contraction, letters, digits, other characters, or white space."""

CL100K: Final = "|".join(
    [
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        # White space up to the end of the text is one pretoken, newlines included; `(?![\s\S])` is
        # the end of the text in every engine. The first published text lacked this alternative.
        r"\s+(?![\s\S])",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""GPT-3.5 and GPT-4: any case of contraction, digits in threes, newlines kept together."""

_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

O200K: Final = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""GPT-4o and later: words also break where lower case turns to upper case."""

PATTERNS: Final[Mapping[str, str]] = MappingProxyType({"gpt2": GPT2, "cl100k": CL100K, "o200k": O200K})
"""Every name that can be given where a pattern is asked for."""


@overload
def pattern_text(pattern: str) -> str: ...
@overload
def pattern_text(pattern: tuple[str, ...]) -> tuple[str, ...]: ...
@overload
def pattern_text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...]: ...
def pattern_text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...]:
    r"""Gives the text of a named pattern; a regular expression comes back as it is, a tuple part by part.

    >>> pattern_text("gpt2") == GPT2
    True
    >>> pattern_text(r"\\S+|\\s+")
    '\\\\S+|\\\\s+'

    A bare word is taken for a name: ValueError lists the known ones if it is none of them.
    """
    if isinstance(pattern, tuple):
        return tuple(pattern_text(part) for part in pattern)
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str or a tuple of str, not {type(pattern).__name__}")
    if pattern in PATTERNS:
        return PATTERNS[pattern]
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]+", pattern):
        raise ValueError(
            f"no pattern is named {pattern!r}; the names are {', '.join(PATTERNS)},"
            " and anything with other characters than letters, digits, - and _ is a regular expression"
        )
    if not pattern:
        raise ValueError("the pattern is empty; name one of " + ", ".join(PATTERNS))
    return pattern


def pattern_name(text: str | tuple[str, ...]) -> str | None:
    """The name of the pattern with exactly this text, or None.

    >>> pattern_name(GPT2)
    'gpt2'
    """
    return next((name for name, known in PATTERNS.items() if known == text), None)
