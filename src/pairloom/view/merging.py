"""Merges a sequence of ids as the definition says, and tells each merge; for analysis, not for encoding.

Cost: a pass over what is left for each merge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pairloom.model import Model

__all__ = ["Merges", "merge_lookup", "merged"]

RankAndId = tuple[int, int]
"""(rank, merged id) of a merge."""


class Merges(NamedTuple):
    """What is left when nothing merges any more, and each merge as (rank, left id, right id, merged id), in order."""

    symbols: list[int | None]
    done: list[tuple[int, int, int, int]]


def merge_lookup(model: Model, tokens: dict[int, bytes]) -> Callable[[int, int], RankAndId | None]:
    """What two neighbours merge to under the model's rule; `tokens` are `model.tokens()`."""
    if model.rule == "pairs":
        rows = enumerate(model.merges.tolist())
        merge_of = {(left, right): (rank, merged_id) for rank, (left, right, merged_id) in rows}
        return lambda left, right: merge_of.get((left, right))
    id_of = {token: token_id for token_id, token in tokens.items()}

    def by_rank(left: int, right: int) -> RankAndId | None:
        merged_id = id_of.get(tokens[left] + tokens[right])
        return None if merged_id is None else (merged_id, merged_id)

    return by_rank


def merged(ids: Sequence[int | None], lookup: Callable[[int, int], RankAndId | None]) -> Merges:
    """Merges the pair of lowest rank, leftmost first, until none is left; None (no token) never merges."""
    symbols: list[int | None] = list(ids)
    done: list[tuple[int, int, int, int]] = []
    while True:
        best: tuple[int, int, int, int, int] | None = None
        for at, (left, right) in enumerate(pairwise(symbols)):
            merge = None if left is None or right is None else lookup(left, right)
            if merge is not None and (best is None or merge[0] < best[0]):
                best = (merge[0], at, left, right, merge[1])  # type: ignore[assignment]
        if best is None:
            return Merges(symbols, done)
        rank, at, left_id, right_id, merged_id = best
        done.append((rank, left_id, right_id, merged_id))
        symbols[at : at + 2] = [merged_id]
