"""The batches of a training loop: which tokens are in which row of which step, computed from the step alone.

An `Order` maps each row of the endless stream of rows to the pieces of the corpus that make it up. No state is kept
from row to row, so a loop can begin at any step, and ranks need not talk to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_int
from pairloom.shards.order import permuted

if TYPE_CHECKING:
    from pairloom.shards.reading import OpenShards

Lengths = npt.NDArray[np.int64]
Pieces = tuple[Lengths, Lengths]


# Blocks or rows permuted at once.
_CHUNK = 1 << 12


class Order(NamedTuple):
    """How one epoch of a corpus is laid out in rows.

    n_per_epoch: how many rows an epoch has; if rows are cut from a stream (is_stream), how many tokens. pieces: for
    (epoch, start, stop), a range of those rows or tokens, returns (starts, stops) of its pieces in the corpus; in a
    stream, no piece is empty.
    """

    n_per_epoch: int
    pieces: Callable[[int, int, int], Pieces]
    is_stream: bool


def _permutation(n: int, seed: int | None) -> Callable[[int, int, int], Lengths]:
    """Returns a function of (epoch, start, stop) that says where positions `start` to `stop` of range(n) go.

    It computes chunks, since many positions cost as much as few.
    """

    @lru_cache(maxsize=4)
    def of_chunk(epoch: int, chunk: int) -> Lengths:
        numbers = np.arange(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n))
        return permuted(numbers, n, seed or 0, epoch)

    def of(epoch: int, start: int, stop: int) -> Lengths:
        chunks = range(start // _CHUNK, -(-stop // _CHUNK))
        parts = [of_chunk(epoch, chunk)[max(start - chunk * _CHUNK, 0) : stop - chunk * _CHUNK] for chunk in chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])

    return of


def by_block(n_tokens: int, block: int, seed: int | None) -> Order:
    """Returns the stream of tokens in blocks of `block`, shuffled with a seed; a shorter last block stays last."""
    n_full = n_tokens // block
    permutation = _permutation(n_full, seed)

    def pieces(epoch: int, start: int, stop: int) -> Pieces:
        if seed is None:
            return np.array([start]), np.array([stop])
        first, last = start // block, -(-stop // block)
        begins = np.arange(first, last) * block
        places = begins.copy()
        n_moved = max(min(last, n_full) - first, 0)
        places[:n_moved] = permutation(epoch, first, first + n_moved) * block
        # The range can cut the first and the last block.
        return places + np.maximum(start - begins, 0), places + np.minimum(stop - begins, block)

    return Order(n_tokens, pieces, True)


def _shuffled(sizes: Lengths, seed: int | None) -> Callable[[int], tuple[Lengths, Lengths]]:
    """Returns a function of the epoch: (items of these sizes in its order, the sum of sizes up to and including each).

    It holds the orders of two epochs.
    """

    @lru_cache(maxsize=2)
    def of(epoch: int) -> tuple[Lengths, Lengths]:
        numbers = np.arange(len(sizes))
        items = numbers if seed is None else permuted(numbers, len(sizes), seed, epoch)
        return items, np.cumsum(sizes[items], dtype=np.int64)

    return of if seed is not None else lambda _: of(0)


def by_document(lengths: Lengths, seed: int) -> Order:
    """Returns the stream of tokens, document after document in shuffled order."""
    starts = np.cumsum(lengths) - lengths
    shuffled = _shuffled(lengths, seed)

    def pieces(epoch: int, start: int, stop: int) -> Pieces:
        items, ends = shuffled(epoch)
        here = slice(int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop)) + 1)
        begins = ends[here] - lengths[items[here]]
        # Documents without tokens have no piece.
        is_some = begins < ends[here]
        begins, places = begins[is_some], starts[items[here]][is_some]
        return places + np.maximum(start - begins, 0), places + np.minimum(stop, ends[here][is_some]) - begins

    return Order(int(lengths.sum()), pieces, True)


def padded_rows(lengths: Lengths, seq_len: int, seed: int | None, shuffle: str) -> Order:
    """Returns rows that hold one document each, or a part of a longer one; documents without tokens have no row.

    The rows of a document stay together unless rows are shuffled.
    """
    n_rows = -(-lengths // seq_len)
    starts = np.cumsum(lengths) - lengths
    total = int(n_rows.sum())
    permutation = _permutation(total, seed)
    shuffled = _shuffled(n_rows, seed if shuffle == "document" else None)

    def pieces(epoch: int, start: int, stop: int) -> Pieces:
        is_shuffled = seed is not None and shuffle == "block"
        rows: Any = permutation(epoch, start, stop) if is_shuffled else np.arange(start, stop)
        items, row_ends = shuffled(epoch)
        places = np.searchsorted(row_ends, rows, side="right")
        documents = items[places]
        parts = rows - (row_ends[places] - n_rows[documents])
        begins = starts[documents] + parts * seq_len
        stops = np.minimum(begins + seq_len, starts[documents] + lengths[documents])
        return begins, stops

    return Order(total, pieces, False)


class Rows(Protocol):
    """Rows of ids, one after another through all epochs.

    units_per_row: what one row adds to `total`: seq_len if that counts the ids of a stream, 1 if it counts rows. total:
    over all epochs; None if the rows never end.
    """

    units_per_row: int
    total: int | None
    pad_id: int | None

    def at(self, epoch: int, first: int, n: int) -> npt.NDArray[Any]:
        """Returns rows [n, seq_len] from `first` on; row 0 is the first of `epoch`, padding follows the last row."""
        ...

    def documents_of(self, epoch: int, first: int, n: int) -> Lengths:
        """Returns the documents of these rows, in the format of `Batches.documents_of`."""
        ...


class FolderRows(Rows):
    """The rows of a folder."""

    def __init__(
        self,
        shards: OpenShards,
        order: Order,
        seq_len: int,
        epochs: int | None,
        pad_id: int | None,
        dtype: np.dtype[Any],
    ) -> None:
        if pad_id is None and not order.is_stream:
            raise ValueError("mode 'padded' needs pad_id, the id that fills rows")
        self._shards, self._order = shards, order
        self.seq_len, self.pad_id, self.dtype = seq_len, pad_id, dtype
        self.n_per_epoch = order.n_per_epoch
        self.units_per_row = seq_len if order.is_stream else 1
        self.total = None if epochs is None else epochs * order.n_per_epoch

    def at(self, epoch: int, first: int, n: int) -> npt.NDArray[Any]:
        """Implements `Rows.at`."""
        ids: npt.NDArray[Any] = np.zeros((n, self.seq_len), self._shards.dtype)
        n_of_row = np.zeros(n, np.int64)
        for starts, stops, places in self._pieces_with_places(epoch, first, n):
            self._shards.copy_pieces(starts, stops, ids.reshape(-1), places)
            if self._order.is_stream:
                n_filled = int(places[-1] + stops[-1] - starts[-1])
                n_of_row = np.clip(n_filled - np.arange(n) * self.seq_len, 0, self.seq_len)
            else:
                n_of_row[places // self.seq_len] = stops - starts
        ids = ids.astype(self.dtype, copy=False)
        if self.pad_id is not None and n_of_row.min() < self.seq_len:
            ids[np.arange(self.seq_len) >= n_of_row[:, None]] = self.pad_id
        return ids

    def documents_of(self, epoch: int, first: int, n: int) -> Lengths:
        """Implements `Rows.documents_of`."""
        seq_len, bounds = self.seq_len, self._shards.document_bounds
        found = [np.zeros((0, 5), np.int64)]
        for starts, stops, places in self._pieces_with_places(epoch, first, n):
            # Cut the pieces where rows end, then where documents end.
            piece, row = _spans(places // seq_len, (places + stops - starts - 1) // seq_len)
            begin_of_row = np.maximum(places[piece], row * seq_len)
            end_of_row = np.minimum((places + stops - starts)[piece], (row + 1) * seq_len)
            source = (starts - places)[piece] + begin_of_row
            source_end = source + end_of_row - begin_of_row
            first_document, last = (np.searchsorted(bounds, at, side="right") - 1 for at in (source, source_end - 1))
            part, document = _spans(first_document, last)
            begin = np.maximum(source[part], bounds[document])
            end = np.minimum(source_end[part], bounds[document + 1])
            column = (begin_of_row - row * seq_len - source)[part]
            lines = [row[part], begin + column, end + column, document, begin - bounds[document]]
            found.append(np.stack(lines, axis=1)[end > begin])
        return np.concatenate(found)

    def _pieces_with_places(self, epoch: int, first: int, n: int) -> Iterator[tuple[Lengths, Lengths, Lengths]]:
        """Yields (starts, stops, places in the flattened rows) for the pieces of `n` rows."""
        at = 0
        for starts, stops in self._pieces(epoch, first * self.units_per_row, (first + n) * self.units_per_row):
            if self._order.is_stream:
                places = np.cumsum(stops - starts) - (stops - starts) + at
                at = int(places[-1] + stops[-1] - starts[-1])
            else:
                places = at + np.arange(len(starts)) * self.seq_len
                at += len(starts) * self.seq_len
            yield starts, stops, places

    def _pieces(self, first_epoch: int, start: int, stop: int) -> Iterator[Pieces]:
        """Yields the pieces of a range of the endless stream, up to the end of the last epoch."""
        if self.total is not None:
            stop = min(stop, self.total)
        while start < stop:
            epoch, begin = divmod(start, self.n_per_epoch)
            end = min(self.n_per_epoch, begin + stop - start)
            yield self._order.pieces(first_epoch + epoch, begin, end)
            start += end - begin


class Batches(Iterator[npt.NDArray[Any]]):
    """Batches of ids, arrays [batch, seq_len]; made by `OpenShards.batches`.

    step: the number of the next batch. n_steps: the total number of steps; None if they never end. rows_per_step: over
    all ranks. A checkpoint stores the step, or `state_dict()`. Threads that share an iterator get each batch once.
    """

    def __init__(
        self,
        rows: Rows,
        batch: int,
        rank: int,
        world_size: int,
        step: int,
        epoch: int,
        row: int,
        stream: dict[str, Any],
    ) -> None:
        for name, value in (("batch", batch), ("world_size", world_size)):
            check_int(name, value, least=1)
        check_int("rank", rank, least=0, most=world_size - 1)
        for name, value in (("step", step), ("epoch", epoch), ("row", row)):
            check_int(name, value, least=0)
        self._rows, self._batch = rows, batch
        self._rank, self.rows_per_step = rank, batch * world_size
        self._stream = stream
        self._lock = Lock()
        self._start(epoch, row)
        self.step = step

    def _start(self, epoch: int, row: int) -> None:
        """Makes `row`, counted from the first row of `epoch`, the first row of step 0."""
        n_steps = n_missing = None
        if self._rows.total is not None:
            units_per_step = self.rows_per_step * self._rows.units_per_row
            left = max(self._rows.total - row * self._rows.units_per_row, 0)
            n_steps, n_missing = -(-left // units_per_step), -left % units_per_step
        if n_missing and self._rows.pad_id is None:
            raise ValueError(
                f"the last step needs {n_missing} more ids than the epochs have; pass pad_id to fill it, or "
                "epochs=None to continue with the next epoch"
            )
        self._epoch, self._row, self._step, self.n_steps = epoch, row, 0, n_steps

    @property
    def row(self) -> int:
        """The first row of the next step over all ranks, counted from the beginning of the first epoch."""
        return self._row + self._step * self.rows_per_step

    def state_dict(self) -> dict[str, Any]:
        """Returns the current position, for `load_state_dict` of batches with any rank, world_size and batch."""
        return {"epoch": self._epoch, "row": self.row, **self._stream_before(self.row)}

    def _stream_before(self, row: int) -> dict[str, Any]:
        """Returns everything that the rows before `row` depend on."""
        return self._stream

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where other batches were; ValueError if their shards or options differ, so their rows would too."""
        row = state.get("row")
        mine = self._stream_before(row if isinstance(row, int) else 0)
        other = {name: state.get(name) for name in mine}
        if other != mine:
            raise ValueError(
                f"the state is from batches with {other}, but these batches have {mine}, so their rows differ"
            )
        self._start(check_int("epoch", state.get("epoch"), least=0), check_int("row", row, least=0))

    @property
    def step(self) -> int:
        """The number of the next batch; assign to it to go to another."""
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._step = check_int("step", step, least=0)

    def __next__(self) -> npt.NDArray[Any]:
        with self._lock:
            if self.n_steps is not None and self._step >= self.n_steps:
                raise StopIteration
            ids = self.at(self._step)
            self._step += 1
        return ids

    def at(self, step: int) -> npt.NDArray[Any]:
        """Returns the batch of any step, without moving on; after the last step of all epochs, it is all padding."""
        check_int("step", step, least=0)
        return self._rows.at(self._epoch, self._first_of(step), self._batch)

    def documents_of(self, step: int) -> Lengths:
        """Returns the documents in the batch of a step: int64 [n, 5], one line for each part of a document in a row.

        Columns: row of the batch; the part's first and end column in it; number of the document (`where(document=...)`
        of the shards returns its origin); how many of its tokens come before the part. A mixture has a sixth column,
        the number of the folder.
        """
        check_int("step", step, least=0)
        return self._rows.documents_of(self._epoch, self._first_of(step), self._batch)

    def _first_of(self, step: int) -> int:
        """Returns this rank's first row of a step."""
        return self._row + step * self.rows_per_step + self._rank * self._batch


def _spans(first: Lengths, last: Lengths) -> Pieces:
    """Returns (index, number) for each number from first[index] to last[index]."""
    counts = last - first + 1
    index = np.repeat(np.arange(len(first)), counts)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts - first, counts)
