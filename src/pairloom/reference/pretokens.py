"""Documents to pretokens, and how often each pretoken occurs.

The pretokens of a document, joined, are the document as UTF-8. Pairs are counted and merged inside pretokens only, so
training needs only the distinct pretokens and their counts.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from pairloom.patterns import pattern_text


def pretokenize(text: str, pattern: str | tuple[str, ...] = "gpt2") -> list[bytes]:
    """Cuts one document into its pretokens.

    >>> pretokenize("some text that i'll pre-tokenize")
    [b'some', b' text', b' that', b' i', b"'ll", b' pre', b'-', b'tokenize']

    `pattern` is a name, a regular expression, or several that split one after the other: each splits
    the pieces that the one before left, and sees nothing beyond such a piece.
    """
    texts = pattern_text(pattern)
    pieces = [text] if text else []
    for step in (texts,) if isinstance(texts, str) else texts:
        pieces = [part for piece in pieces for part in split(piece, step)]
    return [piece.encode() for piece in pieces]


def split(text: str, pattern: str) -> list[str]:
    """Cuts a text where the matches of one regular expression begin and end.

    >>> split("a1b22", "[0-9]+")
    ['a', '1', 'b', '22']

    What it does not match is not lost: each stretch between two matches is a piece of its own.
    Matches of nothing are ignored.
    """
    pieces: list[str] = []
    end = 0
    # Version 1 of the syntax is the one with intersections of classes, [a&&b].
    for match in regex.finditer(pattern, text, flags=regex.V1 if "&&" in pattern else 0):
        if match.end() == match.start():
            continue
        if match.start() > end:
            pieces.append(text[end : match.start()])
        pieces.append(match.group())
        end = match.end()
    if end < len(text):
        pieces.append(text[end:])
    return pieces


def count_pretokens(documents: Iterable[str], pattern: str | tuple[str, ...] = "gpt2") -> Counter[bytes]:
    """Counts the pretokens of all documents; each document is cut on its own.

    >>> count_pretokens(["ab ab", "ab"])
    Counter({b'ab': 2, b' ab': 1})
    """
    counts: Counter[bytes] = Counter()
    for document in documents:
        counts.update(pretokenize(document, pattern))
    return counts
