"""BPE-dropout (Provilkov et al. 2020): encoding that leaves merges out at random, so that a model sees a text split in
many ways.

Before each merge the possible ones are tried in order, the lowest rank first, the leftmost of equals first. Each is
skipped with the probability `dropout`, and the first that is not skipped is made. Where all are skipped the pretoken is
done. The paper draws for all possible merges and makes the best of those that are left: the same distribution.

Random numbers are those of SplitMix64 (Steele, Lea and Flood 2014), seeded once for a text: integers, the same on every
machine.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Literal

from pairloom.reference.encoder import cut
from pairloom.reference.vocabulary import Model

_MASK = 2**64 - 1


def random_numbers(seed: int) -> Iterator[int]:
    """SplitMix64: integers of 64 bits.

    >>> numbers = random_numbers(0)
    >>> [hex(next(numbers)) for _ in range(2)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)


def encode_with_dropout(
    text: str,
    model: Model,
    dropout: float,
    seed: int,
    *,
    allowed_special: Literal["all"] | Collection[str] = "all",
    disallowed_special: Literal["all"] | Collection[str] = (),
) -> list[int]:
    """The ids of `text`, each possible merge skipped with the probability `dropout` before each merge.

    >>> model = Model.of_bytes([(97, 98), (256, 256)])
    >>> [encode_with_dropout("abab", model, 0.5, seed) for seed in (1, 3, 5)]
    [[257], [256, 256], [97, 98, 256]]

    With 0 these are the ids of `encode`, with 1 those of the bytes.
    """
    draws = random_numbers(seed)
    ids: list[int] = []
    for part in cut(text, model, allowed_special, disallowed_special):
        ids += [part] if isinstance(part, int) else merge_with_dropout(part, model, dropout, draws)
    return ids


def merge_with_dropout(pretoken: bytes, model: Model, dropout: float, draws: Iterator[int]) -> list[int]:
    """The ids of one pretoken; takes a random number for each merge that is tried."""
    # A draw of 53 bits is compared: the product is exact.
    threshold = int(dropout * 2**53)
    ids = [model.id_of_byte[byte] for byte in pretoken]
    while True:
        candidates = sorted(
            (model.rank_of_pair[pair], position)
            for position, pair in enumerate(pairwise(ids))
            if pair in model.rank_of_pair
        )
        for rank, position in candidates:
            if next(draws) >> 11 >= threshold:
                ids[position : position + 2] = [model.merges[rank].merged_id]
                break
        else:
            return ids
