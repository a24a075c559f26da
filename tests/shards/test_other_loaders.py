"""Loaders of other libraries can open folders of shards unchanged."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import open_shards
from tests.cases import ROOT
from tests.shards.making import text_shards
from tests.shards.reading import documents_of


def test_indexed_dataset_of_megatron_core_openstext_shards(tmp_path: Path) -> None:
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


def test_datasets_of_datatrove_opentext_shards(tmp_path: Path) -> None:
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


def _found(library: str, shards: Any) -> Any:
    """Returns what the snippet of docs/shards.md that imports `library` reads."""
    text = (ROOT / "docs" / "shards.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"```python notest\n(.*?)```", text, re.S) if f"import {library}" in code)
    scope: dict[str, Any] = {"shards": shards}
    exec(code, scope)
    return scope


@pytest.mark.parametrize("library", ["datasets", "grain", "webdataset", "streaming", "litdata"])
def test_a_documented_loop_of_a_library_reads_all_ids(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    text_shards(tmp_path, "parquet" if library == "datasets" else "npy").rename(tmp_path / "shards")
    shards = open_shards("shards")
    scope = _found(library, shards)
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
