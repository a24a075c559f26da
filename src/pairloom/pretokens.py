"""`pretokenize`: the pretokens of a text, to see what a pattern does.

Training and encoding use the same splitter in the core, without Python objects.
"""

from pairloom import _core
from pairloom.model import Pattern
from pairloom.patterns import pattern_text


def pretokenize(text: str, pattern: Pattern = "gpt2") -> list[bytes]:
    r"""The pretokens of `text`, one document; joined they are text.encode().

    Text that a custom pattern does not match is a pretoken of its own. Named patterns take time linear in the text; a
    regular expression may look at a stretch of it again for each match (`\s+$|\w+|\s` on a long run of white space is
    quadratic), which Ctrl-C stops. Raises PatternError for a pattern that does not compile, UnicodeEncodeError for lone
    surrogates.
    """
    return _core.pretokenize(text, pattern_text(pattern))
