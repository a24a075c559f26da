"""Shards as torch data sets. Needs the extra [torch].

`ShardBatches` is `OpenShards.batches` for a DataLoader: order, ranks and steps follow docs/shards.md for any number of
workers. `ShardRows` gives access to the rows by index, for your own sampler.
"""

import operator
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from pairloom._internal.arguments import check_int
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.warnings import warn
from pairloom.shards.batches import Batches
from pairloom.shards.mixing import MixedShards
from pairloom.shards.reading import OpenShards, open_shards

_PURPOSE = "pairloom.shards.torch"
_torch: Any = import_optional("torch", _PURPOSE)
_data: Any = import_optional("torch.utils.data", _PURPOSE)


class ShardRows(_data.Dataset):  # type: ignore[misc]
    """The rows of one epoch with documents in their original order: item i is an int64 tensor [seq_len].

    shards: a folder or `OpenShards`. mode, pad_id: as for `OpenShards.batches`; without pad_id, tokens that do not fill
    the last row are left out. Raises IndexError, and what `open_shards` and `batches` raise.
    """

    def __init__(
        self,
        shards: OpenShards | str | os.PathLike[str],
        *,
        seq_len: int,
        mode: str = "packed",
        pad_id: int | None = None,
    ) -> None:
        self._shards = shards if isinstance(shards, OpenShards) else open_shards(shards)
        epochs = None if pad_id is None else 1
        self._options: dict[str, Any] = {"seq_len": seq_len, "mode": mode, "pad_id": pad_id, "epochs": epochs}
        self._rows: Batches | None = None
        n_rows = self._opened().n_steps
        self._n_rows = self._shards.n_tokens // seq_len if n_rows is None else n_rows

    def _opened(self) -> Batches:
        if self._rows is None:
            self._rows = self._shards.batches(batch=1, dtype=np.int64, **self._options)
        return self._rows

    def __len__(self) -> int:
        """The number of rows."""
        return self._n_rows

    def __getitem__(self, index: int) -> Any:
        number = check_int("index", operator.index(index))
        if not -self._n_rows <= number < self._n_rows:
            raise IndexError(f"row {number} of {self._n_rows}")
        return _torch.from_numpy(self._opened().at(number % self._n_rows)[0])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_rows": None}


class ShardBatches(_data.IterableDataset):  # type: ignore[misc]
    """The batches of `OpenShards.batches` as int64 tensors [batch, seq_len]; pass batch_size=None to the DataLoader.

    shards: a folder, or what `open_shards` returns. rank, world_size: if None, each pass takes them from
    torch.distributed when it begins, else from RANK and WORLD_SIZE of the environment, else uses 0 of 1. options: those
    of `batches`. Each pass begins at `row` (and `step`) of `epoch`; call `set_epoch` before the next one. `len` counts
    the batches of a pass from row 0 on.

    Raises what `open_shards` and `batches` raise; a pass raises ValueError if torch.distributed and the environment
    disagree. With a seed, a pass warns if it begins with the same epoch as the last one.
    """

    def __init__(
        self,
        shards: OpenShards | MixedShards | str | os.PathLike[str],
        *,
        rank: int | None = None,
        world_size: int | None = None,
        step: int = 0,
        epoch: int = 0,
        row: int = 0,
        **options: Any,
    ) -> None:
        if (rank is None) != (world_size is None):
            raise ValueError(
                "rank and world_size belong together; pass both, or neither to use those of torch.distributed"
            )
        self._shards = shards if isinstance(shards, (OpenShards, MixedShards)) else open_shards(shards)
        self._options = {"dtype": np.int64, **options}
        self._given: dict[str, Any] | None = None if rank is None else {"rank": rank, "world_size": world_size}
        # Only checks the options: the ranks may be known later.
        self._shards.batches(**self._options, **(self._given or {}), epoch=epoch, row=row, step=step)
        self._at: Batches | None = None
        # In memory shared with DataLoader workers: where the next pass begins (epoch, row, step; the ranks at that time
        # decide which rows a step has), the epoch with which the last pass began, and whether workers read it.
        self._shared = _torch.tensor([epoch, row, step, -1, 0], device="cpu").share_memory_()
        self._epoch: int | None = None
        self._is_loaded = False
        self._start_of_worker: tuple[int, int] | None = None

    def _batches(self, epoch: int, row: int, step: int = 0) -> Batches:
        ranks = self._given or _current_ranks() or {}
        return self._shards.batches(**self._options, **ranks, epoch=epoch, row=row, step=step)

    def __len__(self) -> int:
        n_steps = self._batches(0, 0).n_steps
        if n_steps is None:
            raise TypeError("batches without epochs never end, so they have no length")
        return n_steps

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass begin with row 0 of `epoch`, or at the loaded row if a state of this epoch was loaded."""
        self._epoch = check_int("epoch", epoch, least=0)
        if epoch != int(self._shared[0]):
            self._begin_at(epoch, 0)

    def _begin_at(self, epoch: int, row: int) -> None:
        self._at = self._batches(epoch, row)
        self._is_loaded = False
        for place, value in enumerate((epoch, row, 0, -1, 0)):
            self._shared[place] = value

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that was taken.

        Raises RuntimeError if workers of a plain DataLoader take the batches: only torchdata's StatefulDataLoader asks
        workers for their state.
        """
        if _data.get_worker_info() is None and int(self._shared[4]):
            raise RuntimeError(
                "the workers of a DataLoader read these batches, so only they know the position; use torchdata's "
                "StatefulDataLoader, or store the number of batches that your loop took and pass it as step"
            )
        at = self._at or self._batches(*self._shared.tolist()[:3])
        return {**at.state_dict(), **_worker(at)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next pass begin where `state_dict` was called, even with another rank, world_size or batch."""
        at = self._at = self._batches(*self._shared.tolist()[:3])
        mine = _worker(at).get("worker")
        if state.get("worker") != mine:
            raise ValueError(
                f"the state is of (worker, workers, batch * world_size) {state.get('worker')} of a DataLoader, not "
                f"{mine}; use the same numbers, or pass row = (batches that the loop took) * batch * world_size, with "
                "the old values"
            )
        at.load_state_dict(state)
        if mine is None:
            self._begin_at(state["epoch"], state["row"])
            self._is_loaded = True
        else:
            self._start_of_worker = state["epoch"], state["row"]

    def __iter__(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        # A DataLoader takes batches from its workers in turn.
        first, stride = (0, 1) if worker is None else (worker.id, worker.num_workers)
        epoch, row, step, last_epoch, _ = self._shared.tolist()
        if self._start_of_worker is not None:
            # A loaded state: the next row of this worker, for one pass.
            (epoch, row), step, first, self._start_of_worker = self._start_of_worker, 0, 0, None
        elif first == 0:
            if epoch == last_epoch and self._options.get("seed") is not None:
                warn(f"this pass reads epoch {epoch} again, in the same order; call set_epoch before each pass")
            self._shared[3] = epoch
        if worker is None and self._is_loaded:
            # A loaded state also holds for one pass only: StatefulDataLoader loads after set_epoch, then may begin
            # another.
            self._is_loaded = False
            self._shared[0], self._shared[1] = epoch if self._epoch is None else self._epoch, 0
        self._shared[4] = int(worker is not None)
        self._at = self._batches(epoch, row, step + first)
        return self._read(self._at, stride)

    def _read(self, batches: Batches, stride: int) -> Iterator[Any]:
        while batches.n_steps is None or batches.step < batches.n_steps:
            ids = _torch.from_numpy(batches.at(batches.step))
            batches.step += stride
            yield ids

    def __getstate__(self) -> dict[str, Any]:
        # Store the ranks: a worker that is not forked has no process group.
        return {**vars(self), "_given": self._given or _current_ranks(), "_at": None}


def _worker(at: Batches) -> dict[str, list[int]]:
    """Returns what a DataLoader worker's next rows depend on: its number, the number of workers, the rows of a step."""
    worker = _data.get_worker_info()
    return {} if worker is None else {"worker": [worker.id, worker.num_workers, at.rows_per_step]}


def _current_ranks() -> dict[str, int] | None:
    """Returns rank and world_size of torch.distributed, else of torchrun's environment; None if neither has them."""
    names = {"rank": "RANK", "world_size": "WORLD_SIZE"}
    texts = {name: os.environ[variable] for name, variable in names.items() if variable in os.environ}
    distributed = _torch.distributed
    is_alone = not (distributed.is_available() and distributed.is_initialized())
    if texts and ((is_alone and len(texts) < 2) or not all(map(str.isdecimal, texts.values()))):
        raise ValueError(
            f"the environment variables RANK and WORLD_SIZE are {texts}; set both, or pass rank and world_size"
        )
    environment = {name: int(text) for name, text in texts.items()}
    if is_alone:
        return environment or None
    group = {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    # Compare only the variables that are set: Lightning sets WORLD_SIZE without RANK.
    if {**group, **environment} != group:
        raise ValueError(
            f"torch.distributed has {group}, but the environment variables RANK and WORLD_SIZE are {environment}; "
            "pass rank and world_size"
        )
    return group
