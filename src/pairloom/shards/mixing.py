"""Mixtures: the rows of several folders in given shares, in an order that depends on the row number alone.

A period of 65,536 rows holds as many rows of each folder as its share says, spread evenly: if a folder has w of them,
its row k stands at (k + 1/2) / w of the period, and the rows are sorted by these places. So the number of rows of each
folder before any row is one product and one table lookup. docs/shards.md specifies it.
"""

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_int, shown
from pairloom.shards.batches import Batches, FolderRows, Rows

_ROWS_PER_PERIOD = 1 << 16

Numbers = npt.NDArray[np.int64]
Weights = Mapping[str, float] | Sequence[tuple[int, Mapping[str, float]]]
# Rows of each source in a period.
Parts = tuple[int, ...]


class MixedShards:
    """Several folders as one stream of batches; made by `open_shards`.

    sources: `OpenShards` by name. n_tokens: over all sources. dtype: holds the ids of every source.
    """

    def __init__(self, sources: Mapping[str, Any], weights: Any) -> None:
        if not sources:
            raise ValueError("the dict of folders is empty; pass at least one")
        self.sources = dict(sources)
        models = {source.manifest.model: name for name, source in self.sources.items()}
        if len(models) > 1:
            one, other, *_ = models.values()
            raise ValueError(
                f"{shown(one)} and {shown(other)} were written with different tokenizers, so their ids mean different "
                "tokens; tokenize both with the same one"
            )
        self.weights = weights
        self._steps = _steps(weights, list(self.sources))
        self.n_tokens = sum(source.n_tokens for source in self.sources.values())
        self.dtype = np.result_type(*(source.dtype for source in self.sources.values()))

    def batches(
        self,
        *,
        seq_len: int,
        batch: int,
        seed: int | None = None,
        shuffle: str = "block",
        mode: str = "packed",
        rank: int = 0,
        world_size: int = 1,
        step: int = 0,
        epoch: int = 0,
        row: int = 0,
        epochs: int | Mapping[str, int | None] | None = None,
        pad_id: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> "MixedBatches":
        """Returns an iterator of batches of ids, like `OpenShards.batches`; each row is the next one of its folder.

        epochs: how often each folder is read, or a dict by name; there, None means without end, and a folder that is
        missing is read once. The batches end when the next row should come from a folder that has none left
        (`MixedBatches.exhausted` names it); other folders can have rows left. This needs `pad_id`, which fills the last
        row of a folder and the last step. epochs=None never ends.

        Raises what `OpenShards.batches` raises, and ValueError if epochs names an unknown folder.
        """
        if isinstance(epochs, Mapping):
            _check_names("epochs", epochs, list(self.sources), may_lack=True)
        each = {name: epochs.get(name, 1) if isinstance(epochs, Mapping) else epochs for name in self.sources}
        if pad_id is None and any(n is not None for n in each.values()):
            raise ValueError("a mixture with epochs needs pad_id, the id that fills the last rows")
        order: dict[str, Any] = {"seq_len": seq_len, "seed": seed, "shuffle": shuffle, "mode": mode}
        dtype = self.dtype if dtype is None else dtype
        used = {name for _, parts in self._steps for name, n in zip(self.sources, parts, strict=True) if n}
        rows = {
            name: source.rows(**order, epochs=each[name], pad_id=pad_id, dtype=dtype) if name in used else None
            for name, source in self.sources.items()
        }
        phases = [(first * batch * world_size, parts) for first, parts in self._steps]
        stream = {"tokens": {name: source.n_tokens for name, source in self.sources.items()}, **order}
        return MixedBatches(_MixedRows(rows, phases), batch, rank, world_size, step, epoch, row, stream)

    def __reduce__(self) -> tuple[Any, ...]:
        return MixedShards, (self.sources, self.weights)

    def __repr__(self) -> str:
        return f"MixedShards({', '.join(map(repr, self.sources))}, {self.n_tokens} tokens)"


def _steps(weights: Any, names: list[str]) -> list[tuple[int, Parts]]:
    """Returns (first step, rows of each source in a period) for each set of weights."""
    if weights is None:
        example = ", ".join(f"{name!r}: {1 / len(names):.2g}" for name in names)
        raise ValueError(
            f"weights are missing; give each folder its share of the tokens, for example weights={{{example}}}"
        )
    given = [(0, weights)] if isinstance(weights, Mapping) else weights
    if (
        not isinstance(given, Sequence)
        or not given
        or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in given)
    ):
        raise TypeError(f"weights must be a dict by name, or a list of (step, dict), not {shown(weights)}")
    found: list[tuple[int, Parts]] = []
    for step, by_name in given:
        least = found[-1][0] + 1 if found else 0
        check_int("a step of weights", step, least=least, most=(1 << 63) - 1 if found else 0)
        found.append((step, _parts(by_name, names)))
    return found


def _check_names(what: str, given: Any, names: list[str], may_lack: bool = False) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a dict by name, not {type(given).__name__}")
    unknown = [name for name in given if name not in names]
    lacking = [] if may_lack else [name for name in names if name not in given]
    if unknown:
        raise ValueError(f"{what} names {shown(unknown[0])}, which is not one of the folders {shown(names)}")
    if lacking:
        raise ValueError(f"{what} lacks {shown(lacking[0])}; give each of {shown(names)} a number")


def _parts(weights: Any, names: list[str]) -> Parts:
    """Returns how many rows of a period each source has: its exact share, rounded by largest remainders."""
    _check_names("weights", weights, names)
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)):
            raise TypeError(f"weights[{name!r}] must be a number, not {type(weight).__name__}")
        if not 0 <= weight <= sys.float_info.max:
            raise ValueError(f"weights[{name!r}] must be at least 0 and finite, not {shown(weight)}")
    exact = [Fraction(float(weights[name])) for name in names]
    total = sum(exact)
    if not total:
        raise ValueError("the weights add up to 0; give at least one folder a share")
    exact = [weight * _ROWS_PER_PERIOD / total for weight in exact]
    parts = [int(share) for share in exact]
    by_rest = sorted(range(len(names)), key=lambda number: (parts[number] - exact[number], number))
    for number in by_rest[: _ROWS_PER_PERIOD - sum(parts)]:
        parts[number] += 1
    for name, share, part in zip(names, exact, parts, strict=True):
        if share and not part:
            raise ValueError(
                f"weights[{name!r}] is less than 1/{_ROWS_PER_PERIOD} of their sum; set it to 0, or merge the folder "
                "with "
                "another"
            )
    return tuple(parts)


@lru_cache(maxsize=16)
def _period(parts: Parts) -> tuple[npt.NDArray[np.uint16], tuple[Numbers, ...]]:
    """Returns (the source of each row of a period, the rows of each source)."""
    # Floats are safe here: equal fractions are equal floats, and with so few parts different ones differ.
    places = np.concatenate([(2 * np.arange(part) + 1) / max(part, 1) for part in parts])
    sources = np.repeat(np.arange(len(parts), dtype=np.uint16), parts)[np.argsort(places, kind="stable")]
    return sources, tuple(np.flatnonzero(sources == number) for number in range(len(parts)))


class _Phase(NamedTuple):
    """Rows with the same weights. first: their first row. before: how many rows of each source come before it."""

    first: int
    parts: Parts
    before: list[int]

    def counts(self, row: int) -> list[int]:
        """Returns how many rows of each source come before `row`."""
        periods, rest = divmod(row - self.first, _ROWS_PER_PERIOD)
        places = _period(self.parts)[1]
        each = zip(self.before, self.parts, places, strict=True)
        return [before + periods * part + int(np.searchsorted(at, rest)) for before, part, at in each]


class _MixedRows(Rows):
    """The rows of a mixture. sources: their rows, None for a source that is never used. phases: (first row, parts)."""

    units_per_row = 1

    def __init__(self, sources: Mapping[str, FolderRows | None], phases: list[tuple[int, Parts]]) -> None:
        self.sources = sources
        some = next(filter(None, sources.values()))
        self.seq_len, self.pad_id, self.dtype = some.seq_len, some.pad_id, some.dtype
        self.phases: list[_Phase] = []
        for first, parts in phases:
            before = self.phases[-1].counts(first) if self.phases else [0] * len(parts)
            self.phases.append(_Phase(first, parts, before))
        limits = {
            name: -(-rows.total // rows.units_per_row)
            for name, rows in sources.items()
            if rows and rows.total is not None
        }
        ends = (self._row_of(number, limits[name]) for number, name in enumerate(sources) if name in limits)
        self.total: int | None = min((end for end in ends if end is not None), default=None)
        read = {} if self.total is None else self.counts(self.total)
        self.exhausted = [name for name in read if read[name] == limits.get(name)]

    def _row_of(self, source: int, number: int) -> int | None:
        """Returns the row of the mixture that is row `number` of a source; None if it never comes."""
        phase = [phase for phase in self.phases if phase.before[source] <= number][-1]
        if not phase.parts[source]:
            return None
        periods, rest = divmod(number - phase.before[source], phase.parts[source])
        return phase.first + periods * _ROWS_PER_PERIOD + int(_period(phase.parts)[1][source][rest])

    def counts(self, row: int) -> dict[str, int]:
        """Returns how many rows of each source come before `row`."""
        row = row if self.total is None else min(row, self.total)
        phase = [phase for phase in self.phases if phase.first <= row][-1]
        return dict(zip(self.sources, phase.counts(row), strict=True))

    def at(self, epoch: int, first: int, n: int) -> npt.NDArray[Any]:
        ids = np.full((n, self.seq_len), 0 if self.pad_id is None else self.pad_id, self.dtype)
        n_read = n if self.total is None else min(n, self.total - first)
        begins, sources = self.counts(first), self._sources(first, n_read)
        for number, (name, rows) in enumerate(self.sources.items()):
            places = np.flatnonzero(sources == number)
            if rows and len(places):
                ids[places] = rows.at(epoch, begins[name], len(places))
        return ids

    def documents_of(self, epoch: int, first: int, n: int) -> Numbers:
        """Like `Rows.documents_of`, with the number of the source as a sixth column."""
        n_read = n if self.total is None else min(n, self.total - first)
        begins, sources, found = self.counts(first), self._sources(first, n_read), [np.zeros((0, 6), np.int64)]
        for number, (name, rows) in enumerate(self.sources.items()):
            places = np.flatnonzero(sources == number)
            if rows and len(places):
                parts = rows.documents_of(epoch, begins[name], len(places))
                parts[:, 0] = places[parts[:, 0]]
                found.append(np.column_stack([parts, np.full(len(parts), number)]))
        joined = np.concatenate(found)
        return joined[np.argsort(joined[:, 0], kind="stable")]

    def _sources(self, first: int, n: int) -> npt.NDArray[np.uint16]:
        """Returns the source of each of `n` rows."""
        found = [np.zeros(0, np.uint16)]
        for phase, stop in zip(self.phases, [*(phase.first for phase in self.phases[1:]), first + n], strict=True):
            begin, end = max(first, phase.first), min(first + n, stop)
            if begin < end:
                rows = np.arange(end - begin) + (begin - phase.first) % _ROWS_PER_PERIOD
                found.append(_period(phase.parts)[0][rows % _ROWS_PER_PERIOD])
        return np.concatenate(found)


class MixedBatches(Batches):
    """Batches of a mixture, like `Batches`; made by `MixedShards.batches`."""

    _rows: _MixedRows

    @property
    def exhausted(self) -> list[str]:
        """The folders that end these batches by having no rows left; empty if the batches never end."""
        return self._rows.exhausted

    @property
    def sources(self) -> dict[str, dict[str, float]]:
        """What the steps before the next one hold of each folder, by name, over all ranks.

        rows: their number. share: of all rows; if rows are packed, of all tokens. passes: how often the folder was
        read.
        """
        counts = self._rows.counts(self.row)
        n_rows, found = max(sum(counts.values()), 1), {}
        for name, n in counts.items():
            rows = self._rows.sources[name]
            passes = n * rows.units_per_row / rows.n_per_epoch if rows else 0.0
            found[name] = {"rows": n, "share": n / n_rows, "passes": passes}
        return found

    def _stream_before(self, row: int) -> dict[str, Any]:
        # Later weights may differ, so only the phases before `row` count.
        parts = [[phase.first, *phase.parts] for phase in self._rows.phases if phase.first < row]
        return {**self._stream, "parts_from_row": parts}

    def __repr__(self) -> str:
        each = [f"{name} {of['share']:.2%}, {of['passes']:.2f} passes" for name, of in self.sources.items()]
        return f"MixedBatches(step {self.step}: {'; '.join(each)})"
