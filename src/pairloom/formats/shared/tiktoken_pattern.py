"""Converts patterns to and from tiktoken's text of them; refuses patterns that tiktoken would run differently.

Both run fancy-regex, but pairloom runs some patterns with other engines, and keeps text that a pattern does not match.
pairloom writes its named patterns without possessive quantifiers and without `$`, so every engine agrees on them.
tiktoken's files and objects have the text that tiktoken publishes. Reading turns that text into the named pattern, and
writing turns it back.
"""

from typing import Final

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import Pattern
from pairloom.patterns import SPELLINGS

# tiktoken's gpt2 (which r50k_base, p50k_base and p50k_edit share) and cl100k_base, and nanochat as tiktoken runs it.
_PUBLISHED_OF_NAMED: Final = {
    str(named): str(published) for named, published, *_ in (SPELLINGS[name] for name in ("gpt2", "cl100k", "nanochat"))
}
_NAMED_OF_PUBLISHED: Final = {published: named for named, published in _PUBLISHED_OF_NAMED.items()}


def named_of(pattern: str) -> str:
    """Returns the named pattern for a published text; any other pattern unchanged."""
    return _NAMED_OF_PUBLISHED.get(pattern, pattern)


def for_tiktoken(pattern: Pattern) -> str:
    """Returns one regex by which tiktoken splits every text as the pattern does. FormatError if there is none."""
    if not isinstance(pattern, str):
        if len(pattern) > 1:
            raise FormatError(
                f"tiktoken splits by one pattern, but this tokenizer uses {len(pattern)} in turn; use to_huggingface"
            )
        pattern = pattern[0]
    if pattern.startswith("(?#"):
        raise FormatError(
            f"tiktoken does not support the comment in {shown(pattern)} that says what to do with matches; use "
            "to_huggingface"
        )
    if (lost := left_out(pattern)) is not None:
        raise FormatError(
            f"the pattern {shown(pattern)} does not match {shown(lost)}, and tiktoken drops what the pattern does not "
            "match; use as_tiktoken, which keeps it, or add an alternative such as [\\s\\S]"
        )
    if _core.can_match_nothing(pattern):
        raise FormatError(
            f"the pattern {shown(pattern)} can match nothing or can drop text from a match, and then tiktoken fails "
            "or loses text; use as_tiktoken"
        )
    _core.check_run_as_written(pattern)
    return _PUBLISHED_OF_NAMED.get(pattern, pattern)


def left_out(pattern: str) -> str | None:
    """Returns what the pattern does not match in a text with a few thousand characters of all kinds, or None."""
    if _core.is_total(pattern):
        return None
    codes = (*range(0x250), *range(0x250, 0xD800, 97), *range(0xE000, 0x110000, 4001))
    text = " ".join(2 * chr(code) for code in codes)
    # Two unmatched characters are one pretoken by the pattern itself, and two by the pattern with the fallback.
    found = _core.pretokenize(text, pattern), _core.pretokenize(text, f"(?:{pattern})|[\\s\\S]")
    return next((left.decode() for left, right in zip(*found, strict=False) if left != right), None)
