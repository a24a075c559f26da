"""Merges a sequence of symbols by the definition and records each merge, for analysis and for cases beyond the core.

Uses a heap over a linked list. Cost: n log n.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from pairloom.model import Model

RankAndId = tuple[int, int]
"""(rank, merged id) of a merge."""


Symbol = TypeVar("Symbol", int, str)


class Merges(NamedTuple, Generic[Symbol]):
    """The symbols left when nothing merges any more, and the merges done, as (rank, left, right, merged), in order.

    starts: for each symbol left, the index of the first input symbol that it was merged from.
    """

    symbols: list[Symbol | None]
    done: list[tuple[int, Symbol, Symbol, Symbol]]
    starts: list[int]


def merge_lookup(model: Model, tokens: dict[int, bytes]) -> Callable[[int, int], RankAndId | None]:
    """Returns a function that finds the merge of two neighbours by the model's rule; `tokens` is `model.tokens()`."""
    if model.rule == "pairs":
        rows = enumerate(model.merges.tolist())
        merge_of = {(left, right): (rank, merged_id) for rank, (left, right, merged_id) in rows}
        return lambda left, right: merge_of.get((left, right))
    id_of = {token: token_id for token_id, token in tokens.items()}

    def by_rank(left: int, right: int) -> RankAndId | None:
        merged_id = id_of.get(tokens[left] + tokens[right])
        return None if merged_id is None else (merged_id, merged_id)

    return by_rank


def merged(
    given: Sequence[Symbol | None], lookup: Callable[[Symbol, Symbol], tuple[int, Symbol] | None]
) -> Merges[Symbol]:
    """Merges the pair of lowest rank, leftmost first, until no pair merges. A None (no token) never merges."""
    symbols, n = list(given), len(given)
    following = list(range(1, n + 1))
    before = list(range(-1, n - 1))
    heap: list[tuple[int, int, Symbol, Symbol, Symbol]] = []
    done: list[tuple[int, Symbol, Symbol, Symbol]] = []

    def offer(position: int) -> None:
        after = following[position] if position >= 0 else n
        if after >= n:
            return
        left, right = symbols[position], symbols[after]
        if left is not None and right is not None and (merge := lookup(left, right)) is not None:
            heapq.heappush(heap, (merge[0], position, left, right, merge[1]))

    for position in range(n - 1):
        offer(position)
    while heap:
        rank, position, left, right, merged_id = heapq.heappop(heap)
        after = following[position]
        if after >= n or symbols[position] != left or symbols[after] != right:
            continue
        done.append((rank, left, right, merged_id))
        symbols[position], symbols[after] = merged_id, None
        following[position] = following[after]
        if following[position] < n:
            before[following[position]] = position
        offer(before[position])
        offer(position)
    starts = []
    position = 0
    while position < n:
        starts.append(position)
        position = following[position]
    return Merges([symbols[start] for start in starts], done, starts)
