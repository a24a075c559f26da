"""The named patterns.

The core reads them from named_patterns.json too. That file has a description and several spellings for each name. A
spelling is one regular expression, or several, each splitting the pieces that the previous one left; the matches are
the pretokens. The first spelling defines the name. It avoids possessive quantifiers and `$`, because engines disagree
about them; tests check that it matches exactly what the model owner's text matches. The other spellings are published
ones that produce the same pretokens.

Sources: OpenAI's gpt-2 and tiktoken (r50k_base, cl100k_base, o200k_base); the tokenizer.json, tekken.json and Python
files published with the other models.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pairloom._internal.arguments import shown

_NAMED_PATTERNS: Final[list[tuple[str, str, list[list[str]]]]] = json.loads(
    Path(__file__).with_name("named_patterns.json").read_bytes()
)


def _text(steps: list[str]) -> str | tuple[str, ...]:
    return steps[0] if len(steps) == 1 else tuple(steps)


SPELLINGS: Final[Mapping[str, tuple[str | tuple[str, ...], ...]]] = MappingProxyType(
    {name: tuple(map(_text, spellings)) for name, _, spellings in _NAMED_PATTERNS}
)
"""The spellings of each named pattern, which all produce the same pretokens; the first one defines the name."""

PATTERNS: Final[Mapping[str, str | tuple[str, ...]]] = MappingProxyType(
    {name: spellings[0] for name, spellings in SPELLINGS.items()}
)
"""The regular expression of each named pattern; if it is a tuple, each one splits the pieces of the previous one."""

GPT2: Final = str(PATTERNS["gpt2"])
"""The text of the pattern "gpt2"."""

BYTE_LEVEL: Final = "(?#byte_level)"
"""A marker in a tuple of patterns: the patterns after it see bytes, written as letters of GPT-2's byte alphabet."""

_COMMENT: Final = re.compile(r"\(\?#(isolated|contiguous|merged_with_previous|merged_with_next)\)")


def uncommented(pattern: str) -> tuple[str | None, str]:
    """Splits a pattern into its leading comment about matches (None if absent) and its regular expression.

    `reference.pretokens.split` says what the comments mean.

    >>> uncommented("(?#contiguous)[0-9]")
    ('contiguous', '[0-9]')
    """
    found = _COMMENT.match(pattern)
    return (None, pattern) if found is None else (found[1], pattern[found.end() :])


def pattern_text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...]:
    r"""Returns the regular expression of a named pattern, and a regular expression unchanged.

    A tuple is translated part by part; if one part results, it is returned as a str.

    >>> pattern_text("gpt2") == GPT2
    True
    >>> pattern_text(r"\\S+|\\s+")
    '\\\\S+|\\\\s+'

    A bare word is taken as a name; if it is unknown, a ValueError lists the known names.
    """
    if isinstance(pattern, tuple):
        if not pattern:
            raise ValueError("the pattern has no parts; use one of " + ", ".join(PATTERNS))
        steps = tuple(step for part in pattern for step in _steps(pattern_text(part)))
        return steps[0] if len(steps) == 1 else steps
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str or a tuple of str, not {type(pattern).__name__}")
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the pattern {shown(pattern)} contains a lone surrogate, which is not text") from error
    if pattern in PATTERNS:
        return PATTERNS[pattern]
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]+", pattern):
        raise ValueError(
            f"no pattern is named {shown(pattern)}; the names are {', '.join(PATTERNS)}, and only text with other "
            "characters than letters, digits, -, . and _ is a regular expression"
        )
    if not pattern:
        raise ValueError("the pattern is empty; use one of " + ", ".join(PATTERNS))
    return pattern


def _steps(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def pattern_name(text: str | tuple[str, ...]) -> str | None:
    """Returns the name of the pattern with exactly this text, or None.

    >>> pattern_name(GPT2)
    'gpt2'
    """
    return next((name for name, known in PATTERNS.items() if known == text), None)
