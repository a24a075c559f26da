"""The part of torch that `pairloom.shards.torch` uses, so that its tests run without the huge wheel."""

import copy
import itertools
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


class _Tensor(np.ndarray[Any, Any]):
    def share_memory_(self) -> "_Tensor":
        return self


def _tensor(values: Any, **_: Any) -> Any:
    return np.array(values, np.int64).view(_Tensor)


def modules(ranks: tuple[int, int] | None = None) -> dict[str, ModuleType]:
    """torch, torch.utils and torch.utils.data; `ranks`: rank and world size of an initialised process group."""
    torch, utils, data = ModuleType("torch"), ModuleType("torch.utils"), ModuleType("torch.utils.data")
    torch.__dict__.update(utils=utils, from_numpy=lambda ids: ids, tensor=_tensor, distributed=_distributed(ranks))
    utils.__dict__.update(data=data)
    data.__dict__.update(Dataset=type("Dataset", (), {}), IterableDataset=type("IterableDataset", (), {}), worker=None)
    data.__dict__.update(get_worker_info=lambda: data.worker)
    return {"torch": torch, "torch.utils": utils, "torch.utils.data": data}


def _distributed(ranks: tuple[int, int] | None) -> SimpleNamespace:
    """Its attribute `ranks` can be set later, as init_process_group does."""
    group = SimpleNamespace(ranks=ranks, is_available=lambda: True)
    group.is_initialized = lambda: group.ranks is not None
    group.get_rank = lambda: group.ranks[0]
    group.get_world_size = lambda: group.ranks[1]
    return group


def through_workers(
    torch: Any, dataset: Any, n: int, states: dict[int, Any] | None = None, turn: int = 0
) -> Iterator[Any]:
    """The batches of one pass, as a DataLoader with `n` workers takes them, starting with worker number `turn`.

    states: one per worker, loaded before and stored after each batch, like torchdata's StatefulDataLoader.
    """
    if n == 0:
        yield from dataset
        return
    data, states = torch.utils.data, {} if states is None else states
    workers = []
    for number in range(n):
        data.worker, worker = SimpleNamespace(id=number, num_workers=n), copy.copy(dataset)
        if number in states:
            worker.load_state_dict(states[number])
        workers.append((data.worker, worker, iter(worker)))
        states[number] = worker.state_dict()
    data.worker = None
    for number in itertools.count(turn):
        data.worker, worker, reading = workers[number % n]
        batch = next(reading, None)
        states[number % n] = worker.state_dict()
        data.worker = None
        if batch is None:
            # The other workers have none left either, because each batch goes to the next worker.
            return
        yield batch
