"""BPE-dropout (Provilkov et al. 2020): encoding that skips merges at random, so that a model sees a text split in many
ways.

Each step tries the possible merges in order: lowest rank first, leftmost first among equal ranks. Each is skipped with
the probability `dropout`; the first one not skipped is done. When all are skipped, the pretoken is finished. The paper
instead draws for all possible merges and does the best one that is left, which has the same distribution.

Random numbers come from SplitMix64 (Steele, Lea and Flood 2014), seeded once per text. They are integers, so they are
the same on every machine.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Literal

from pairloom.reference.encoder import cut
from pairloom.reference.vocabulary import Model

_MASK = 2**64 - 1


def random_numbers(seed: int) -> Iterator[int]:
    """Yields the 64-bit integers of SplitMix64.

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
    """Returns the ids of `text`; at each step, every possible merge is skipped with probability `dropout`.

    >>> model = Model.of_bytes([(97, 98), (256, 256)])
    >>> [encode_with_dropout("abab", model, 0.5, seed) for seed in (1, 3, 5)]
    [[257], [256, 256], [97, 98, 256]]

    With dropout 0 the result is that of `encode`, with 1 the ids of the single bytes.
    """
    draws = random_numbers(seed)
    ids: list[int] = []
    for part in cut(text, model, allowed_special, disallowed_special):
        ids += [part] if isinstance(part, int) else merge_with_dropout(part, model, dropout, draws)
    return ids


def merge_with_dropout(pretoken: bytes, model: Model, dropout: float, draws: Iterator[int]) -> list[int]:
    """Returns the ids of one pretoken; takes a random number for each merge that it tries."""
    # Draws are compared as 53-bit integers, so that this product is exact.
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
