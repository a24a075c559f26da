"""The order in which a training loop reads tokens: a permutation for each epoch, the same on every machine.

A permutation of range(n) is computed only for the positions asked for, so a corpus of any size needs no table. A
Feistel network permutes all numbers of an even number of bits; a result of n or more is permuted again until it is
below n (cycle walking). The rounds mix bits as in Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators"
(SplitMix64). docs/shards.md specifies it.
"""

import numpy as np
import numpy.typing as npt

_ROUNDS = 6
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1

Indices = npt.NDArray[np.uint64]


def _mixed(values: Indices) -> Indices:
    """Applies SplitMix64's finaliser."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def permuted(positions: npt.ArrayLike, n: int, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    """Returns where each position goes, int64, in the permutation of range(n) that `seed` and `epoch` define.

    >>> permuted(range(8), 8, seed=1, epoch=0).tolist()
    [2, 6, 5, 1, 7, 4, 3, 0]
    """
    found = np.array(positions, np.uint64)
    if n <= 1:
        return found.astype(np.int64)
    half = np.uint64(((n - 1).bit_length() + 1) // 2)
    low = np.uint64((1 << int(half)) - 1)
    key = _mixed(np.array([(seed * _GOLDEN + epoch) & _MASK], np.uint64))
    keys = _mixed(key + np.arange(1, _ROUNDS + 1, dtype=np.uint64) * np.uint64(_GOLDEN))
    walking = np.ones(len(found), bool)
    while walking.any():
        left, right = found[walking] >> half, found[walking] & low
        for round_key in keys:
            left, right = right, left ^ (_mixed(right + round_key) & low)
        found[walking] = left << half | right
        walking &= found >= n
    return found.astype(np.int64)
