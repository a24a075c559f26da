"""ShardBatches behave as torch users expect of datasets (ranks, epochs, length, state); on a stub of torch."""

import importlib
import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import open_shards
from tests.cases import INPUTS, REFUSED
from tests.shards import torch_stub
from tests.shards.making import text_shards

OPTIONS: dict[str, Any] = {"seq_len": 16, "batch": 2, "seed": 1, "pad_id": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    modules = torch_stub.modules()
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.delitem(sys.modules, "pairloom.shards.torch", raising=False)
    yield modules["torch"]
    sys.modules.pop("pairloom.shards.torch", None)


def _batches(folder: Path, **options: Any) -> Any:
    return importlib.import_module("pairloom.shards.torch").ShardBatches(folder, **{**OPTIONS, **options})


def _lists(batches: Any) -> list[Any]:
    return [ids.tolist() for ids in batches]


def _expected(folder: Path, **options: Any) -> list[Any]:
    return _lists(open_shards(folder).batches(**{**OPTIONS, **options}))


@pytest.mark.parametrize(("variables", "group", "expected"), INPUTS["ranks"])
def test_ranks_are_those_of_torchrun_or_of_the_process_group(
    folder: Path, torch: Any, variables: dict[str, str], group: tuple[int, int] | None, expected: tuple[int, int]
) -> None:
    os.environ.update(variables)
    data = _batches(folder, epochs=1)
    # A process group may come later.
    torch.distributed.ranks = group and tuple(group)
    wanted = _expected(folder, epochs=1, rank=expected[0], world_size=expected[1])
    assert _lists(data) == _lists(torch_stub.through_workers(torch, data, 2)) == wanted and len(data) == len(wanted)
    # A newly started worker has no process group.
    state = data.__getstate__()
    torch.distributed.ranks = None
    worker = object.__new__(type(data))
    worker.__dict__.update(state)
    assert _lists(worker) == wanted
    # Arguments take precedence.
    assert _lists(_batches(folder, epochs=1, rank=0, world_size=1)) == _expected(folder, epochs=1)


def test_a_step_counts_the_rows_of_ranks_that_come_later(folder: Path, torch: Any) -> None:
    data = _batches(folder, epochs=1, step=2)
    torch.distributed.ranks = (2, 3)
    assert data.state_dict()["row"] == 12
    assert _lists(data) == _expected(folder, epochs=1, step=2, rank=2, world_size=3) != []
    assert _lists(torch_stub.through_workers(torch, data, 2)) == _lists(data)


@pytest.mark.parametrize(("variables", "group", "message"), REFUSED["ranks"])
def test_ranks_that_contradict_each_other_are_refused(
    folder: Path, torch: Any, variables: dict[str, str], group: tuple[int, int] | None, message: str
) -> None:
    os.environ.update(variables)
    data = _batches(folder, epochs=1)
    torch.distributed.ranks = group and tuple(group)
    for use in (iter, len):
        with pytest.raises(ValueError, match=message):
            use(data)
    iter(_batches(folder, rank=0, world_size=2))


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.filterwarnings("error")
def test_each_epoch_has_its_order_and_a_second_pass_warns(folder: Path, torch: Any, workers: int) -> None:
    data = _batches(folder, epochs=1)
    orders = []
    for epoch in range(3):
        data.set_epoch(epoch)
        orders.append(_lists(torch_stub.through_workers(torch, data, workers)))
        assert orders[-1] == _expected(folder, epochs=1, epoch=epoch) and len(orders[-1]) == len(data)
    assert len({json.dumps(order) for order in orders}) == 3
    with pytest.warns(UserWarning, match="reads epoch 2 again, in the same order; call set_epoch"):
        assert _lists(torch_stub.through_workers(torch, data, workers)) == orders[2]
    in_order = _batches(folder, epochs=1, seed=None)
    assert _lists(in_order) == _lists(in_order)


def test_the_length_is_the_number_of_batches_or_refused(folder: Path, torch: Any) -> None:
    for options in ({"epochs": 2}, {"epochs": 1, "mode": "padded"}, {"epochs": 1, "rank": 1, "world_size": 3}):
        data = _batches(folder, **options)
        assert len(data) == len(_lists(data)) == len(_expected(folder, **options))
    with pytest.raises(TypeError, match="never end"):
        len(_batches(folder))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_states_of_workers_resume_each_worker(folder: Path, torch: Any, workers: int) -> None:
    expected = _expected(folder, epochs=1)
    for taken in (0, 1, 2, 3, 7, len(expected) - 1, len(expected)):
        states: dict[int, Any] = {}
        reading = torch_stub.through_workers(torch, _batches(folder, epochs=1), workers, states)
        found = _lists(itertools.islice(reading, taken))
        data = _batches(folder, epochs=1)
        rest = torch_stub.through_workers(
            torch, data, workers, json.loads(json.dumps(states), object_hook=_numbered), taken
        )
        assert found + _lists(rest) == expected
    with pytest.raises(ValueError, match=r"\[0, \d, 2\] of a DataLoader, not None; use the same numbers, or pass row"):
        data.load_state_dict(states[0])


@pytest.mark.parametrize("options", [{"rank": 0, "world_size": 2}, {"batch": 1}])
def test_a_workers_state_of_other_rows_a_step_is_refused(folder: Path, torch: Any, options: dict[str, Any]) -> None:
    states: dict[int, Any] = {}
    next(torch_stub.through_workers(torch, _batches(folder, epochs=1), 2, states))
    rest = torch_stub.through_workers(torch, _batches(folder, epochs=1, **options), 2, states, 1)
    with pytest.raises(
        ValueError, match=r"batch \* world_size\) \[0, 2, 2\] of a DataLoader, not .*; use the same numbers"
    ):
        next(rest)


def _numbered(value: dict[str, Any]) -> dict[Any, Any]:
    return {int(key) if key.isdecimal() else key: inner for key, inner in value.items()}


def test_a_state_that_only_workers_know_is_refused(folder: Path, torch: Any) -> None:
    data = _batches(folder, epochs=1)
    next(torch_stub.through_workers(torch, data, 2))
    with pytest.raises(RuntimeError, match="StatefulDataLoader, or store the number of batches"):
        data.state_dict()
    data.set_epoch(1)
    assert data.state_dict()["row"] == 0
    next(iter(data))
    assert data.state_dict()["row"] == 2


def test_a_loader_that_loads_a_finished_pass_begins_the_next(folder: Path, torch: Any) -> None:
    # torchdata's StatefulDataLoader loads after set_epoch, makes an iterator that ends at once, and then another.
    data = _batches(folder, epochs=1)
    _lists(data)
    again = _batches(folder, epochs=1)
    again.set_epoch(1)
    again.load_state_dict(data.state_dict())
    assert _lists(again) == []
    assert _lists(again) == _expected(folder, epochs=1, epoch=1)
