"""Model: everything that makes two tokenizers equal, as columns.

Enters: what a file format read or what training learned. Leaves: the arrays that the core builds its encoder
from, and views of them as dicts and lists. Invariant: a Model that exists is valid; `Model.__post_init__` checks
what the core would otherwise stumble over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pairloom.arguments import check_int, check_special_tokens

DecodeErrors = Literal["strict", "replace", "ignore"]
MergeRule = Literal["pairs", "ranks"]
Pattern = str | tuple[str, ...]

LARGEST_ID = 2**24 - 1
"""The largest id that a token can have."""

__all__ = ["LARGEST_ID", "DecodeErrors", "MergeRule", "Model", "Pattern", "assign_special_ids"]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Ordinary tokens, how they merge, special tokens, pattern and decode errors.

    token_ids: uint32 [n], strictly ascending; gaps are allowed.
    token_bytes: all tokens one after the other; token_ends: uint64 [n], where each ends in it.
    merges: uint32 [m, 3], rows (left id, right id, made id) in rank order; empty under rule "ranks".
    rule: "pairs" merges exactly the pairs of `merges`; "ranks" merges any pair whose joined bytes are a token, the
    least id first (what tiktoken does).
    whole_first: a pretoken that is a token becomes that token without merging (tiktoken always; HuggingFace's
    ignore_merges).
    special_tokens: literal -> id; kept apart from the tokens, since their bytes may be equal.
    pattern: the text of the pretoken pattern, or a tuple of patterns, each splitting what the one before left.
    plain_specials: those of special_tokens that HuggingFace counts as text: decoding there never skips them.
    """

    token_ids: npt.NDArray[np.uint32]
    token_bytes: bytes
    token_ends: npt.NDArray[np.uint64]
    merges: npt.NDArray[np.uint32]
    rule: MergeRule
    whole_first: bool
    special_tokens: dict[str, int]
    pattern: Pattern
    decode_errors: DecodeErrors
    plain_specials: frozenset[str] = frozenset()

    @classmethod
    def from_tokens(
        cls,
        tokens: Mapping[int, bytes],
        merges: Sequence[tuple[int, int, int]] | npt.NDArray[np.uint32] = (),
        *,
        rule: MergeRule = "pairs",
        whole_first: bool = False,
        special_tokens: Mapping[str, int] | None = None,
        pattern: Pattern,
        decode_errors: DecodeErrors = "replace",
        plain_specials: Iterable[str] = (),
    ) -> Model:
        """Builds the columns from a map id -> bytes and merges as id triples (left, right, made)."""
        ids = sorted(tokens)
        lengths = np.fromiter((len(tokens[i]) for i in ids), dtype=np.uint64, count=len(ids))
        return cls(
            token_ids=np.array(ids, dtype=np.uint32),
            token_bytes=b"".join(tokens[i] for i in ids),
            token_ends=np.cumsum(lengths, dtype=np.uint64),
            merges=np.array(merges, dtype=np.uint32).reshape(-1, 3),
            rule=rule,
            whole_first=whole_first,
            special_tokens=dict(special_tokens or {}),
            pattern=pattern,
            decode_errors=decode_errors,
            plain_specials=frozenset(plain_specials),
        )

    def tokens(self) -> dict[int, bytes]:
        """The ordinary tokens as a map id -> bytes, ids ascending."""
        starts = [0, *self.token_ends.tolist()]
        blob = self.token_bytes
        return {
            token_id: blob[start:end]
            for token_id, start, end in zip(self.token_ids.tolist(), starts, starts[1:], strict=False)
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.rule == other.rule
            and self.whole_first == other.whole_first
            and self.special_tokens == other.special_tokens
            and self.pattern == other.pattern
            and self.decode_errors == other.decode_errors
            and self.plain_specials == other.plain_specials
            and self.token_bytes == other.token_bytes
            and np.array_equal(self.token_ids, other.token_ids)
            and np.array_equal(self.token_ends, other.token_ends)
            and np.array_equal(self.merges, other.merges)
        )

    def __hash__(self) -> int:
        return hash((self.token_bytes, self.pattern, self.decode_errors, self.rule, len(self.merges)))


def assign_special_ids(
    tokens: Mapping[int, bytes], special_tokens: Sequence[str] | Mapping[str, int]
) -> dict[str, int]:
    """The special tokens with an id each: from a dict as given; from a list, the id whose bytes match, else the next
    id past the largest.

    tokens: id -> bytes, what the special tokens join. Raises TypeError for a bare str or an id that is no int,
    ValueError for an empty or repeated token and for an id that is negative or given twice.
    """
    literals = check_special_tokens(special_tokens)
    if isinstance(special_tokens, Mapping):
        literal_of: dict[int, str] = {}
        for literal in literals:
            token_id = check_int(f"the id of special token {literal!r}", special_tokens[literal], least=0)
            if token_id > LARGEST_ID:
                raise ValueError(f"the id of special token {literal!r} is {token_id}; the largest is {LARGEST_ID}")
            if token_id in literal_of:
                raise ValueError(
                    f"special tokens {literal_of[token_id]!r} and {literal!r} are both given id {token_id}"
                )
            literal_of[token_id] = literal
        return dict(special_tokens)
    wanted = {literal.encode(): literal for literal in literals}
    assigned = {wanted[token]: token_id for token_id, token in sorted(tokens.items(), reverse=True) if token in wanted}
    next_id = max(tokens, default=-1) + 1
    for literal in literals:
        if literal not in assigned:
            assigned[literal] = next_id
            next_id += 1
    return {literal: assigned[literal] for literal in literals}
