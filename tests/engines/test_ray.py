"""Ray with two workers, started and stopped here: counts, merges and ids of a single process."""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pairloom import CorpusError, open_shards
from tests.engines.corpora import COUNTS, IDS, TEXTS, TOKENIZER, same_counts, write_parts

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("ray.data", reason="ray is not installed")
engine = pytest.importorskip("pairloom.engines.ray", exc_type=ImportError, reason="ray is not installed")


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=10**8)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def _dataset(n_blocks: int) -> Any:
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    bounds = [part * len(TEXTS) // n_blocks for part in range(n_blocks + 1)]
    return ray.data.from_arrow(
        [pa.table({"n": range(start, stop), "text": TEXTS[start:stop]}) for start, stop in itertools.pairwise(bounds)]
    )


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_counts_and_merges_are_those_of_one_process(tmp_path: Path, n_parts: int) -> None:
    counts = engine.count_pretokens(_dataset(n_parts), "cl100k")
    assert same_counts(counts)
    assert counts == COUNTS
    paths = write_parts(tmp_path / "parts", n_parts)
    assert engine.count_files(paths, "cl100k", files_per_task=2) == COUNTS


@pytest.mark.parametrize("n_parts", [1, 7])
def test_ids_are_those_of_one_process_document_by_document(tmp_path: Path, n_parts: int) -> None:
    encoded = _dataset(n_parts).map_batches(engine.EncodeText(TOKENIZER, keep=False), batch_format="pyarrow")
    rows = sorted(encoded.take_all(), key=lambda row: int(row["n"]))
    assert [list(row["input_ids"]) for row in rows] == IDS
    assert rows[0].keys() == {"n", "input_ids"}
    manifest = engine.write_tokens(_dataset(n_parts), tmp_path / "shards", TOKENIZER, shard_tokens=500)
    assert [document.tolist() for document in open_shards(tmp_path / "shards")] == IDS
    assert manifest.documents == len(TEXTS)
    with pytest.raises(FileExistsError, match="is not empty"):
        engine.write_tokens(_dataset(n_parts), tmp_path / "shards", TOKENIZER)
    engine.write_tokens(_dataset(1), tmp_path / "shards", TOKENIZER, mode="overwrite", format="parquet")
    assert [document.tolist() for document in open_shards(tmp_path / "shards")] == IDS


def test_documents_are_in_the_order_of_the_blocks(tmp_path: Path) -> None:
    options = ray.data.DataContext.get_current().execution_options
    options.preserve_order = False
    tables = [pa.table({"text": TEXTS[start : start + 30]}) for start in range(0, len(TEXTS), 30)]

    def late(table: Any) -> Any:
        time.sleep(2 if table["text"][0].as_py() == TEXTS[0] else 0)
        return table

    ds = ray.data.from_arrow(tables).map_batches(late, batch_format="pyarrow", batch_size=None)
    engine.write_tokens(ds, tmp_path / "shards", TOKENIZER)
    assert [ids.tolist() for ids in open_shards(tmp_path / "shards")] == IDS
    assert not options.preserve_order


def test_a_killed_worker_neither_loses_nor_doubles_documents(tmp_path: Path) -> None:
    killed = tmp_path / "killed"

    def die_once(table: Any) -> Any:
        if TEXTS[150] in table["text"].to_pylist() and not killed.exists():
            killed.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return table

    engine.write_tokens(_dataset(20).map_batches(die_once, batch_format="pyarrow"), tmp_path / "shards", TOKENIZER)
    assert killed.exists()
    assert sorted(document.tolist() for document in open_shards(tmp_path / "shards")) == sorted(IDS)


def test_a_dataset_without_rows_is_a_folder_without_documents(tmp_path: Path) -> None:
    manifest = engine.write_tokens(_dataset(3).filter(lambda row: False), tmp_path / "shards", TOKENIZER)
    assert manifest.documents == len(open_shards(tmp_path / "shards")) == 0


def test_a_column_of_ids_that_is_there_already_is_refused() -> None:
    table = pa.table({"text": ["ab"], "input_ids": [1]})
    with pytest.raises(ValueError, match="there is already a column 'input_ids'; pass another name with column"):
        engine.EncodeText(TOKENIZER)(table)
    ids = engine.EncodeText(TOKENIZER, column="text", keep=False)(table)
    assert ids.to_pydict() == {"input_ids": [1], "text": [TOKENIZER.encode("ab")]}


def test_a_bad_record_and_a_missing_column_are_errors(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 3)
    with open(paths[1], "a") as file:
        file.write("{broken\n")
    with pytest.raises(CorpusError, match=r"1\.jsonl: line 101"):
        engine.count_files(paths, "cl100k")
    with pytest.raises(ValueError, match="no files to count"):
        engine.count_files([], "cl100k")
    with pytest.raises(TypeError, match="must be an Arrow table, not dict; pass batch_format"):
        engine.EncodeText(TOKENIZER)({"text": ["ab"]})
    # The error itself is raised, not Ray's text about it.
    with pytest.raises(CorpusError, match=r"^no column 'body'; the columns are .* choose one with text_field$"):
        engine.count_pretokens(_dataset(1), text_field="body")
    with pytest.raises(Exception, match="the column has type int64, not string or binary"):
        engine.count_pretokens(ray.data.from_arrow(pa.table({"text": [1]})))
    with pytest.raises(Exception, match="not string or binary"):
        engine.write_tokens(ray.data.from_arrow(pa.table({"text": [1]})), tmp_path / "none", TOKENIZER)
    with pytest.raises(TypeError, match="unexpected keyword argument 'text_field'"):
        engine.count_files(paths, "cl100k", text_field="body")
    assert not (tmp_path / "none").exists()
    allows = _dataset(2)
    allows.context.max_errored_blocks = 3
    for call in (engine.count_pretokens, lambda ds: engine.write_tokens(ds, tmp_path / "none", TOKENIZER)):
        with pytest.raises(ValueError, match="max_errored_blocks of the DataContext is 3: Ray would silently drop"):
            call(allows)
    allows.context.max_errored_blocks = 0
    with pytest.raises(CorpusError, match=r"^texts: row 1: the text is null; skip such rows with skip_bad$"):
        engine.write_tokens(ray.data.from_arrow(pa.table({"text": ["a", None]})), tmp_path / "shards", TOKENIZER)
    assert not (tmp_path / "shards").exists()
