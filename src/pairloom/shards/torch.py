"""Shards as data sets of torch. Needs the extra [torch].

`ShardBatches` is `OpenShards.batches` for a DataLoader: order, ranks and steps are those of docs/shards.md with any
number of workers. `ShardRows` has the rows by index, for a sampler of the caller.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from pairloom._internal.arguments import check_int
from pairloom._internal.optional_deps import import_optional
from pairloom.shards.batches import Batches
from pairloom.shards.reading import OpenShards, open_shards

__all__ = ["ShardBatches", "ShardRows"]

_PURPOSE = "pairloom.shards.torch"
_torch: Any = import_optional("torch", _PURPOSE)
_data: Any = import_optional("torch.utils.data", _PURPOSE)


class ShardRows(_data.Dataset):  # type: ignore[misc]
    """The rows of one epoch in the order of the documents: item i is an int64 tensor [seq_len].

    shards: a folder or `OpenShards`. mode, pad_id: as for `OpenShards.batches`; without pad_id the tokens that do not
    fill the last row are left out. Raises IndexError, and what `open_shards` and `batches` raise.
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
        number = check_int("index", int(index))
        if not -self._n_rows <= number < self._n_rows:
            raise IndexError(f"row {number} of {self._n_rows}")
        return _torch.from_numpy(self._opened().at(number % self._n_rows)[0])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_rows": None}


class ShardBatches(_data.IterableDataset):  # type: ignore[misc]
    """The batches of `OpenShards.batches`, int64 tensors [batch, seq_len]; pass batch_size=None to the DataLoader.

    shards: a folder or `OpenShards`. rank, world_size: None takes those of torch.distributed, or 0 of 1 where it is not
    initialised. options: of `OpenShards.batches`; `step` is where each iteration begins, so a checkpoint should store
    the number of batches that were taken. Raises what `open_shards` and `batches` raise.
    """

    def __init__(
        self,
        shards: OpenShards | str | os.PathLike[str],
        *,
        rank: int | None = None,
        world_size: int | None = None,
        **options: Any,
    ) -> None:
        if (rank is None) != (world_size is None):
            raise ValueError("rank and world_size belong together; pass both, or none for those of torch.distributed")
        if rank is None:
            distributed = _torch.distributed
            is_distributed = distributed.is_available() and distributed.is_initialized()
            rank = distributed.get_rank() if is_distributed else 0
            world_size = distributed.get_world_size() if is_distributed else 1
        self._shards = shards if isinstance(shards, OpenShards) else open_shards(shards)
        self._options = {"dtype": np.int64, "rank": rank, "world_size": world_size, **options}
        self._shards.batches(**self._options)

    def __iter__(self) -> Iterator[Any]:
        batches = self._shards.batches(**self._options)
        worker = _data.get_worker_info()
        # A DataLoader takes from its workers in turn.
        first, stride = (0, 1) if worker is None else (worker.id, worker.num_workers)
        step = batches.step + first
        while batches.n_steps is None or step < batches.n_steps:
            yield _torch.from_numpy(batches.at(step))
            step += stride
