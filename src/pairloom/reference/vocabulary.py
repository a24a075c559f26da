"""Assigns ids to bytes, merges and special tokens.

A rank is the position of a merge in the order of learning; an id is an index into the vocabulary. The two differ by an
offset that depends on where the special tokens are.

    special_ids     ids in order                         base vocabulary of 2 special tokens
    "last"          bytes, merges, special tokens        bytes 0..255, merges from 256
    "after_bytes"   bytes, special tokens, merges        bytes 0..255, merges from 258
    "first"         special tokens, bytes, merges        bytes 2..257, merges from 258
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self

SpecialIds = Literal["last", "after_bytes", "first"]
ByteOrder = Literal["value", "gpt2"]


class Merge(NamedTuple):
    """A learned merge: the ids of the pair, and the id of the merged token."""

    left: int
    right: int
    merged_id: int


@dataclass(frozen=True)
class Model:
    """Everything that encoding and decoding need.

    `vocab` has the bytes and the merged tokens. Special tokens are kept apart, keyed by their text, since their bytes
    can equal those of a learned token.
    """

    vocab: dict[int, bytes]
    merges: list[Merge]
    special_tokens: dict[str, int]
    pattern: str | tuple[str, ...] = "gpt2"
    normalizer: tuple[str, ...] = ()
    special_rules: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_bytes(cls, pairs: Iterable[tuple[int, int]], special_tokens: Mapping[str, int] | None = None) -> Self:
        """Builds the model in which byte b has id b and the pair of rank r makes id 256 + r."""
        merges = [Merge(left, right, merged_id) for merged_id, (left, right) in enumerate(pairs, start=256)]
        vocab = {byte: bytes([byte]) for byte in range(256)}
        for left, right, merged_id in merges:
            vocab[merged_id] = vocab[left] + vocab[right]
        return cls(vocab, merges, dict(special_tokens or {}))

    @cached_property
    def id_of_byte(self) -> dict[int, int]:
        """The id of each byte in the vocabulary."""
        return {token[0]: token_id for token_id, token in self.vocab.items() if len(token) == 1}

    @cached_property
    def rank_of_pair(self) -> dict[tuple[int, int], int]:
        """The rank of each pair of ids that can merge."""
        return {(left, right): rank for rank, (left, right, _) in enumerate(self.merges)}


def numbered_as_trained(model: Model, first: int) -> Model:
    """Returns the model numbered as by a single training run: merged tokens get the ids from `first` on, followed by
    the special tokens that had ids from `first` on, in their order.

    >>> model = Model({97: b"a", 98: b"b", 257: b"ab"}, [Merge(97, 98, 257)], {"<|endoftext|>": 256})
    >>> model = numbered_as_trained(model, 256)
    >>> model.merges, model.special_tokens
    ([Merge(left=97, right=98, merged_id=256)], {'<|endoftext|>': 257})
    """
    made = list(dict.fromkeys(merge.merged_id for merge in model.merges))
    new_id = {token_id: first + rank for rank, token_id in enumerate(made)}
    for token_id in model.special_tokens.values():
        if token_id >= first and token_id not in new_id:
            new_id[token_id] = token_id + len(made) - sum(other < token_id for other in made)
    return renumbered(model, new_id)


def renumbered(model: Model, new_id: Mapping[int, int]) -> Model:
    """Returns the model with the ids in `new_id` replaced."""
    return Model(
        {new_id.get(token_id, token_id): token for token_id, token in model.vocab.items()},
        [Merge(*(new_id.get(token_id, token_id) for token_id in merge)) for merge in model.merges],
        {token: new_id.get(token_id, token_id) for token, token_id in model.special_tokens.items()},
        model.pattern,
        model.normalizer,
        model.special_rules,
    )


@dataclass(frozen=True)
class Numbering:
    """The first ids of bytes, merges and special tokens."""

    first_byte: int
    first_merge: int
    first_special: int


def number_ids(special_ids: SpecialIds, n_specials: int, n_merges: int) -> Numbering:
    """Returns where the ids of bytes, merges and special tokens begin.

    >>> number_ids("after_bytes", n_specials=1, n_merges=243)
    Numbering(first_byte=0, first_merge=257, first_special=256)
    """
    if special_ids == "last":
        return Numbering(first_byte=0, first_merge=256, first_special=256 + n_merges)
    if special_ids == "after_bytes":
        return Numbering(first_byte=0, first_merge=256 + n_specials, first_special=256)
    if special_ids == "first":
        return Numbering(first_byte=n_specials, first_merge=n_specials + 256, first_special=0)
    raise ValueError(f"special_ids is {special_ids!r}; use 'last', 'after_bytes' or 'first'")


def bytes_in_order(byte_order: ByteOrder) -> Sequence[int]:
    """Returns the 256 byte values in the order of their ids.

    "value" is 0, 1, 2, ...; "gpt2" begins with the bytes that are printable in Latin-1, which GPT-2's files show as
    themselves, followed by the other 68: 33 comes first, and 0 is at index 188.
    """
    if byte_order == "value":
        return range(256)
    if byte_order == "gpt2":
        shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        return shown + [byte for byte in range(256) if byte not in shown]
    raise ValueError(f"byte_order is {byte_order!r}; use 'value' or 'gpt2'")


def count_merges_wanted(vocab_size: int, n_specials_counted: int) -> int:
    """Returns the number of merges that fill a vocabulary of `vocab_size`.

    >>> count_merges_wanted(500, n_specials_counted=1)
    243

    Raises ValueError if `vocab_size` is less than the base vocabulary.
    """
    least = 256 + n_specials_counted
    if vocab_size < least:
        parts = "256 bytes"
        if n_specials_counted:
            parts += f" and {n_specials_counted} special tokens"
        raise ValueError(f"vocab_size is {vocab_size}, but must be at least {least} ({parts})")
    return vocab_size - least
