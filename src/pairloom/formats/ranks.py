"""Checks and writes a rank list: bytes -> rank, as in tiktoken.Encoding and nanochat. Ranks are ids.

Merging by ranks and merging by pairs are different rules. By ranks, the neighbours whose joined bytes are the token of
the lowest rank merge, and a pretoken that is itself a token stays whole. Then exactly one pair produces each token
(proved in crates/core/src/vocabulary/rank_merges.rs), so both rules agree if merging can produce every token.
Such a vocabulary becomes a Model with rule "pairs" in every format, so equal tokenizers compare equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import take_id
from pairloom.model import Model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def columns_of(ranks: Mapping[bytes, int], name: str) -> _core.ModelColumns:
    """Returns a rank list's tokens, with ranks as ids. If it is invalid, raises FormatError, beginning with `name`."""
    tokens: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if type(token) is not bytes or not token:
            raise FormatError(f"{name}: a token must be at least one byte, not {shown(token)}")
        if tokens.setdefault(take_id(rank, f"{name}: token {shown(token)}"), token) is not token:
            raise FormatError(
                f"{name}: rank {rank} belongs to {shown(tokens[rank])} and to {shown(token)}; give each token its own "
                "rank"
            )
    return Model.from_tokens(tokens, rule="ranks", pattern="").columns


def write(model: Model) -> dict[bytes, int]:
    """Returns the rank list. Raises FormatError if it would not encode every text as the model does."""
    if model.rule == "pairs" and model.columns.canonical_form() is None:
        raise FormatError(
            "ranks cannot express this tokenizer: its merges must make ids in ascending order, and be those by which "
            "the ids alone would make each token; save as 'huggingface' or 'pairloom'"
        )
    alone = _core.pairs_of_ranks(model.token_bytes, model.token_ends)[1]
    tokens = model.tokens()
    if len(alone) and not model.ignore_merges:
        first = int(model.token_ids[alone[0]])
        raise FormatError(
            f"ranks cannot express this tokenizer: no merge makes id {first}, {shown(tokens[first])}, yet a pretoken "
            "with its bytes would be encoded as it. If it is a special token, declare it when you load or make the "
            f"tokenizer: pass special_tokens=[{shown(tokens[first].decode(errors='replace'))}]. Otherwise save as "
            "'huggingface' or 'pairloom'"
        )
    return {token: token_id for token_id, token in tokens.items()}


def pairs(model: Model) -> npt.NDArray[np.uint32]:
    """Returns merges [m, 3] that encode as the ranks of the model's tokens do: one for each token that merging makes.

    Raises FormatError if a token contains a byte that has no token, so no list of pairs can make it.
    """
    rows, _, with_missing_byte = _core.pairs_of_ranks(model.token_bytes, model.token_ends)
    if len(with_missing_byte):
        id = model.token_ids[with_missing_byte[0]]
        raise FormatError(
            f"merges cannot express these ranks: id {id} needs a byte that is not in the "
            "vocabulary; add that byte, or save as 'tiktoken' or 'pairloom'"
        )
    return model.token_ids[rows]
