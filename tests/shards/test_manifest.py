"""The manifest: its name for shards of each format, and its content."""

import builtins
import os
from collections import Counter
from pathlib import Path
from typing import Any

import polars
import pytest
from pyarrow import dataset, parquet

from pairloom import Corpus, PretokenCounts, Tokenizer, tokenize_files
from pairloom.shards import manifest
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.making import page_code
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    tokenize_files(TOKENIZER, Corpus.of_texts(DOCUMENTS), tmp_path / "out", format="parquet", shard_tokens=300)
    assert len(list((tmp_path / "out").glob("shard-*.parquet"))) > 2
    return tmp_path / "out"


def test_pyarrow_and_polars_open_a_folder_of_parquet_shards(shards: Path) -> None:
    expected = documents_of(shards)
    assert parquet.read_table(shards)["input_ids"].to_pylist() == expected
    assert dataset.dataset(shards).to_table()["input_ids"].to_pylist() == expected
    for source in (shards, f"{shards}/", f"{shards}/*", f"{shards}/*.parquet"):
        assert polars.read_parquet(source)["input_ids"].to_list() == expected
        assert polars.scan_parquet(source).collect()["input_ids"].to_list() == expected


def test_datasets_opens_a_folder_of_parquet_shards(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets: Any = pytest.importorskip("datasets")
    for arguments, more in (
        ((str(shards),), {}),
        (("parquet",), {"data_dir": str(shards)}),
        (("parquet",), {"data_files": f"{shards}/*.parquet"}),
    ):
        found = datasets.load_dataset(*arguments, split="train", cache_dir=str(tmp_path / "cache"), **more)
        assert found["input_ids"][:] == documents_of(shards)


@pytest.mark.parametrize(
    ("example", "format"),
    [("import numpy as np\n\nfolder", "npy"), ("import polars", "parquet"), ("read_metadata(", "parquet")],
)
def test_the_readers_in_the_description_of_shards_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str, format: str
) -> None:
    tokenize_files(TOKENIZER, Corpus.of_texts(DOCUMENTS), tmp_path / "shards", format=format, shard_tokens=300)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(page_code(example), names)
    if "document" in names:
        assert list(names["document"]) == documents_of(tmp_path / "shards")[-1]
    else:
        assert names["manifest"] == manifest_of(tmp_path / "shards")


@pytest.mark.long
def test_work_is_linear_in_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            done[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(owner, name, call)

    for names in ((Path, "stat"), (os, "stat"), (os, "scandir"), (builtins, "open"), (manifest, "_json_text")):
        counted(*names)
    work = []
    for n_files in (25, 100):
        folder = tmp_path / str(n_files)
        for number in range(n_files):
            (folder / str(number // 20)).mkdir(parents=True, exist_ok=True)
            (folder / str(number // 20) / f"{number}.jsonl").write_text(json_lines(DOCUMENTS[:20]))
        done.clear()
        # About one shard for every four files.
        tokenize_files(TOKENIZER, folder, tmp_path / f"out-{n_files}", shard_tokens=400)
        assert len(manifest_of(tmp_path / f"out-{n_files}")["shards"]) > n_files / 8
        tokenize_files(TOKENIZER, folder, tmp_path / f"out-{n_files}", shard_tokens=400, resume=True)
        PretokenCounts.from_texts(Corpus(folder))
        work.append(dict(done))
    for name, n in work[0].items():
        assert work[1][name] <= 4 * n + 20, (name, work)
        assert work[1][name] <= 40 * 100, (name, work)
