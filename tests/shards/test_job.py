"""Many workers, one folder: nothing is lost or duplicated, whichever worker dies or runs twice."""

import contextlib
import gzip
import pickle
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

from pairloom import (
    Corpus,
    CorpusError,
    ResumeError,
    ShardJob,
    SpecialTokenError,
    Tokenizer,
    open_shards,
)
from pairloom.shards.files import FORMATS
from pairloom.shards.job import ShardTask
from tests.corpus.files import json_lines
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number} " * (number % 7) for number in range(200)]
IDS = TOKENIZER.encode_batch(TEXTS)
PARTS = [TEXTS[start : start + 30] for start in range(0, 200, 30)]


def _json_lines(path: Path, texts: list[str]) -> Path:
    path.write_text(json_lines(texts), encoding="utf-8")
    return path


@pytest.mark.parametrize("format", FORMATS)
def test_parts_of_many_workers_are_one_folder_of_shards(tmp_path: Path, format: str) -> None:
    folder = tmp_path / "shards"
    with ShardJob(folder, TOKENIZER, format=format, shard_tokens=300) as job:
        task = pickle.loads(pickle.dumps(job.task))
        receipts = [task.write([part[:10], part[10:]], number) for number, part in enumerate(PARTS)]
        # Before the commit, nothing counts and nothing is visible among the shards.
        assert [path.name for path in folder.glob("[!.]*")] == []
        manifest = job.commit(pickle.loads(pickle.dumps(receipts)))
    assert documents_of(folder) == IDS
    assert manifest.documents == len(TEXTS)
    assert manifest.text_bytes == sum(len(text.encode()) for text in TEXTS)
    assert [document.tolist() for document in open_shards(folder)] == IDS
    assert manifest_of(folder)["complete"] and manifest_of(folder)["totals"]["bytes"] == manifest.text_bytes


def test_a_job_without_tasks_writes_a_folder_without_documents(tmp_path: Path) -> None:
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        assert job.commit([]).documents == 0
    assert len(open_shards(tmp_path / "shards")) == 0
    with ShardJob(tmp_path / "shards", TOKENIZER, overwrite=True) as job:
        job.commit([])
    assert [path.name for path in (tmp_path / "shards").iterdir()] == ["manifest.json"]


def test_batches_of_arrow_are_taken_with_and_without_a_field(tmp_path: Path) -> None:
    batches = [
        pa.table({"n": range(30), "text": PARTS[0]}),
        pa.record_batch({"text": PARTS[1], "n": range(30)}),
        polars.DataFrame({"n": range(30), "text": PARTS[2]}),
    ]
    with ShardJob(tmp_path / "a", TOKENIZER, text_field="text") as job:
        job.commit([job.task.write(batches)])
    with ShardJob(tmp_path / "b", TOKENIZER) as job:
        job.commit([job.task.write([pa.chunked_array(PARTS[:2]), polars.Series(PARTS[2])])])
    assert documents_of(tmp_path / "a") == documents_of(tmp_path / "b") == IDS[:90]


def test_uncommitted_attempts_and_second_receipts_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    with ShardJob(folder, TOKENIZER, shard_tokens=100) as job:
        lost = job.task.write(PARTS[:1], 0)
        first = [job.task.write([part], number) for number, part in enumerate(PARTS)]
        again = [job.task.write([part], number) for number, part in enumerate(PARTS[:3])]
        job.commit([*first, *again])
        del lost
        with pytest.raises(RuntimeError, match="commit it once"):
            job.commit(first)
    assert documents_of(folder) == IDS
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("ending", ["abort", "error", "none"])
@pytest.mark.parametrize("there", [None, [], ["notes.txt"]])
def test_a_job_that_is_not_committed_leaves_the_folder_as_it_was(
    tmp_path: Path, ending: str, there: list[str] | None
) -> None:
    folder = tmp_path / "shards"
    if there is not None:
        folder.mkdir()
    with contextlib.suppress(ZeroDivisionError), ShardJob(folder, TOKENIZER) as job:
        job.task.write(PARTS)
        for name in there or ():
            (folder / name).write_text("mine")
        if ending == "abort":
            job.abort()
        if ending == "error":
            raise ZeroDivisionError
    assert (sorted(path.name for path in folder.iterdir()) if folder.exists() else None) == there


def test_two_jobs_and_folders_in_use_refuse_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    with ShardJob(folder, TOKENIZER) as job:
        with pytest.raises(FileExistsError, match="another run is writing here"), ShardJob(folder, TOKENIZER):
            pass
        foreign = job.task.write(PARTS[:1])
        job.commit([foreign])
    assert documents_of(folder) == IDS[:30]
    with (
        ShardJob(tmp_path / "other", TOKENIZER) as job,
        pytest.raises(ResumeError, match="receipt 0 is from another job"),
    ):
        job.commit([foreign])


def test_a_folder_is_checked_before_it_is_claimed(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    ShardJob(folder, TOKENIZER).check_folder()
    assert not folder.exists()
    with ShardJob(folder, TOKENIZER) as job:
        job.check_folder()
        job.commit([job.task.write(PARTS[:1])])
    with pytest.raises(FileExistsError, match=r"is not empty: it contains manifest\.json"):
        ShardJob(folder, TOKENIZER).check_folder()
    ShardJob(folder, TOKENIZER, overwrite=True).check_folder()
    assert documents_of(folder) == IDS[:30]
    (folder / "notes.txt").write_text("mine")
    # The error names the obstacle, not the files to be removed.
    for overwrite, name in ((False, "manifest.json"), (True, "notes.txt")):
        job = ShardJob(folder, TOKENIZER, overwrite=overwrite)
        with pytest.raises(FileExistsError, match=f"it contains {name}"):
            job.check_folder()
        with pytest.raises(FileExistsError, match=f"it contains {name}"), job:
            pass
    job = ShardJob(folder / "notes.txt", TOKENIZER)
    for claim in (job.check_folder, job.__enter__):
        with pytest.raises(FileExistsError, match="is not a folder"):
            claim()


def test_lost_files_and_bad_records_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    with pytest.raises(ResumeError, match=r"is lost; run task '7' again"), ShardJob(folder, TOKENIZER) as job:
        receipts = [job.task.write(PARTS[:1], 6), job.task.write(PARTS[:1], 7)]
        (path,) = folder.glob(f".pairloom-job-*/{receipts[1].attempt}/shard-00000.npy")
        path.unlink()
        job.commit(receipts)
    assert not folder.exists()
    with ShardJob(folder, TOKENIZER, text_field="text", specials="error") as job:
        with pytest.raises(KeyError, match="text"):
            job.task.write([pa.table({"other": ["a"]})])
        with pytest.raises(CorpusError, match=r"texts: row 1: the text is null; skip such rows with skip_bad"):
            job.task.write([pa.table({"text": ["a", None]})])
        with pytest.raises(SpecialTokenError, match="endoftext"):
            job.task.write([["ab", "<|endoftext|>"]])
        with pytest.raises(TypeError, match="texts"):
            job.task.write([[b"ab"]])
        with pytest.raises(TypeError, match="batch must be an iterable of str, not str; wrap a single text in a list"):
            job.task.write(["ab the cat"])
        job.commit([job.task.write(PARTS[:1])])
    assert documents_of(folder) == IDS[:30]
    with ShardJob(tmp_path / "skipping", TOKENIZER, skip_bad=True) as job:
        texts = pa.array([b"ab", None, b"caf\xe9", b"the"])
        assert job.commit([job.task.write([texts])]).skipped == 2
    with (
        ShardJob(tmp_path / "strict", TOKENIZER) as job,
        pytest.raises(CorpusError, match=r"texts: row 1: invalid UTF-8 at byte 3; .* skip_bad"),
    ):
        job.task.write([texts.slice(0, 1), texts.slice(2, 2), texts])
    assert documents_of(tmp_path / "skipping") == TOKENIZER.encode_batch(["ab", "the"])
    with ShardJob(tmp_path / "replacing", TOKENIZER, input_errors="replace") as job:
        assert job.commit([job.task.write([texts.drop_null()])]).skipped == 0
    assert documents_of(tmp_path / "replacing") == TOKENIZER.encode_batch(["ab", "caf\ufffd", "the"])


@pytest.mark.parametrize("option", [{"text_field": "body"}, {"skip_bad": True}, {"input_errors": "replace"}])
def test_options_that_a_corpus_has_are_not_ignored_beside_it(tmp_path: Path, option: dict[str, Any]) -> None:
    corpus = Corpus(_json_lines(tmp_path / "a.jsonl", PARTS[0]))
    job = ShardJob(tmp_path / "shards", TOKENIZER, **option)
    with pytest.raises(ValueError, match="belong to the Corpus; pass them there"), job:
        job.task.write_corpus(corpus)


def test_tables_of_any_size_are_encoded_some_megabytes_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def noted(task: ShardTask, *arguments: Any, read: Any = ShardTask._documents) -> Any:
        documents, n_left_out = read(task, *arguments)
        sizes.append(documents.n_bytes)
        return documents, n_left_out

    monkeypatch.setattr(ShardTask, "_documents", noted)
    table = pa.table({"text": [f"{number} the cat " * 3000 for number in range(600)], "n": range(600)})
    expected = TOKENIZER.encode_batch(table["text"].to_pylist())
    for name, batch in (("table", table), ("batch", table.to_batches()[0])):
        sizes.clear()
        with ShardJob(tmp_path / name, TOKENIZER, text_field="text") as job:
            job.commit([job.task.write([batch])])
        assert max(sizes) < 5 << 20 < sum(sizes)
        assert documents_of(tmp_path / name) == expected
    late = pa.table({"text": [*table["text"].to_pylist(), None]})
    with (
        ShardJob(tmp_path / "null", TOKENIZER, text_field="text") as job,
        pytest.raises(CorpusError, match="texts: row 600: the text is null"),
    ):
        job.task.write([late])


def test_a_job_leaves_out_and_names_unreadable_files(tmp_path: Path) -> None:
    good = _json_lines(tmp_path / "good.jsonl", PARTS[0])
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress(_json_lines(tmp_path / "b.jsonl", PARTS[1]).read_bytes())[:-20])
    with (
        ShardJob(tmp_path / "out", TOKENIZER) as job,
        pytest.warns(UserWarning, match="1 files that could not be read"),
    ):
        job.commit(
            [
                job.task.write_corpus(Corpus(good), 0),
                job.task.write_corpus(Corpus([good, damaged], skip_bad_files=True), 1),
            ]
        )
    manifest = manifest_of(tmp_path / "out")
    assert [entry["path"] for entry in manifest["inputs"]] == [str(good), str(good), str(damaged)]
    (left_out,) = manifest["skipped_files"]
    assert (left_out["input"], left_out["path"]) == (2, str(damaged))
    assert documents_of(tmp_path / "out") == IDS[:30] * 2
    totals = [(entry["documents"], entry["tokens"]) for entry in manifest["inputs"]]
    assert totals == [(30, sum(map(len, IDS[:30])))] * 2 + [(0, 0)]


def test_a_list_that_a_killed_job_was_writing_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "..pairloom-job-074c4f4e624d883d.moves.6a7080a3769effbf").write_text("[[")
    with ShardJob(folder, TOKENIZER) as job:
        job.commit([job.task.write(PARTS)])
    assert not any(path.name.startswith(".") for path in folder.iterdir())


def test_a_discarded_job_removes_what_its_tasks_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    job = ShardJob(folder, TOKENIZER)
    job.check_folder()
    job.task.write(PARTS)
    pickle.loads(pickle.dumps(job)).discard()
    assert list(folder.iterdir()) == []
    # The folder is claimed at the end, as in Spark, and the commit fails.
    job.task.write(PARTS)
    with pytest.raises(ResumeError, match="another job"), job:
        job.commit([ShardJob(tmp_path / "b", TOKENIZER).task.write(PARTS)])
    assert list(folder.iterdir()) == []
    # Another job has taken over the folder.
    with ShardJob(folder, TOKENIZER) as other:
        job.discard()
        other.commit([other.task.write(PARTS)])
    job.discard()
    assert documents_of(folder) == IDS
