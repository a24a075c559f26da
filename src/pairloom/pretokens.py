"""`pretokenize` shows how a pattern splits a text.

Training and encoding use the same splitter in the core, but make no Python objects.
"""

from pairloom import _core
from pairloom.model import Pattern
from pairloom.patterns import pattern_text


def pretokenize(text: str, pattern: Pattern = "gpt2") -> list[bytes]:
    r"""Returns the pretokens of `text`, which is one document; joined, they are text.encode().

    Each stretch that a custom pattern does not match becomes a pretoken. Named patterns take linear time. A regular
    expression can rescan text for each match (`\s+$|\w+|\s` is quadratic on a long run of white space); Ctrl-C stops
    it. Raises PatternError for a pattern that does not compile, UnicodeEncodeError for lone surrogates.
    """
    return _core.pretokenize(text, pattern_text(pattern))
