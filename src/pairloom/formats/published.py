r"""The texts under which owners publish the named patterns with tiktoken.

A named pattern is written so that it means the same to every engine: without possessive quantifiers and without `$`.
Files and objects of tiktoken carry the owner's text instead. Reading such a text gives the named pattern, and writing
the named pattern gives the owner's text again, so that nothing is respelt on the way. Any other text is kept as it is;
the core still runs the spellings that it knows (crates/core/src/pretokens/patterns.rs) on hand-written scanners.
"""

from __future__ import annotations

from typing import Final

from pairloom.patterns import CL100K, GPT2, NANOCHAT

__all__ = ["named_of", "published_of"]

_PUBLISHED: Final = {
    # tiktoken: gpt2, r50k_base, p50k_base and p50k_edit.
    GPT2: r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    # tiktoken: cl100k_base.
    CL100K: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s",
    # nanochat, trained by rustbpe and run by tiktoken.
    NANOCHAT: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
    r"|\s+(?!\S)|\s+",
}
_NAMED: Final = {published: named for named, published in _PUBLISHED.items()}


def named_of(pattern: str) -> str:
    """The named pattern whose published text this is; any other pattern as it is."""
    return _NAMED.get(pattern, pattern)


def published_of(pattern: str) -> str:
    """The text under which a named pattern is published; any other pattern as it is."""
    return _PUBLISHED.get(pattern, pattern)
