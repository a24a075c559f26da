"""A rank list: bytes -> rank, as tiktoken.Encoding and nanochat hold it. Ranks are ids; specials and pattern are apart.

The rule of ranks (any two neighbours merge whose joined bytes are a token, least rank first; a pretoken that is a
token is not merged) and the rule of pairs are two languages. `pairs` and `write` translate where the result encodes
every text the same, which the core proves for the vocabulary at hand, and refuse where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom.errors import FormatError
from pairloom.formats.json_text import shown, take_id
from pairloom.model import Model, Pattern

__all__ = ["pairs", "read", "write"]


def read(
    ranks: Mapping[bytes, int], *, pattern: Pattern, special_tokens: Mapping[str, int], name: str = "rank list"
) -> Model:
    """The Model of a rank list; `name` is what messages call it."""
    tokens: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if type(token) is not bytes or not token:
            raise FormatError(f"{name}: a token must be bytes, at least one, not {shown(token)}")
        take_id(rank, f"{name}: token {shown(token)}")
        if rank in tokens:
            raise FormatError(
                f"{name}: rank {rank} is given to {shown(tokens[rank])} and to {shown(token)}; ranks are distinct"
            )
        tokens[rank] = token
    for literal, token_id in special_tokens.items():
        if tokens.get(token_id, literal.encode()) != literal.encode():
            raise FormatError(
                f"{name}: special token {shown(literal)} has id {token_id}, the rank of {shown(tokens[token_id])}"
            )
    return Model.from_tokens(tokens, rule="ranks", whole_first=True, special_tokens=special_tokens, pattern=pattern)


def write(model: Model) -> dict[bytes, int]:
    """The rank list; raises FormatError where it would not encode every text as the model does."""
    if model.rule == "pairs":
        _check_pairs_are_ranks(model)
    alone = _core.pairs_of_ranks(model.token_bytes, model.token_ends)[1]
    if len(alone) and not model.whole_first:
        raise FormatError(
            f"ranks cannot express this tokenizer: no merging makes id {model.token_ids[alone[0]]}, yet a pretoken of"
            " its bytes would become it; save as 'huggingface' or 'pairloom'"
        )
    return {token: token_id for token_id, token in model.tokens().items()}


def pairs(model: Model) -> npt.NDArray[np.uint32]:
    """The merges [m, 3] of a rank model: one pair for each token that merging makes, by rank.

    Raises FormatError when a token is made of a byte that is none, so that no list of pairs can name it.
    """
    rows, _, nameless = _core.pairs_of_ranks(model.token_bytes, model.token_ends)
    if len(nameless):
        raise FormatError(
            f"merges cannot express these ranks: id {model.token_ids[nameless[0]]} is made of a byte that is no token;"
            " add that byte to the vocabulary, or save as 'tiktoken' or 'pairloom'"
        )
    return model.token_ids[rows]


def _check_pairs_are_ranks(model: Model) -> None:
    """Raises FormatError unless merging by the ids of joined bytes does what the merges do.

    It does when the merges make ids in ascending order and hold each token's one pair. Further pairs of the same token,
    which other tools write, never stand side by side (crates/core/src/ranks.rs shows why).
    """
    made = model.merges[:, 2]
    if (made[1:] < made[:-1]).any():
        rank = int(np.flatnonzero(made[1:] < made[:-1])[0]) + 1
        raise FormatError(
            f"ranks cannot express this tokenizer: merge {rank} makes id {made[rank]} after {made[rank - 1]}, and ranks"
            " are ids in ascending order; save as 'huggingface' or 'pairloom'"
        )
    needed = pairs(model)
    given = {tuple(row) for row in model.merges.tolist()}
    for left, right, token_id in needed.tolist():
        if (left, right, token_id) not in given:
            raise FormatError(
                f"ranks cannot express this tokenizer: by ranks, ids {left} and {right} would merge to {token_id}, and"
                " no merge says so; save as 'huggingface' or 'pairloom'"
            )
