"""The named patterns.

The texts are in named_patterns.json, which the core reads too. For each name it has a description and spellings. A
spelling is one regular expression, or several that split one after the other; the matches are the pretokens. The first
spelling defines the name. It uses neither possessive quantifiers nor `$`, because engines disagree about these; tests
check that it matches exactly what the owner's text matches. The other spellings are published ones that give the same
pretokens.

Sources: OpenAI's gpt-2 and tiktoken (r50k_base, cl100k_base, o200k_base); the tokenizer.json, tekken.json and Python
files that the other models are published with.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, overload

from pairloom._internal.arguments import shown

_NAMED: Final[list[tuple[str, str, list[list[str]]]]] = json.loads(
    Path(__file__).with_name("named_patterns.json").read_bytes()
)


def _text(steps: list[str]) -> str | tuple[str, ...]:
    return steps[0] if len(steps) == 1 else tuple(steps)


SPELLINGS: Final[Mapping[str, tuple[str | tuple[str, ...], ...]]] = MappingProxyType(
    {name: tuple(map(_text, spellings)) for name, _, spellings in _NAMED}
)
"""All spellings of each named pattern that give the same pretokens; the first is what the name means."""

PATTERNS: Final[Mapping[str, str | tuple[str, ...]]] = MappingProxyType(
    {name: spellings[0] for name, spellings in SPELLINGS.items()}
)
"""Every name that can be given where a pattern is asked for; several texts split one after the other."""

GPT2: Final = str(PATTERNS["gpt2"])
"""The text of the pattern "gpt2"."""

BYTE_LEVEL: Final = "(?#byte_level)"
"""As one of several patterns: those behind it see the bytes of a segment as letters of GPT-2's byte alphabet."""

_COMMENT: Final = re.compile(r"\(\?#(isolated|contiguous|merged_with_previous|merged_with_next)\)")


def uncommented(pattern: str) -> tuple[str | None, str]:
    """What a pattern says about its matches (see `reference.pretokens`), None if nothing, and its regular expression.

    >>> uncommented("(?#contiguous)[0-9]")
    ('contiguous', '[0-9]')
    """
    found = _COMMENT.match(pattern)
    return (None, pattern) if found is None else (found[1], pattern[found.end() :])


def commented(pattern: str, comment: str) -> str:
    """The pattern with what is said about its matches.

    >>> commented("[0-9]", "contiguous")
    '(?#contiguous)[0-9]'
    """
    return f"(?#{comment}){pattern}"


@overload
def pattern_text(pattern: Literal["gpt2", "cl100k", "o200k"]) -> str: ...
@overload
def pattern_text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...]: ...
def pattern_text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...]:
    r"""Gives the text of a named pattern; a regular expression comes back as it is, a tuple part by part (one part
    alone as a str).

    >>> pattern_text("gpt2") == GPT2
    True
    >>> pattern_text(r"\\S+|\\s+")
    '\\\\S+|\\\\s+'

    A bare word is taken for a name: ValueError lists the known ones if it is none of them.
    """
    if isinstance(pattern, tuple):
        if not pattern:
            raise ValueError("the pattern has no parts; name one of " + ", ".join(PATTERNS))
        steps = tuple(step for part in pattern for step in _steps(pattern_text(part)))
        return steps[0] if len(steps) == 1 else steps
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str or a tuple of str, not {type(pattern).__name__}")
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the pattern {shown(pattern)} holds a lone surrogate, which is not text") from error
    if pattern in PATTERNS:
        return PATTERNS[pattern]
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]+", pattern):
        raise ValueError(
            f"no pattern is named {shown(pattern)}; the names are {', '.join(PATTERNS)},"
            " and anything with other characters than letters, digits, -, . and _ is a regular expression"
        )
    if not pattern:
        raise ValueError("the pattern is empty; name one of " + ", ".join(PATTERNS))
    return pattern


def _steps(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def pattern_name(text: str | tuple[str, ...]) -> str | None:
    """The name of the pattern with exactly this text, or None.

    >>> pattern_name(GPT2)
    'gpt2'
    """
    return next((name for name, known in PATTERNS.items() if known == text), None)
