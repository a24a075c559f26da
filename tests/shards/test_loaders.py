"""Shards in training loops: torch data sets through any DataLoader, and loaders of other libraries, unchanged."""

import itertools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import open_shards
from tests.shards.making import page_code, text_shards
from tests.shards.reading import documents_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_shards(tmp_path_factory.mktemp("shards"))


def _torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 5, None])
def test_a_stateful_loader_resumes_in_and_after_an_epoch(folder: Path, workers: int, taken: int | None) -> None:
    _torch()
    loaders = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    from pairloom.shards.torch import ShardBatches

    options: dict[str, Any] = {"seq_len": 16, "batch": 2, "seed": 1, "epochs": 1, "pad_id": 0}
    expected = [[ids.tolist() for ids in open_shards(folder).batches(**options, epoch=epoch)] for epoch in range(4)]

    def loader_of(data: Any) -> Any:
        return loaders.StatefulDataLoader(data, batch_size=None, num_workers=workers)

    data = ShardBatches(folder, **options)
    data.set_epoch(1)
    loader = loader_of(data)
    found = [ids.tolist() for ids in itertools.islice(loader, taken)] if taken != 0 else []
    assert found == expected[1][:taken]
    state = loader.state_dict()
    again = ShardBatches(folder, **options)
    resumed = loader_of(again)
    resumed.load_state_dict(state)
    for epoch in range(1 if taken is not None else 2, 4):
        again.set_epoch(epoch)
        found = [ids.tolist() for ids in resumed]
        assert found == expected[epoch][taken if epoch == 1 else 0 :]


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_by_index_are_those_of_an_epoch(folder: Path, workers: int) -> None:
    torch = _torch()
    from pairloom.shards.torch import ShardRows

    shards = open_shards(folder)
    rows = ShardRows(shards, seq_len=16)
    joined = np.concatenate(list(shards))
    assert len(rows) == len(joined) // 16
    assert rows[-1].tolist() == rows[len(rows) - 1].tolist() == joined[(len(rows) - 1) * 16 : len(rows) * 16].tolist()
    loader = torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True, num_workers=workers)
    assert sorted(row for ids in loader for row in ids.tolist()) == sorted(rows[i].tolist() for i in range(len(rows)))
    assert pickle.loads(pickle.dumps(rows))[3].tolist() == rows[3].tolist()
    with pytest.raises(IndexError, match="row"):
        rows[len(rows)]
    padded = ShardRows(folder, seq_len=16, mode="padded", pad_id=0)
    expected = list(shards.batches(seq_len=16, batch=1, mode="padded", pad_id=0, epochs=1))
    assert [padded[number].tolist() for number in range(len(padded))] == [ids[0].tolist() for ids in expected]


_RANK = """
import json, sys
import torch
from pairloom import open_shards
from pairloom.shards.torch import ShardBatches

rank, folder, place, out = int(sys.argv[1]), *sys.argv[2:]
torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 1))
mix = open_shards({"one": folder, "two": folder}, weights={"one": 2, "two": 1})
found = {}
for shards in (folder, mix):
    for workers in (0, 2, 4):
        data = ShardBatches(shards, seq_len=16, batch=2, seed=1, epochs=1, pad_id=0)
        loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
        steps = []
        for ids in loader:
            model(ids.float()).mean().backward()
            both = [torch.zeros_like(ids) for _ in range(2)]
            torch.distributed.all_gather(both, ids)
            steps.append(torch.cat(both).tolist())
        found[f"{type(shards).__name__} {workers}"] = steps
if rank == 0:
    with open(out, "w") as file:
        json.dump(found, file)
torch.distributed.destroy_process_group()
"""


def test_two_processes_of_ddp_read_what_one_reads(folder: Path, tmp_path: Path) -> None:
    _torch()
    places = [str(folder), str(tmp_path / "ranks"), str(tmp_path / "steps.json")]
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    environment |= {"GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": os.pathsep.join(sys.path)}
    ranks = [subprocess.Popen([sys.executable, "-c", _RANK, str(rank), *places], env=environment) for rank in range(2)]
    assert [process.wait(300) for process in ranks] == [0, 0]
    found = json.loads((tmp_path / "steps.json").read_text())
    shards = open_shards(folder)
    options: dict[str, Any] = {"seq_len": 16, "batch": 4, "seed": 1, "epochs": 1, "pad_id": 0}
    mix = open_shards({"one": shards, "two": shards}, weights={"one": 2, "two": 1})
    expected = {"str": list(shards.batches(**options)), "MixedShards": list(mix.batches(**options))}
    for name, steps in expected.items():
        assert len(steps) > 5
        for workers in (0, 2, 4):
            assert found[f"{name} {workers}"] == [ids.tolist() for ids in steps]


# Other libraries ------------------------------------------------------------------------------------------------


def test_indexed_dataset_of_megatron_core_opens_shards(tmp_path: Path) -> None:
    """If the library is not installed, tests/shards/reading.py follows its code instead."""
    library: Any = pytest.importorskip(
        "megatron.core.datasets.indexed_dataset", reason="megatron-core is not installed", exc_type=ImportError
    )
    folder = text_shards(tmp_path, "megatron")
    found = []
    for path in sorted(folder.glob("*.idx")):
        data = library.IndexedDataset(str(path.with_suffix("")), mmap=True)
        assert data.document_indices.tolist() == list(range(len(data) + 1))
        found += [data[number].tolist() for number in range(len(data))]
    assert found == documents_of(folder) == [ids.tolist() for ids in open_shards(folder)]


def test_datasets_of_datatrove_open_shards(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    library: Any = pytest.importorskip("datatrove.utils.dataset", reason="datatrove is not installed")
    folder = text_shards(tmp_path, "bin")
    data = library.DatatroveFolderDataset(str(folder), seq_len=15, filename_pattern="*.bin", token_size=2)
    rows = [data[number]["input_ids"].tolist() for number in range(len(data))]
    expected = []
    for path in sorted(folder.glob("*.bin")):
        ids = np.fromfile(path, "<u2")
        expected += ids[: len(ids) // 16 * 16].reshape(-1, 16).tolist()
    assert len(rows) > 30 and rows == expected


@pytest.mark.parametrize("library", ["datasets", "grain", "webdataset", "streaming", "litdata"])
def test_a_documented_loop_of_a_library_reads_all_ids(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    text_shards(tmp_path, "parquet" if library == "datasets" else "npy").rename(tmp_path / "shards")
    shards = open_shards("shards")
    scope: dict[str, Any] = {"shards": shards}
    exec(page_code(f"import {library}"), scope)
    joined = [i for ids in shards for i in ids.tolist()]
    if library == "datasets":
        rows = [row["input_ids"] for row in scope["documents"]]
        assert rows == [ids.tolist() for ids in shards] and scope["first"] == rows[0]
    elif library == "webdataset":
        assert [ids.tolist() for ids in scope["found"]] == [ids.tolist() for ids in shards]
    elif library == "litdata":
        rows = [i for ids in scope["found"] for i in ids.tolist()]
        assert rows == joined[: len(joined) // 64 * 64]
    else:
        batch = 2 if library == "grain" else 1
        expected = [ids.tolist() for ids in shards.batches(seq_len=64, batch=batch, seed=1, epochs=1, pad_id=0)]
        assert [ids.reshape(batch, 64).tolist() for ids in scope["found"]] == expected
