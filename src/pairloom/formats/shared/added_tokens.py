"""The added tokens of a tokenizer.json (pairloom's special tokens), and the ids that they get.

HuggingFace's library ignores the ids in the file: an added token gets the id of the equal string in the vocabulary, or
else the next id after the number of vocabulary entries. Reading and writing compute that id, and refuse a file or a
model with another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pairloom import _core
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import from_alphabet
from pairloom.formats.shared.json_text import check_keys, shown, take, take_id
from pairloom.formats.shared.normalizer import is_unchanged

__all__ = ["FLAGS", "AddedTokens", "check_assigned", "read_added_tokens", "write_added_tokens"]

_KEYS = frozenset(("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"))
FLAGS: Final = ("lstrip", "rstrip", "single_word")
"""What an added token may say of how it is recognised."""


class AddedTokens(NamedTuple):
    """ids: literal -> id. plain: the literals that are not called special. rules: `Model.special_rules`."""

    ids: dict[str, int]
    plain: frozenset[str]
    rules: tuple[tuple[str, str], ...]


def read_added_tokens(
    entries: Any, name: str, forms: tuple[str, ...] = (), *, are_ordinary: bool = False
) -> AddedTokens:
    """The tokens of `added_tokens`.

    forms: the Unicode forms of the file's normaliser. are_ordinary: special ones stay text. Refuses tokens that are
    found in the normalised text only.
    """
    if type(entries) is not list:
        raise FormatError(f"{name}: added_tokens must be a list, not {shown(entries)}")
    ids: dict[str, int] = {}
    text_of: dict[int, str] = {}
    normalized: dict[bool, list[str]] = {True: [], False: []}
    plain: list[str] = []
    rules: set[tuple[str, str]] = set()
    for index, entry in enumerate(entries):
        where = f"{name}: added_tokens[{index}]"
        if type(entry) is not dict:
            raise FormatError(f"{where} must be an object, not {shown(entry)}")
        check_keys(entry, _KEYS, where)
        literal = take(entry, "content", str, where)
        token_id = take_id(take(entry, "id", int, where), where)
        if not literal or literal in ids or token_id in text_of:
            raise FormatError(f"{where}: {shown(literal)} with id {token_id} is empty or stands before it already")
        ids[literal] = token_id
        text_of[token_id] = literal
        special = take(entry, "special", bool, where)
        flags = [flag for flag in FLAGS if flag in entry and take(entry, flag, bool, where)]
        rules.update((literal, flag) for flag in flags)
        is_normalized = take(entry, "normalized", bool, where) if "normalized" in entry else not special
        if is_normalized and forms and (flags or not is_unchanged(literal, forms)):
            raise FormatError(
                f"{where}: {shown(literal)} is normalized: it is found in the text after {', '.join(forms)}, where"
                " pairloom looks for it before; set normalized to false if that is meant"
            )
        normalized[is_normalized].append(literal)
        if not special:
            plain.append(literal)
        elif are_ordinary:
            rules.add((literal, "ordinary"))
    for literals in normalized.values():
        _check_meeting([literal for literal in literals if (literal, "ordinary") not in rules], rules, name)
    # Which pass finds a token matters only where tokens overlap, or where they ask what is next to them.
    if normalized[False] and (rules or _core.find_overlap(normalized[False], normalized[True]) is not None):
        rules.update((literal, "normalized") for literal in normalized[True])
    return AddedTokens(ids, frozenset(plain), tuple(sorted(rules)))


def _check_meeting(literals: list[str], rules: set[tuple[str, str]], name: str) -> None:
    """Refuses tokens, all found in one pass, of which one can take along what another one begins with."""
    if not any((literal, "rstrip") in rules for literal in literals):
        return
    for literal in literals:
        if (literal, "lstrip") in rules and literal[0].isspace():
            raise FormatError(
                f"{name}: added token {shown(literal)} begins with white space, and another takes that along"
                " (rstrip): where the two meet tokenizers loses its place; unset one of the two flags"
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
    specials: Mapping[str, int],
    plain: Collection[str],
    text_of: Mapping[int, str],
    rules: Collection[tuple[str, str]] = (),
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The entries of added_tokens, and those that must stand in the vocabulary too to get their ids."""
    ordered = dict(sorted(specials.items(), key=lambda entry: entry[1]))
    rules = frozenset(rules)
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
    ordinary = next((literal for literal, rule in rules if rule == "ordinary"), None)
    if ordinary is not None:
        raise FormatError(
            f"a tokenizer.json cannot say that special token {shown(ordinary)} stays text: save as 'pairloom', or set"
            " encode_special_tokens after to_huggingface"
        )
    added = [
        {
            "id": token_id,
            "content": literal,
            **{flag: (literal, flag) in rules for flag in ("single_word", "lstrip", "rstrip", "normalized")},
            "special": literal not in plain,
        }
        for literal, token_id in ordered.items()
    ]
    return added, entries
