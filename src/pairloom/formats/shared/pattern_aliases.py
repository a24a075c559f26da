"""The pattern texts that tiktoken publishes for the named patterns.

pairloom writes a named pattern without possessive quantifiers and without `$`, so that every engine agrees about it.
tiktoken's files and objects carry the owner's text. Reading that text gives the named pattern, and writing the named
pattern gives the owner's text again. Any other text is kept unchanged; the core runs all spellings in
named_patterns.json on hand-written scanners.
"""

from typing import Final

from pairloom.patterns import SPELLINGS

# tiktoken's gpt2, r50k_base, p50k_base and p50k_edit; its cl100k_base; nanochat, run by tiktoken: the second spelling.
_PUBLISHED: Final = {
    str(named): str(published) for named, published, *_ in (SPELLINGS[name] for name in ("gpt2", "cl100k", "nanochat"))
}
_NAMED: Final = {published: named for named, published in _PUBLISHED.items()}


def named_of(pattern: str) -> str:
    """The named pattern whose published text this is; any other pattern as it is."""
    return _NAMED.get(pattern, pattern)


def published_of(pattern: str) -> str:
    """The text under which a named pattern is published; any other pattern as it is."""
    return _PUBLISHED.get(pattern, pattern)
