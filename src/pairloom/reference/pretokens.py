"""Splits documents into pretokens, and counts them.

The pretokens of a document, joined, are the document as UTF-8. Pairs are counted and merged only inside pretokens, so
training needs only the distinct pretokens and their counts.
"""

from collections import Counter
from collections.abc import Iterable

import regex

from pairloom.patterns import BYTE_LEVEL, pattern_text, uncommented
from pairloom.reference.vocabulary import bytes_in_order


def pretokenize(text: str, pattern: str | tuple[str, ...] = "gpt2") -> list[bytes]:
    """Cuts one document into its pretokens.

    >>> pretokenize("some text that i'll pre-tokenize")
    [b'some', b' text', b' that', b' i', b"'ll", b' pre', b'-', b'tokenize']

    `pattern` is a name, a regular expression, or a tuple of them, each of which splits the pieces that the previous one
    left and sees nothing beyond such a piece. Patterns after "(?#byte_level)" see each byte as a letter, so they can
    cut inside a character:

    >>> pretokenize("é1", ("(?#byte_level)", "[^0-9]"))
    [b'\xc3', b'\xa9', b'1']
    """
    texts = pattern_text(pattern)
    steps = [texts] if isinstance(texts, str) else list(texts)
    n_before = steps.index(BYTE_LEVEL) if BYTE_LEVEL in steps else len(steps)
    pieces = _split_in_turn(text, steps[:n_before])
    if n_before == len(steps):
        return [piece.encode() for piece in pieces]
    letters = ["".join(LETTERS[byte] for byte in piece.encode()) for piece in pieces]
    parts = [part for piece in letters for part in _split_in_turn(piece, steps[n_before + 1 :])]
    return [bytes(map(LETTERS.index, part)) for part in parts]


LETTERS = [
    chr(byte) if index < 188 else chr(256 + index - 188)
    for byte, index in sorted((byte, index) for index, byte in enumerate(bytes_in_order("gpt2")))
]
"""GPT-2's letter for each byte: the Latin-1 character if it is printable, U+0100 and up for the other 68 bytes."""


def _split_in_turn(text: str, patterns: Iterable[str]) -> list[str]:
    pieces = [text] if text else []
    for pattern in patterns:
        pieces = [part for piece in pieces for part in split(piece, pattern)]
    return pieces


def split(text: str, pattern: str) -> list[str]:
    """Cuts a text where the matches of one regular expression begin and end.

    >>> split("a1b22", "[0-9]+")
    ['a', '1', 'b', '22']

    The text between two matches is a piece too, so nothing is lost. Empty matches are ignored, unless the pattern
    begins with a comment that says how matches split the text:

    >>> split("aBc", "(?#isolated)(?=[A-Z])")  # each match is a piece; an empty match cuts
    ['a', 'Bc']
    >>> split("a1b22", "(?#contiguous)[0-9]")  # adjacent matches join into one piece
    ['a', '1', 'b', '22']
    >>> split("a1b22", "(?#merged_with_previous)[0-9]")
    ['a1', 'b2', '2']
    >>> split("a1b22", "(?#merged_with_next)[0-9]")
    ['a', '1b', '2', '2']
    """
    comment, expression = uncommented(pattern)
    parts = _parts(text, expression, nothing_cuts=comment is not None)
    if comment in (None, "isolated"):
        return [piece for piece, _ in parts if piece]
    backwards = comment == "merged_with_next"
    pieces: list[str] = []
    before = False
    for piece, is_match in reversed(parts) if backwards else parts:
        joins = is_match == before if comment == "contiguous" else is_match and not before
        if joins and pieces:
            pieces[-1] = piece + pieces[-1] if backwards else pieces[-1] + piece
        else:
            pieces.append(piece)
        before = is_match
    return [piece for piece in (reversed(pieces) if backwards else pieces) if piece]


def _parts(text: str, expression: str, nothing_cuts: bool) -> list[tuple[str, bool]]:
    """Returns the matches and the gaps between them as (piece, whether it is a match).

    Empty matches are kept only if `nothing_cuts`, and not at the beginning or directly after a match.
    """
    # Only version 1 of the syntax has class intersections, [a&&b], and nested classes.
    has_sets = regex.search(r"&&|(?<!\\)\[(?:\\.|[^\]\\])*\[", expression)
    compiled = regex.compile(expression, flags=regex.V1 if has_sets else 0)
    parts: list[tuple[str, bool]] = []
    end = at = 0
    while at <= len(text) and (match := compiled.search(text, at)):
        # `\K` can set the start after the match's end (in a lookahead) or before the last match's end (lookbehind).
        start, at = min(max(match.start(), at), match.end()), match.end()
        if start == at and (not nothing_cuts or at == end):
            at += 1
            continue
        if start > end:
            parts.append((text[end:start], False))
        parts.append((match.group(), True))
        end = at
    if end < len(text):
        parts.append((text[end:], False))
    return parts


def count_pretokens(documents: Iterable[str], pattern: str | tuple[str, ...] = "gpt2") -> Counter[bytes]:
    """Counts the pretokens of all documents; each document is split separately.

    >>> count_pretokens(["ab ab", "ab"])
    Counter({b'ab': 2, b' ab': 1})
    """
    counts: Counter[bytes] = Counter()
    for document in documents:
        counts.update(pretokenize(document, pattern))
    return counts
