"""Documents to pretokens, and how often each occurs.

Enters: documents. Leaves: pretokens as UTF-8 bytes; those of a document, joined, are the document.
Pairs are counted and merged inside pretokens only, so the count of each distinct one is all that
training needs to know of a corpus.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from pairloom.patterns import pattern_text


def pretokenize(text: str, pattern: str = "gpt2") -> list[bytes]:
    """Cuts one document into its pretokens.

    >>> pretokenize("some text that i'll pre-tokenize")
    [b'some', b' text', b' that', b' i', b"'ll", b' pre', b'-', b'tokenize']

    `pattern` is a name or a regular expression. What it does not match is not lost: each stretch
    between two matches is a pretoken of its own. Matches of nothing are ignored.
    """
    pretokens: list[str] = []
    end = 0
    for match in regex.finditer(pattern_text(pattern), text):
        if match.end() == match.start():
            continue
        if match.start() > end:
            pretokens.append(text[end : match.start()])
        pretokens.append(match.group())
        end = match.end()
    if end < len(text):
        pretokens.append(text[end:])
    return [pretoken.encode() for pretoken in pretokens]


def count_pretokens(documents: Iterable[str], pattern: str = "gpt2") -> Counter[bytes]:
    """Counts the pretokens of all documents; each document is cut on its own.

    >>> count_pretokens(["ab ab", "ab"])
    Counter({b'ab': 2, b' ab': 1})
    """
    counts: Counter[bytes] = Counter()
    for document in documents:
        counts.update(pretokenize(document, pattern))
    return counts
