"""The added tokens of a tokenizer.json (pairloom's special tokens), and the ids that they get.

HuggingFace's library ignores the ids in the file: an added token gets the id of the equal string in the vocabulary, or
else the next id after the number of vocabulary entries. Reading and writing compute that id, and refuse a file or a
model with another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pairloom import _core
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import from_alphabet
from pairloom.formats.shared.json_text import check_keys, shown, take, take_id
from pairloom.formats.shared.normalizer import is_unchanged

__all__ = ["check_assigned", "read_added_tokens", "write_added_tokens"]

_KEYS = frozenset(("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"))


def read_added_tokens(entries: Any, name: str, forms: tuple[str, ...] = ()) -> tuple[dict[str, int], frozenset[str]]:
    """The literals and ids of `added_tokens`, and which literals are not called special.

    forms: the Unicode forms of the file's normaliser. Refuses flags that change where a literal is recognised.
    """
    if type(entries) is not list:
        raise FormatError(f"{name}: added_tokens must be a list, not {shown(entries)}")
    ids: dict[str, int] = {}
    text_of: dict[int, str] = {}
    normalized: dict[bool, list[str]] = {True: [], False: []}
    plain: list[str] = []
    for index, entry in enumerate(entries):
        where = f"{name}: added_tokens[{index}]"
        if type(entry) is not dict:
            raise FormatError(f"{where} must be an object, not {shown(entry)}")
        check_keys(entry, _KEYS, where)
        literal = take(entry, "content", str, where)
        token_id = take_id(take(entry, "id", int, where), where)
        for flag in ("single_word", "lstrip", "rstrip"):
            if entry.get(flag, False) is not False:
                raise FormatError(
                    f"{where}: {shown(literal)} has {flag} set; pairloom recognises a special token wherever its text"
                    " stands, and it alone"
                )
        if not literal or literal in ids or token_id in text_of:
            raise FormatError(f"{where}: {shown(literal)} with id {token_id} is empty or stands before it already")
        ids[literal] = token_id
        text_of[token_id] = literal
        special = take(entry, "special", bool, where)
        is_normalized = entry.get("normalized", not special) is True
        if is_normalized and not is_unchanged(literal, forms):
            raise FormatError(
                f"{where}: {shown(literal)} is normalized: it is found in the text after {', '.join(forms)}, where"
                " pairloom looks for it before; set normalized to false if that is meant"
            )
        normalized[is_normalized].append(literal)
        if not special:
            plain.append(literal)
    _check_one_pass(normalized[False], normalized[True], name)
    return ids, frozenset(plain)


def _check_one_pass(first: list[str], second: list[str], name: str) -> None:
    """The library looks for all literals of `first` before those of `second`; pairloom for all in one pass.

    The two differ where one of `second` holds one of `first` or ends in the beginning of one: then the former begins
    earlier in the text, or is the longer, and yet the latter is found.
    """
    found = _core.find_overlap(first, second)
    if found is not None:
        raise FormatError(
            f"{name}: added token {shown(second[found])} is normalized and overlaps one that is not; which one is found"
            " then depends on more than place and length: give both the same flag"
        )


def check_assigned(specials: Mapping[str, int], vocab: Mapping[str, int], n_entries: int, name: str) -> None:
    """Refuses added tokens to which the library gives other ids than the file.

    vocab: the ids of those that are among the vocabulary's `n_entries` entries.
    """
    for literal, assigned in _assigned(specials, vocab, n_entries):
        if assigned != specials[literal]:
            raise FormatError(
                f"{name}: added token {shown(literal)} has id {specials[literal]}, but tokenizers would give it"
                f" {assigned}; put it into the vocabulary under its id"
            )


def _assigned(literals: Mapping[str, int], vocab: Mapping[str, int], n_entries: int) -> Iterator[tuple[str, int]]:
    """The ids that the library gives, in the order of the file."""
    largest = -1
    for literal in literals:
        token_id = vocab.get(literal, max(largest + 1, n_entries))
        largest = max(largest, token_id)
        yield literal, token_id


def write_added_tokens(
    specials: Mapping[str, int], plain: Collection[str], text_of: Mapping[int, str]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The entries of added_tokens, and those that must stand in the vocabulary too to get their ids."""
    ordered = dict(sorted(specials.items(), key=lambda entry: entry[1]))
    vocab = {text: token_id for token_id, text in text_of.items()}
    entries: dict[str, int] = {}
    if any(assigned != ordered[literal] for literal, assigned in _assigned(ordered, vocab, len(vocab))):
        entries = ordered
        for literal, token_id in entries.items():
            token = from_alphabet(literal)
            if token is not None and token != literal.encode():
                raise FormatError(
                    f"a tokenizer.json cannot express the special token {shown(literal)} with id {token_id}: in its"
                    f" vocabulary that string is the token {shown(token)}; save as 'pairloom'"
                )
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": token_id, "content": literal, **flags, "special": literal not in plain}
        for literal, token_id in ordered.items()
    ]
    return added, entries
