"""Reads and writes the added tokens of a tokenizer.json (pairloom's special tokens), and computes their ids.

HuggingFace's library ignores the ids in the file. An added token gets the id of the same string in the vocabulary;
otherwise its id is the number of vocabulary entries plus the number of such tokens before it. The core refuses to read
a file with another id; writing lists a token in the vocabulary too if it would otherwise get another id.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pairloom import _core
from pairloom._internal.arguments import as_text, shown
from pairloom._internal.byte_alphabet import from_alphabet
from pairloom.errors import FormatError

FLAGS: Final = ("lstrip", "rstrip", "single_word")
"""The settings of an added token that change how it is found in a text."""


_NORMALIZED: Final = ("after_space", "any_case", "nfc", "normalized")


class AddedTokens(NamedTuple):
    """ids: literal -> id. plain: the literals not marked special. rules: as in `Model.special_rules`."""

    ids: dict[str, int]
    plain: frozenset[str]
    rules: tuple[tuple[str, str], ...]


def read_added_tokens(entries: list[Any], where: str, forms: Sequence[str] = ()) -> AddedTokens:
    """Reads `added_tokens`, or a list like it in another file. Raises FormatError that begins with `where`.

    Refuses tokens that would be searched for in a text that the normalizer steps `forms` changed.
    """
    return AddedTokens(*_core.read_added_tokens(json.dumps(entries).encode(), as_text(where), list(forms)))


def n_misplaced(literals: Mapping[str, int], vocab: Mapping[str, int]) -> int:
    """Returns how many of these tokens, in order, the vocabulary must list; tokenizers assigns the ids of the rest."""
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
    """Returns the entries of added_tokens, and the tokens that the vocabulary must also list to get their ids.

    is_alphabet: whether the vocabulary is written in the byte alphabet.
    """
    ordered = dict(sorted(specials.items(), key=lambda entry: entry[1]))
    rules = frozenset(rules)
    vocab = {text: token_id for token_id, text in text_of.items()}
    # List no others: a single character in the vocabulary would also be found in text where its rules do not apply.
    entries = dict(list(ordered.items())[: n_misplaced(ordered, vocab)])
    literals = entries if is_alphabet else ()
    ambiguous = next((each for each in literals if from_alphabet(each) not in (None, each.encode())), None)
    if ambiguous is not None:
        raise FormatError(
            f"a tokenizer.json cannot express the special token {shown(ambiguous)} with id {ordered[ambiguous]}: in "
            f"its vocabulary, that string means the token {shown(from_alphabet(ambiguous))}; save as 'pairloom'"
        )
    ordinary = next((literal for literal, rule in rules if rule == "ordinary"), None)
    if ordinary is not None:
        raise FormatError(
            f"a tokenizer.json cannot store that special token {shown(ordinary)} stays text: save as 'pairloom', or "
            "set encode_special_tokens after to_huggingface"
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
    """Returns all entries of a vocabulary, token -> id. text_of: the ordinary tokens in the byte alphabet.

    Raises FormatError if a special token's string also spells an ordinary token: "Ġa" is the spelling of " a".
    """
    entries = {text: token_id for token_id, text in text_of.items()}
    for literal, token_id in special_tokens.items():
        if entries.get(literal, token_id) != token_id or text_of.get(token_id, literal) != literal:
            raise FormatError(
                f"{what} cannot express the special token {shown(literal)} with id {token_id} together with the "
                f"ordinary token that has this id or is written {shown(literal)} in the GPT-2 byte alphabet; save as "
                "'pairloom'"
            )
        entries[literal] = token_id
    return entries
