"""Inspects a tokenizer: its parts, and the tokens that no text can produce.

Cost: one encoding of each token's own bytes, milliseconds per ten thousand tokens. That is enough to find unreachable
tokens: a token that merging produces from its own bytes is also produced inside a longer pretoken when nothing merges
across its ends, and a token that merging does not produce from its own bytes is never produced.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

from pairloom.model import CHARACTERS, WORDS, Pattern
from pairloom.patterns import pattern_name
from pairloom.tokenizer import Tokenizer
from pairloom.vocabulary import tokens_made

_N_LONGEST = 10


@dataclass(frozen=True)
class Inspection:
    """What a tokenizer is made of.

    n_vocab: the largest id + 1; n_tokens: ordinary tokens; n_unassigned: ids below n_vocab that stand for nothing.
    rule: "pairs" or "ranks", as in `Model`. longest: (id, bytes), longest first. unreachable: ids that no merging
    makes. cut_alone: ids of tokens that merging makes but the pattern cuts when the text is just them; some text around
    them may still bring them about. duplicates: bytes that several ids stand for, special
    tokens included. pattern_engine: as `Tokenizer` has it.
    """

    n_vocab: int
    n_tokens: int
    n_single_bytes: int
    n_merges: int
    n_unassigned: int
    rule: str
    ignore_merges: bool
    pattern: Pattern
    pattern_name: str | None
    pattern_engine: str
    decode_errors: str
    special_tokens: dict[str, int]
    longest: list[tuple[int, bytes]]
    unreachable: list[int]
    cut_alone: list[int]
    duplicates: list[tuple[bytes, list[int]]]

    def as_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON; bytes as lists of int."""
        return {
            **vars(self),
            "longest": [{"id": token_id, "bytes": list(token)} for token_id, token in self.longest],
            "duplicates": [{"bytes": list(token), "ids": ids} for token, ids in self.duplicates],
        }


def inspect_tokenizer(tokenizer: Tokenizer) -> Inspection:
    """Inspects a tokenizer."""
    model = tokenizer.model
    tokens = model.tokens()
    named: dict[bytes, set[int]] = {}
    for token_id, token in [*tokens.items(), *((i, text.encode()) for text, i in model.special_tokens.items())]:
        named.setdefault(token, set()).add(token_id)
    unreachable, cut_alone = unreachable_tokens(tokenizer)
    longest = sorted(tokens.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:_N_LONGEST]
    return Inspection(
        n_vocab=tokenizer.n_vocab,
        n_tokens=len(tokens),
        n_single_bytes=int((tokenizer.token_byte_lengths(count_specials=True)[list(tokens)] == 1).sum()),
        n_merges=len(model.merges) if model.rule == "pairs" else len(tokenizer.merges),
        n_unassigned=tokenizer.n_vocab - len(tokens.keys() | model.special_tokens.values()),
        rule=model.rule,
        ignore_merges=model.ignore_merges,
        pattern=model.pattern,
        pattern_name=pattern_name(model.pattern),
        pattern_engine=tokenizer.pattern_engine,
        decode_errors=model.decode_errors,
        special_tokens=dict(model.special_tokens),
        longest=longest,
        unreachable=unreachable,
        cut_alone=cut_alone,
        duplicates=[(token, sorted(ids)) for token, ids in sorted(named.items()) if len(ids) > 1],
    )


def unreachable_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """(ids unreachable by merging, ids of tokens that the pattern splits when they are the whole text), ascending."""
    model = tokenizer.model
    made = tokens_made(model)
    if model.pattern == CHARACTERS:
        # A space before the text belongs to its first token, and no pattern cuts.
        return [token_id for token_id in sorted(model.tokens()) if token_id not in made], []
    unreachable, cut_alone = [], []
    # The spaces that a normalizer puts before texts or after words cut no token.
    steps = [step for step in model.normalizer if step != "prefix_space" and not step.startswith(WORDS)]
    alone = tokenizer.from_model(model.replaced(normalizer=tuple(steps)))
    for token_id, token in sorted(model.tokens().items()):
        if token_id not in made:
            unreachable.append(token_id)
            continue
        with contextlib.suppress(UnicodeDecodeError):
            if alone.encode_ordinary(token.decode()) != [token_id]:
                cut_alone.append(token_id)
    return unreachable, cut_alone
