"""The added tokens of a tokenizer.json (pairloom's special tokens), and the ids that they get.

HuggingFace's library ignores the ids in the file: an added token gets the id of the equal string in the vocabulary, or
else the number of vocabulary entries and of such tokens before it. The core refuses a file with another id, and
writing a model with one.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pairloom import _core
from pairloom._internal.arguments import as_text, shown
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import from_alphabet

FLAGS: Final = ("lstrip", "rstrip", "single_word")
"""What an added token may say of how it is recognised."""


_NORMALIZED: Final = ("after_space", "any_case", "nfc", "normalized")


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


def n_misplaced(literals: Mapping[str, int], vocab: Mapping[str, int]) -> int:
    """How many of these tokens, in this order, must be in the vocabulary: the others get their ids from tokenizers."""
    found, n_entries = 0, len(vocab)
    for index, (literal, token_id) in enumerate(literals.items()):
        if vocab.get(literal, n_entries) != token_id:
            found = index + 1
        n_entries += literal not in vocab
    return found


def write_added_tokens(
    specials: Mapping[str, int],
    plain: Collection[str],
    text_of: Mapping[int, str],
    rules: Collection[tuple[str, str]] = (),
    *,
    is_alphabet: bool = True,
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The entries of added_tokens, and those that must stand in the vocabulary too to get their ids.

    is_alphabet: whether the vocabulary is written in the byte alphabet.
    """
    ordered = dict(sorted(specials.items(), key=lambda entry: entry[1]))
    rules = frozenset(rules)
    vocab = {text: token_id for token_id, text in text_of.items()}
    # No more than that: a character in the vocabulary is found in a text, too, where its rules leave it text.
    entries = dict(list(ordered.items())[: n_misplaced(ordered, vocab)])
    literals = entries if is_alphabet else ()
    ambiguous = next((each for each in literals if from_alphabet(each) not in (None, each.encode())), None)
    if ambiguous is not None:
        raise FormatError(
            f"a tokenizer.json cannot express the special token {shown(ambiguous)} with id {ordered[ambiguous]}: in"
            f" its vocabulary that string is the token {shown(from_alphabet(ambiguous))}; save as 'pairloom'"
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
            "normalized": not rules.isdisjoint((literal, rule) for rule in _NORMALIZED),
            "special": literal not in plain,
        }
        for literal, token_id in ordered.items()
    ]
    return added, entries


def with_special_tokens(text_of: Mapping[int, str], special_tokens: Mapping[str, int], what: str) -> dict[str, int]:
    """All entries of a vocabulary, token -> id. text_of: the ordinary tokens in the byte alphabet.

    Raises FormatError where a special token's string is another ordinary token's: "Ġa" is spelt as " a" is.
    """
    entries = {text: token_id for token_id, text in text_of.items()}
    for literal, token_id in special_tokens.items():
        if entries.get(literal, token_id) != token_id or text_of.get(token_id, literal) != literal:
            raise FormatError(
                f"{what} cannot express the special token {shown(literal)} with id {token_id} beside the ordinary token"
                f" that is written {shown(literal)} in the GPT-2 byte alphabet or has its id; save as 'pairloom'"
            )
        entries[literal] = token_id
    return entries
