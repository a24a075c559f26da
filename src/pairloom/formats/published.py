r"""Patterns as their owners spell them, and the named pattern that matches the same.

The owners' texts differ in possessive quantifiers and in `$`, which change speed in their engines and no match. Taking
the named spelling gives a loaded tokenizer its hand-written scanner.
"""

from __future__ import annotations

from typing import Final

from pairloom.patterns import CL100K, GPT2, LLAMA3, NANOCHAT

__all__ = ["canonical_pattern"]

_SPELLINGS: Final = {
    # openai/gpt-2, and so HuggingFace's ByteLevel.
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": GPT2,
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": GPT2,
    # tiktoken: r50k_base, p50k_base and p50k_edit.
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": GPT2,
    # tiktoken: cl100k_base.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s": CL100K,
    # rustbpe and nanochat, with digits in threes and in twos.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
    r"|\s+(?!\S)|\s+": LLAMA3,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
    r"|\s+(?!\S)|\s+": NANOCHAT,
}


def canonical_pattern(pattern: str) -> str:
    """The named pattern's text for a known spelling of it; any other pattern as it is."""
    return _SPELLINGS.get(pattern, pattern)
