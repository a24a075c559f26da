"""A vocabulary of strings in the GPT-2 byte alphabet, with merges of such strings, to the checked columns of a Model.

vocab.json with merges.txt, and tokenizer.json, hold vocabularies in this form. Cost: a few vectorised passes over all
tokens; only a vocabulary that fails a check is searched entry by entry, to name the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import ALPHABET, from_alphabet
from pairloom.formats.shared.json_text import is_text, shown, take_id
from pairloom.model import LARGEST_ID

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["check_entries", "merge_rows", "ordinary_entries", "token_columns"]


def check_entries(entries: Any, where: str) -> dict[str, int]:
    """`entries`, if they are tokens that are text with distinct ids; else FormatError."""
    if type(entries) is not dict:
        raise FormatError(f"{where}: a vocabulary is an object of tokens and ids, not {shown(entries)}")
    ids = entries.values()
    sound = set(map(type, ids)) <= {int} and len(set(ids)) == len(ids) and "" not in entries
    if sound and is_text("".join(entries)) and (not ids or (min(ids) >= 0 and max(ids) <= LARGEST_ID)):
        return entries
    text_of: dict[int, str] = {}
    for text, token_id in entries.items():
        take_id(token_id, f"{where}: vocab[{shown(text)}]")
        if not text or not is_text(text):
            raise FormatError(f"{where}: id {token_id} is {shown(text)}, which is no text; remove the entry")
        if token_id in text_of:
            raise FormatError(
                f"{where}: id {token_id} is given to {shown(text_of[token_id])} and to {shown(text)}; ids are distinct"
            )
        text_of[token_id] = text
    return entries


def merge_rows(
    lefts: Sequence[str], rights: Sequence[str], entries: Mapping[str, int], location: Callable[[int], str]
) -> npt.NDArray[np.uint32]:
    """Rows (left, right, merged_id) of ids; `location` names the location of the merge of a rank."""
    look_up = entries.get
    joined = map(str.__add__, lefts, rights)
    columns = [list(map(look_up, lefts)), list(map(look_up, rights)), list(map(look_up, joined))]
    for column in columns:
        if None in column:
            rank = column.index(None)
            left, right = lefts[rank], rights[rank]
            lacking = next(text for text in (left, right, left + right) if text not in entries)
            raise FormatError(
                f"{location(rank)} merges {shown(left)} and {shown(right)}, but the vocabulary lacks {shown(lacking)};"
                " do the two belong together?"
            )
    import numpy as np

    rows = np.array(columns, dtype=np.uint32).reshape(3, -1).T
    pairs = rows[:, 0].astype(np.uint64) << np.uint64(32) | rows[:, 1]
    ordered = np.argsort(pairs, kind="stable")
    equal = np.flatnonzero(pairs[ordered][1:] == pairs[ordered][:-1])
    if len(equal):
        first, second = int(ordered[equal[0]]), int(ordered[equal[0] + 1])
        raise FormatError(
            f"{location(second)} merges {shown(lefts[first])} and {shown(rights[first])},"
            f" as merge {first} does already;"
            " keep the first"
        )
    return np.ascontiguousarray(rows)


def ordinary_entries(
    entries: dict[str, int], specials: Mapping[str, int], rows: npt.NDArray[np.uint32], where: str
) -> dict[str, int]:
    """The entries without those that are special tokens and nothing else.

    An entry stays that a merge uses or makes, or that is a byte: it is a token of its own then, of the same bytes.
    """
    if not specials:
        return entries
    import numpy as np

    text_of = dict(zip(entries.values(), entries, strict=True))
    ids = np.array(list(specials.values()), dtype=np.uint32)
    merged = frozenset(ids[np.isin(ids, rows)].tolist())
    ordinary = dict(entries)
    for literal, token_id in specials.items():
        text = text_of.get(token_id)
        if text is None:
            continue
        token = from_alphabet(text)
        same = token == literal.encode()
        if text != literal and not same:
            raise FormatError(
                f"{where}: special token {shown(literal)} has id {token_id}, which the vocabulary gives to"
                f" {shown(text)}"
            )
        if token_id not in merged and not (same and len(literal) == 1):
            del ordinary[text]
        elif not same:
            raise FormatError(
                f"{where}: special token {shown(literal)} has id {token_id}, by which merges mean {shown(token)}"
            )
    return ordinary


def token_columns(entries: Mapping[str, int], where: str) -> dict[str, Any]:
    """token_ids, token_bytes and token_ends of a Model. A token not written in the alphabet is taken literally."""
    import numpy as np

    order = sorted(entries, key=entries.__getitem__)
    blob = from_alphabet("".join(order))
    if blob is None:
        characters = frozenset(ALPHABET)
        shown_bytes = {text: from_alphabet(text) if characters.issuperset(text) else text.encode() for text in order}
        tokens = {entries[text]: token for text, token in shown_bytes.items() if token is not None}
        if len(set(tokens.values())) < len(tokens):
            id_of: dict[bytes, int] = {}
            for token_id, token in tokens.items():
                if token in id_of:
                    raise FormatError(f"{where}: ids {id_of[token]} and {token_id} both stand for {shown(token)}")
                id_of[token] = token_id
        blob = b"".join(map(tokens.__getitem__, map(entries.__getitem__, order)))
        lengths = np.fromiter((len(tokens[entries[text]]) for text in order), dtype=np.uint64, count=len(order))
    else:
        lengths = np.fromiter(map(len, order), dtype=np.uint64, count=len(order))
    return {
        "token_ids": np.fromiter(map(entries.__getitem__, order), dtype=np.uint32, count=len(order)),
        "token_bytes": blob,
        "token_ends": np.cumsum(lengths, dtype=np.uint64),
    }
