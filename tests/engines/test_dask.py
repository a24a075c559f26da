"""Dask with two worker processes, started and stopped here: counts, merges and ids of a single process."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest

from pairloom import CorpusError, PretokenCounts, open_shards
from tests.engines.corpora import COUNTS, IDS, TEXTS, TOKENIZER, same_counts, write_parts

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
engine = pytest.importorskip("pairloom.engines.dask", exc_type=ImportError, reason="dask is not installed")


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_counts_and_merges_are_those_of_one_process(tmp_path: Path, n_parts: int) -> None:
    paths = write_parts(tmp_path / "parts", n_parts)
    counts = engine.count_files(paths, "cl100k", files_per_task=2 if n_parts == 7 else None).compute()
    assert same_counts(counts)
    assert counts == COUNTS


def test_a_file_that_changed_is_counted_again(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path / "parts", 1)
    held = distributed.default_client().compute(engine.count_files([path], "cl100k"))
    assert held.result() == COUNTS
    Path(path).write_text('{"text": "ab"}\n')
    assert engine.count_files([path], "cl100k").compute() == PretokenCounts.from_texts(["ab"], "cl100k")


def test_small_files_share_a_task_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def n_tasks(**options: int) -> int:
        return sum("_counted" in str(key) for key in engine.count_files(paths, **options).dask)

    paths = write_parts(tmp_path / "parts", 7)
    assert (n_tasks(), n_tasks(files_per_task=1), n_tasks(files_per_task=3)) == (1, 7, 3)
    # One for each worker thread that has work.
    monkeypatch.setattr(engine, "_MIN_TASK_BYTES", 1)
    assert n_tasks() == 2
    monkeypatch.setattr(engine, "_TASK_BYTES", 2 * max(Path(path).stat().st_size for path in paths))
    assert 3 <= n_tasks() < 7
    # A folder or URL can contain anything.
    paths = [str(tmp_path / "parts"), paths[0], "s3://bucket/key"]
    assert n_tasks() == 3


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_ids_are_those_of_one_process_document_by_document(tmp_path: Path, n_parts: int) -> None:
    paths = write_parts(tmp_path / "parts", n_parts)
    manifest = engine.encode_files(paths, tmp_path / "shards", TOKENIZER, shard_tokens=500)
    assert [document.tolist() for document in open_shards(tmp_path / "shards")] == IDS
    assert manifest.documents == len(TEXTS)


def test_a_killed_worker_neither_loses_nor_doubles_documents(tmp_path: Path) -> None:
    paths, folder = write_parts(tmp_path / "parts", 50), tmp_path / "shards"
    pid = next(iter(distributed.default_client().run(os.getpid).values()))

    def kill() -> None:
        while len(list(folder.glob(".pairloom-job-*/*"))) < 5:
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    engine.encode_files(paths, folder, TOKENIZER)
    killing.join()
    assert [document.tolist() for document in open_shards(folder)] == IDS and not list(folder.glob(".*"))


def test_partitions_of_a_data_frame_get_a_column_of_ids() -> None:
    frame = pandas.DataFrame({"n": range(5), "text": [*TEXTS[:4], None]}, index=[9, 8, 7, 6, 5])
    found = engine.encode_partition(frame, TOKENIZER)
    assert list(found.index) == [9, 8, 7, 6, 5]
    assert [None if row is None else list(row) for row in found["input_ids"].to_numpy(object, na_value=None)] == [
        *IDS[:4],
        None,
    ]
    with pytest.raises(KeyError, match="body"):
        engine.encode_partition(frame, TOKENIZER, text_field="body")


def test_a_bad_record_and_a_missing_column_are_errors_once(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 3)
    with open(paths[1], "a") as file:
        file.write("{broken\n")
    with pytest.raises(CorpusError, match=r"1\.jsonl: line 101"):
        engine.count_files(paths, "cl100k").compute()
    with pytest.raises(CorpusError, match=r"1\.jsonl: line 101"):
        engine.encode_files(paths, tmp_path / "shards", TOKENIZER)
    # A running task can still write to the job's hidden folder, which does not count.
    assert not list((tmp_path / "shards").glob("[!.]*"))
    with pytest.raises(CorpusError, match="body"):
        engine.count_files(paths, "cl100k", text_field="body").compute()
    manifest = engine.encode_files(paths, tmp_path / "shards", TOKENIZER, reading={"skip_bad": True})
    assert manifest.skipped == 1
    assert [document.tolist() for document in open_shards(tmp_path / "shards")] == IDS
    with pytest.raises(ValueError, match="no files to count"):
        engine.count_files([], "cl100k")
    with pytest.raises(ValueError, match="no files to encode"):
        engine.encode_files([], tmp_path / "none", TOKENIZER)
    assert not (tmp_path / "none").exists()
    with pytest.raises(TypeError, match="int"):
        engine.encode_partition(pandas.DataFrame({"n": [1, 2]}), TOKENIZER, text_field="n")
