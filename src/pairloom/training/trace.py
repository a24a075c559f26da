"""The trace of a training: for each step the pair that is merged, its count, and the pairs that came next."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

N_TRACED: Final = 5
"""How many pairs of each step a trace has; `pairloom.reference.naive.best_pairs` defines which."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step of a training. rank: its number, from 0 on. pair: the bytes of the parts; count: how often they stand
    side by side. runners_up: (left, right, count) of up to four pairs that would have been next, in their order.
    """

    rank: int
    pair: tuple[bytes, bytes]
    count: int
    runners_up: list[tuple[bytes, bytes, int]]

    @property
    def ties(self) -> list[tuple[bytes, bytes]]:
        """The runners-up with the same count, over which the tie rule decided; more than four are not listed."""
        return [(left, right) for left, right, count in self.runners_up if count == self.count]


Trace = Callable[[TrainingStep], object]


def check_trace(trace: Any) -> None:
    """Raises TypeError for a trace that cannot be called."""
    if trace is not None and not callable(trace):
        raise TypeError(f"trace must be a function that takes each TrainingStep, not {type(trace).__name__}")


def steps_of(
    merges: npt.NDArray[np.uint32], pairs: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint64]
) -> Iterator[TrainingStep]:
    """The steps of merges [m, 2], with N_TRACED pairs and counts of each."""
    tokens = [bytes([byte]) for byte in range(256)]
    shape = (-1, N_TRACED)
    rows = zip(merges.tolist(), pairs.reshape(*shape, 2).tolist(), counts.reshape(shape).tolist(), strict=True)
    for rank, ((left, right), near, times) in enumerate(rows):
        found = [(tokens[a], tokens[b], count) for (a, b), count in zip(near, times, strict=True) if count]
        yield TrainingStep(rank, (tokens[left], tokens[right]), times[0], found[1:])
        tokens.append(tokens[left] + tokens[right])
