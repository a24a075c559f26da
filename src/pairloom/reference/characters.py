"""Encoding that merges characters, as in SentencePiece's BPE: the whole text at once, not split into pretokens.

A piece is a token's text, with spaces as spaces (files write U+2581). A character that is not a piece becomes the ids
of its bytes, or, without byte fallback, the id of unknown characters, usually one for a run of them. Two neighbours
merge if they are a pair in the list of merges, lowest rank first ("pairs", HuggingFace), or if their joined text is a
piece with a priority, lowest number first ("priorities", SentencePiece). Ties go to the leftmost pair.
Cost: quadratic in the length of the text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import regex

SPACE_SYMBOL = "\u2581"
"""The character that SentencePiece files write for a space."""


@dataclass(frozen=True)
class CharacterModel:
    """A vocabulary of characters and its merges.

    pieces: text -> id. fallback: byte -> id, for all 256 bytes. merges: (left id, right id, merged id) in rank order;
    priorities: id -> priority, for pieces that merging makes; one of the two is empty. whole: pieces that are matched
    before anything else, longest first, and never merge. unknown: the id of characters that are not a piece; if set,
    fallback is unused. fuses: whether a run of unknown characters becomes one id. are_words: spaces only separate
    words, and become no ids.
    """

    pieces: Mapping[str, int]
    fallback: Mapping[int, int]
    merges: tuple[tuple[int, int, int], ...] = ()
    priorities: Mapping[int, int] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    unknown: int | None = None
    fuses: bool = True
    are_words: bool = False


def encode_characters(text: str, model: CharacterModel) -> list[int]:
    """Returns the ids of a text that is already normalised.

    >>> pieces = {"a": 256, "b": 257, "ab": 258}
    >>> model = CharacterModel(pieces, {byte: byte for byte in range(256)}, priorities={256: 1, 257: 1, 258: 0})
    >>> encode_characters("abé", model)
    [258, 195, 169]
    """
    ids: list[int] = []
    for part in _parts(text, model.whole):
        if part in model.whole:
            ids.append(model.pieces[part])
        else:
            ids += _merged(part, model)
    return ids


def decode_runs(tokens: Iterable[str | int]) -> str:
    """Joins pieces (str) and bytes (int); a run of bytes that is not UTF-8 becomes U+FFFD for each byte.

    HuggingFace's ByteFallback does this; here it is called "replace_runs".

    >>> decode_runs(["a", 0xC3, 0xA9, "b", 0x41, 0xFF])
    'aéb\ufffd\ufffd'
    """
    text = ""
    for is_byte, group in groupby(tokens, key=lambda token: isinstance(token, int)):
        if not is_byte:
            text += "".join(map(str, group))
            continue
        run = bytes(map(int, group))
        try:
            text += run.decode()
        except UnicodeDecodeError:
            text += "\ufffd" * len(run)
    return text


def normalize_characters(text: str, steps: Iterable[str], *, is_start: bool = True) -> str:
    """Applies the normaliser steps to a text; is_start: whether the text has no special token before it.

    >>> normalize_characters("a  b", ["collapse_spaces", "spaces", "dummy_prefix"])
    ' a b'
    """
    for step in steps:
        if step == "spaces":
            text = text.replace(SPACE_SYMBOL, " ")
        elif step == "collapse_spaces":
            text = regex.sub(" +", " ", text.rstrip(" " + SPACE_SYMBOL).lstrip(" "))
        elif step == "dummy_prefix":
            text = " " + text if text else text
        elif step == "prefix_space" or (step == "first_prefix" and is_start):
            text = " " + text if text and not text.startswith(" ") else text
    return text


def _parts(text: str, whole: frozenset[str]) -> list[str]:
    """Cuts the text before and after each literal of `whole`."""
    if not whole:
        return [text]
    literals = "|".join(regex.escape(literal) for literal in sorted(whole, key=len, reverse=True))
    return [part for part in regex.split(f"({literals})", text) if part]


def _merged(text: str, model: CharacterModel) -> list[int]:
    text_of = {token_id: piece for piece, token_id in model.pieces.items()}
    rank_of = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(model.merges)}

    def merge(left: int, right: int) -> tuple[int, int] | None:
        """Returns (rank or priority, merged id) of a pair; None if it does not merge."""
        if model.merges:
            return rank_of.get((left, right))
        if left not in text_of or right not in text_of:
            return None
        made = model.pieces.get(text_of[left] + text_of[right])
        return None if made is None or made not in model.priorities else (model.priorities[made], made)

    ids: list[int] = []
    for character in text:
        own = model.pieces.get(character, model.unknown)
        if model.are_words and character == " ":
            # -1 separates the words, since it never merges.
            ids.append(-1)
        elif own is None:
            ids += [model.fallback[byte] for byte in character.encode()]
        elif own != model.unknown or not model.fuses or ids[-1:] != [own]:
            ids.append(own)
    while True:
        found = [
            (*pair, position)
            for position, (left, right) in enumerate(pairwise(ids))
            if (pair := merge(left, right)) is not None
        ]
        if not found:
            return [token_id for token_id in ids if token_id >= 0]
        _, made, position = min(found, key=lambda each: (each[0], each[2]))
        ids[position : position + 2] = [made]
