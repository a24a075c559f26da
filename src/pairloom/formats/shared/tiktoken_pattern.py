"""Patterns that tiktoken splits by as pairloom does, under the texts that it publishes; others are refused.

Both run fancy-regex, but pairloom runs some patterns by other engines, and keeps what a pattern does not match. It
writes a named pattern without possessive quantifiers and without `$`, so that every engine agrees about it. tiktoken's
files and objects have the text that tiktoken publishes: it becomes the named pattern when read, and that text again
when written.
"""

from typing import Final

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import Pattern
from pairloom.patterns import SPELLINGS

# tiktoken's gpt2, r50k_base, p50k_base and p50k_edit; its cl100k_base; nanochat, run by tiktoken: the second spelling.
_PUBLISHED: Final = {
    str(named): str(published) for named, published, *_ in (SPELLINGS[name] for name in ("gpt2", "cl100k", "nanochat"))
}
_NAMED: Final = {published: named for named, published in _PUBLISHED.items()}


def named_of(pattern: str) -> str:
    """The named pattern whose published text this is; any other pattern as it is."""
    return _NAMED.get(pattern, pattern)


def for_tiktoken(pattern: Pattern) -> str:
    """One regex by which tiktoken splits every text as the pattern does; FormatError where there is none."""
    if not isinstance(pattern, str):
        if len(pattern) > 1:
            raise FormatError(
                f"tiktoken splits by one pattern, and this tokenizer by {len(pattern)} in turn; use to_huggingface"
            )
        pattern = pattern[0]
    if pattern.startswith("(?#"):
        raise FormatError(f"tiktoken does not know what {shown(pattern)} says about its matches; use to_huggingface")
    if (lost := left_out(pattern)) is not None:
        raise FormatError(
            f"the pattern {shown(pattern)} does not match {shown(lost)}, and tiktoken leaves out what it does not"
            " match; use as_tiktoken, which keeps it, or add an alternative such as [\\s\\S]"
        )
    if _core.can_match_nothing(pattern):
        raise FormatError(
            f"the pattern {shown(pattern)} may match nothing, or keep text out of a match, where tiktoken fails or"
            " loses text; use as_tiktoken"
        )
    _core.check_run_as_written(pattern)
    return _PUBLISHED.get(pattern, pattern)


def left_out(pattern: str) -> str | None:
    """What the pattern does not match of a text with a few thousand characters of all kinds; None if it matches all."""
    if _core.is_total(pattern):
        return None
    codes = (*range(0x250), *range(0x250, 0xD800, 97), *range(0xE000, 0x110000, 4001))
    text = " ".join(2 * chr(code) for code in codes)
    # Two characters that are not matched are one pretoken, and by the second pattern two.
    found = _core.pretokenize(text, pattern), _core.pretokenize(text, f"(?:{pattern})|[\\s\\S]")
    return next((left.decode() for left, right in zip(*found, strict=False) if left != right), None)
