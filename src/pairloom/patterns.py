"""The named patterns, as text.

Enters: a name ("gpt2") or a regular expression. Leaves: the text of a regular expression, or several that split one
after the other, each what the one before left.

A pattern's matches are the pretokens. Each text is written without possessive quantifiers and
without `$`, because these two mean different things to different engines; it matches exactly what
the owner's own text matches, which the tests check against that text.
Sources: OpenAI's gpt-2 and tiktoken (r50k_base, cl100k_base, o200k_base); the tokenizer.json, tekken.json and Python
files that the other models are published with.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, overload

from pairloom.arguments import shown

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

LLAMA3: Final = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""Llama 3, GLM 4 and 5: the first published text of cl100k, where a text's last white space is cut like any other."""

QWEN2: Final = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
"""Qwen 1 to 3: as Llama 3, numbers one by one."""

QWEN35: Final = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
"""Qwen 3.5: as Qwen 2, combining marks belong to words."""

NANOCHAT: Final = LLAMA3.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)").replace("{1,3}", "{1,2}")
"""nanochat: as Llama 3, digits in twos."""

TEKKEN: Final = O200K.replace(_CONTRACTION, "").replace(r"\p{N}{1,3}", r"\p{N}")
"""Mistral's Tekken: as o200k, without contractions, numbers one by one."""

KIMI: Final = "|".join(
    [
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER[:-1]}&&[^\p{{Han}}]]*{_LOWER[:-1]}&&[^\p{{Han}}]]+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER[:-1]}&&[^\p{{Han}}]]+{_LOWER[:-1]}&&[^\p{{Han}}]]*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""Kimi: as o200k, runs of Han characters apart from other letters."""

DEEPSEEK: Final = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "|".join(
        [
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+""",
            r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
            r" ?[\p{P}\p{S}]+[\r\n]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
)
"""DeepSeek V3 and later: digits in threes, then runs of Chinese and Japanese, then words."""

STARCODER: Final = (r"\p{N}", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
"""StarCoder, SmolLM: numbers one by one, then GPT-2 as it was first written."""

PATTERNS: Final[Mapping[str, str | tuple[str, ...]]] = MappingProxyType(
    {
        "gpt2": GPT2,
        "cl100k": CL100K,
        "o200k": O200K,
        "llama3": LLAMA3,
        "qwen2": QWEN2,
        "qwen3.5": QWEN35,
        "nanochat": NANOCHAT,
        "tekken": TEKKEN,
        "kimi": KIMI,
        "deepseek": DEEPSEEK,
        "starcoder": STARCODER,
    }
)
"""Every name that can be given where a pattern is asked for; several texts split one after the other."""


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
