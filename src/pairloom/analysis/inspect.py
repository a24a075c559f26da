"""Inspects a tokenizer: its parts, and the tokens that no text can produce.

Cost: one encoding of each token's own bytes, milliseconds per ten thousand tokens. That is enough to find unreachable
tokens: a token that merging produces from its own bytes is also produced inside a longer pretoken when nothing merges
across its ends, and a token that merging does not produce from its own bytes is never produced.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pairloom._internal.arguments import check_int
from pairloom.model import Model, Pattern
from pairloom.patterns import pattern_name
from pairloom.tokenizer import Tokenizer, check_tokenizer

__all__ = ["Inspection", "inspect_tokenizer", "unreachable_tokens"]

Made = tuple[int, int]
"""(rank, merged id) of a merge."""


@dataclass(frozen=True)
class Inspection:
    """What a tokenizer is made of.

    n_vocab: the largest id + 1; n_tokens: ordinary tokens; n_unassigned: ids below n_vocab that stand for nothing.
    rule: "pairs" or "ranks", as in `Model`. longest: (id, bytes), longest first. unreachable: ids that no merging
    makes. cut_alone: ids of tokens that merging makes but the pattern cuts when the text is just them; some text around
    them may still bring them about. duplicates: bytes that several ids stand for, special tokens included.
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


def inspect_tokenizer(tokenizer: Tokenizer, *, n_longest: int = 10) -> Inspection:
    """Inspects a tokenizer; `n_longest` is how many of the longest tokens are named."""
    model = check_tokenizer("tokenizer", tokenizer).model
    check_int("n_longest", n_longest, least=0)
    tokens = model.tokens()
    named: dict[bytes, set[int]] = {}
    for token_id, token in [*tokens.items(), *((i, text.encode()) for text, i in model.special_tokens.items())]:
        named.setdefault(token, set()).add(token_id)
    unreachable, cut_alone = unreachable_tokens(tokenizer)
    longest = sorted(tokens.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:n_longest]
    return Inspection(
        n_vocab=tokenizer.n_vocab,
        n_tokens=len(tokens),
        n_single_bytes=sum(len(token) == 1 for token in tokens.values()),
        n_merges=len(model.merges) if model.rule == "pairs" else len(tokenizer.merges),
        n_unassigned=tokenizer.n_vocab - len(tokens.keys() | model.special_tokens.values()),
        rule=model.rule,
        ignore_merges=model.ignore_merges,
        pattern=model.pattern,
        pattern_name=pattern_name(model.pattern),
        decode_errors=model.decode_errors,
        special_tokens=dict(model.special_tokens),
        longest=longest,
        unreachable=unreachable,
        cut_alone=cut_alone,
        duplicates=[(token, sorted(ids)) for token, ids in sorted(named.items()) if len(ids) > 1],
    )


def unreachable_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """(ids unreachable by merging, ids of tokens that the pattern splits when they are the whole text), ascending."""
    model = check_tokenizer("tokenizer", tokenizer).model
    tokens = model.tokens()
    id_of_byte = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    texts: dict[int, str] = {}
    left: list[int] = []
    for token_id, token in tokens.items():
        try:
            # Encoding a byte that is no token is an error.
            texts[token_id] = token.decode() if all(byte in id_of_byte for byte in token) else ""
        except UnicodeDecodeError:
            left.append(token_id)
        else:
            if not texts[token_id]:
                left.append(texts.popitem()[0])
    ids, ends = tokenizer.encode_batch_to_numpy(list(texts.values()), allowed_special=())
    starts, found = ends.tolist(), ids.tolist()
    for token_id, start, end in zip(texts, starts, starts[1:], strict=False):
        if end - start != 1 or found[start] != token_id:
            left.append(token_id)
    lookup = _merge_lookup(model, tokens)
    unreachable, cut_alone = [], []
    for token_id in sorted(left):
        if _merges_to(token_id, [id_of_byte.get(byte) for byte in tokens[token_id]], lookup):
            if token_id in texts:
                cut_alone.append(token_id)
        else:
            unreachable.append(token_id)
    return unreachable, cut_alone


def _merge_lookup(model: Model, tokens: dict[int, bytes]) -> Callable[[int, int], Made | None]:
    """What two neighbours merge to under the model's rule."""
    if model.rule == "pairs":
        rows = enumerate(model.merges.tolist())
        merge_of = {(left, right): (rank, merged_id) for rank, (left, right, merged_id) in rows}
        return lambda left, right: merge_of.get((left, right))
    id_of = {token: token_id for token_id, token in tokens.items()}

    def by_rank(left: int, right: int) -> Made | None:
        merged_id = id_of.get(tokens[left] + tokens[right])
        return None if merged_id is None else (merged_id, merged_id)

    return by_rank


def _merges_to(token_id: int, symbols: list[int | None], lookup: Callable[[int, int], Made | None]) -> bool:
    """Whether merging makes the token out of these ids of its bytes. Cost: n log n, by a heap over a linked list."""
    n = len(symbols)
    following = list(range(1, n + 1))
    before = list(range(-1, n - 1))
    heap: list[tuple[int, int, int, int, int]] = []

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
        _, position, left, right, merged_id = heapq.heappop(heap)
        after = following[position]
        if after >= n or symbols[position] != left or symbols[after] != right:
            continue
        symbols[position], symbols[after] = merged_id, None
        following[position] = following[after]
        if following[position] < n:
            before[following[position]] = position
        offer(before[position])
        offer(position)
    return symbols[0] == token_id and following[0] == n
