"""The added tokens of a tokenizer.json (pairloom's special tokens), and the ids that they get.

HuggingFace's library ignores the ids in the file: an added token gets the id of the equal string in the vocabulary, or
else the next id after the number of vocabulary entries. The core refuses a file with another id, and
writing a model with one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pairloom import _core
from pairloom._internal.arguments import as_text, shown
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import from_alphabet

__all__ = ["FLAGS", "AddedTokens", "read_added_tokens", "write_added_tokens"]

FLAGS: Final = ("lstrip", "rstrip", "single_word")
"""What an added token may say of how it is recognised."""


class AddedTokens(NamedTuple):
    """ids: literal -> id. plain: the literals that are not called special. rules: `Model.special_rules`."""

    ids: dict[str, int]
    plain: frozenset[str]
    rules: tuple[tuple[str, str], ...]


def read_added_tokens(entries: list[Any], where: str, forms: Sequence[str] = ()) -> AddedTokens:
    """The tokens of `added_tokens`, or of such a list in another file; FormatError that begins with `where`.

    Refuses tokens that are looked for in what the steps `forms` of a normaliser make of a text.
    """
    return AddedTokens(*_core.read_added_tokens(json.dumps(entries).encode(), as_text(where), list(forms)))


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
            **{flag: (literal, flag) in rules for flag in ("single_word", "lstrip", "rstrip")},
            "normalized": not rules.isdisjoint({(literal, "normalized"), (literal, "any_case")}),
            "special": literal not in plain,
        }
        for literal, token_id in ordered.items()
    ]
    return added, entries
