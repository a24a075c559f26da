"""Inspects a tokenizer: its parts, and the tokens that no text can produce.

Each token's own bytes are encoded once; this takes milliseconds per ten thousand tokens, and finds all unreachable
tokens. If merging makes a token from its own bytes, it also makes it inside a longer pretoken when nothing merges
across its ends. If not, it never makes the token.
"""

import contextlib
import heapq
from typing import Any

from pairloom.model import CHARACTERS, WORDS
from pairloom.patterns import pattern_name
from pairloom.tokenizer import Tokenizer
from pairloom.vocabulary import tokens_made

_N_LONGEST = 10


def inspect_tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the parts of a tokenizer, by name, as JSON values, with bytes as lists of int.

    n_vocab: the largest id + 1; n_tokens: the number of ordinary tokens; n_unassigned: the number of unused ids below
    n_vocab. rule: as in `Model`. longest: ids and bytes, longest first. unreachable: ids that merging never makes.
    cut_alone: ids of tokens that merging makes, but that the pattern splits if they are the whole text; inside another
    text they can still occur. duplicates: bytes with several ids, special tokens included. pattern_engine: as in
    `Tokenizer`.
    """
    model = tokenizer.model
    tokens = model.tokens()
    named: dict[bytes, set[int]] = {}
    for token_id, token in [*tokens.items(), *((i, text.encode()) for text, i in model.special_tokens.items())]:
        named.setdefault(token, set()).add(token_id)
    unreachable, cut_alone = unreachable_tokens(tokenizer)
    longest = heapq.nsmallest(_N_LONGEST, tokens.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return {
        "n_vocab": tokenizer.n_vocab,
        "n_tokens": len(tokens),
        "n_single_bytes": int((tokenizer.token_byte_lengths(count_specials=True)[list(tokens)] == 1).sum()),
        "n_merges": len(model.merges) if model.rule == "pairs" else len(tokenizer.merges),
        "n_unassigned": tokenizer.n_vocab - len(tokens.keys() | model.special_tokens.values()),
        "rule": model.rule,
        "ignore_merges": model.ignore_merges,
        "pattern": model.pattern,
        "pattern_name": pattern_name(model.pattern),
        "pattern_engine": tokenizer.pattern_engine,
        "decode_errors": model.decode_errors,
        "special_tokens": dict(model.special_tokens),
        "longest": [{"id": token_id, "bytes": list(token)} for token_id, token in longest],
        "unreachable": unreachable,
        "cut_alone": cut_alone,
        "duplicates": [
            {"bytes": list(token), "ids": sorted(ids)}
            for token, ids in sorted((token, ids) for token, ids in named.items() if len(ids) > 1)
        ],
    }


def unreachable_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Returns (ids that merging never makes, ids of tokens that the pattern splits if they are the whole text)."""
    model = tokenizer.model
    made = tokens_made(model)
    if model.pattern == CHARACTERS:
        # No pattern splits the text, and the space put before it would become part of the first token.
        return [token_id for token_id in sorted(model.tokens()) if token_id not in made], []
    # Remove the steps that add spaces before texts or after words, which do not decide whether a token is split.
    steps = [step for step in model.normalizer if step != "prefix_space" and not step.startswith(WORDS)]
    alone = tokenizer.from_model(model.replaced(normalizer=tuple(steps)))
    unreachable: list[int] = []
    texts: dict[int, str] = {}
    for token_id, token in sorted(model.tokens().items()):
        if token_id not in made:
            unreachable.append(token_id)
            continue
        with contextlib.suppress(UnicodeDecodeError):
            texts[token_id] = token.decode()
    encoded = zip(texts, alone.encode_ordinary_batch(list(texts.values())), strict=True)
    return unreachable, [token_id for token_id, ids in encoded if ids != [token_id]]
