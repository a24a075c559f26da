"""The trace of a training run: for each step, the merged pair, its count, and the pairs that came next."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

N_TRACED: Final = 5
"""The number of pairs that a trace records for each step; `pairloom.reference.naive.best_pairs` defines which."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step of training.

    rank: its number, from 0. pair: the bytes of both parts; count: how often they are adjacent.
    runners_up: (left, right, count) of up to four pairs that would have been next, in order.
    """

    rank: int
    pair: tuple[bytes, bytes]
    count: int
    runners_up: list[tuple[bytes, bytes, int]]

    @property
    def ties(self) -> list[tuple[bytes, bytes]]:
        """The runners-up (at most four) that have the same count, so that the tie rule decided."""
        return [(left, right) for left, right, count in self.runners_up if count == self.count]


Trace = Callable[[TrainingStep], object]


def check_trace(trace: Any) -> None:
    """Raises TypeError if `trace` is not callable."""
    if trace is not None and not callable(trace):
        raise TypeError(f"trace must be a function that takes each TrainingStep, not {type(trace).__name__}")


def steps_of(
    merges: npt.NDArray[np.uint32], pairs: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint64]
) -> Iterator[TrainingStep]:
    """Yields the steps of merges [m, 2]; `pairs` and `counts` have N_TRACED entries for each merge."""
    tokens = [bytes([byte]) for byte in range(256)]
    shape = (-1, N_TRACED)
    rows = zip(merges.tolist(), pairs.reshape(*shape, 2).tolist(), counts.reshape(shape).tolist(), strict=True)
    for rank, ((left, right), near, times) in enumerate(rows):
        found = [(tokens[a], tokens[b], count) for (a, b), count in zip(near, times, strict=True) if count]
        yield TrainingStep(rank, (tokens[left], tokens[right]), times[0], found[1:])
        tokens.append(tokens[left] + tokens[right])
