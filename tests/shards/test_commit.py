"""Commits that replace shards, are interrupted, or get forged receipts; jobs that share a folder: no shard is lost."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from pairloom import ResumeError, ShardJob, Tokenizer, tokenize_files
from pairloom.shards import storage
from pairloom.shards.files import FORMATS
from pairloom.shards.job import Receipt
from tests.cases import Case, applied, damaged_cases
from tests.shards.making import Killed
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number} " * (number % 7) for number in range(60)]
OTHER_TEXTS = [f"the hat {number}" for number in range(40)]
IDS, OTHER_IDS = TOKENIZER.encode_batch(TEXTS), TOKENIZER.encode_batch(OTHER_TEXTS)


class _Place:
    """A folder, local or in fsspec's memory, and what a reader finds there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_remote = url.startswith("memory:")
        self.files, self.root = fsspec.core.url_to_fs(url)

    def names(self) -> list[str]:
        return sorted(path.removeprefix(f"{self.root}/") for path in self.files.find(self.root))

    def documents(self) -> list[list[int]]:
        """Returns the documents of the committed shards; all other names in the folder must be hidden."""
        with tempfile.TemporaryDirectory() as copy:
            self.files.get(f"{self.root}/", f"{copy}/", recursive=True)
            for path in Path(copy).glob(".pairloom-job-*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return documents_of(Path(copy))

    def job(self, **options: Any) -> ShardJob:
        return ShardJob(self.url, TOKENIZER, **options)


@pytest.fixture(params=["local", "remote"])
def place(request: pytest.FixtureRequest, tmp_path: Path, memory: Any) -> _Place:
    return _Place("memory://bucket/shards" if request.param == "remote" else str(tmp_path / "shards"))


def _filled(place: _Place, texts: list[str] = TEXTS, **options: Any) -> None:
    with place.job(**options) as job:
        job.commit([job.task.write([texts[:20]], 0), job.task.write([texts[20:]], 1)])


@pytest.mark.parametrize("format", FORMATS)
def test_a_commit_replaces_all_files_of_what_was_there(place: _Place, format: str) -> None:
    _filled(place, format="parquet")
    _filled(place, OTHER_TEXTS, format=format, overwrite=True)
    assert place.documents() == OTHER_IDS
    suffixes = {name.partition(".")[2] for name in place.names() if name.startswith("shard-")}
    assert len(suffixes) == (1 if format == "parquet" else 2)


def _methods(place: _Place) -> type[Any]:
    return storage._Remote if place.is_remote else storage.Storage


def _cut_off(
    place: _Place, monkeypatch: pytest.MonkeyPatch, n_steps: int, error: type[BaseException], **options: Any
) -> bool:
    """Runs a job whose commit stops before write or rename number `n_steps`; returns whether it got that far."""
    steps = 0
    kind = _methods(place)

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, *args: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > n_steps:
                raise error
            return method(self, *args)

        return step

    def move_one_by_one(self: Any, moves: list[tuple[str, str]], whole: Any = kind.move) -> None:
        for move in moves:
            counted(whole)(self, [move])

    with monkeypatch.context() as patched:
        job = place.job(**options).__enter__()
        receipts = [job.task.write([OTHER_TEXTS])]
        patched.setattr(kind, "move", move_one_by_one)
        for name in ("write", "remove", "remove_folder"):
            patched.setattr(kind, name, counted(getattr(kind, name)))
        try:
            job.commit(receipts)
        except Killed:
            # The lock of a local folder ends with the process.
            patched.undo()
            if not place.is_remote:
                job._stack.close()
            return False
        except OSError:
            with contextlib.suppress(OSError):
                job.abort()
            return False
        return True


@pytest.mark.parametrize(("overwrite", "error"), [(False, Killed), (True, Killed), (True, OSError)])
def test_a_commit_that_is_cut_off_anywhere_is_finished_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: _Place, overwrite: bool, error: type[BaseException]
) -> None:
    seen = set()
    for n_steps in range(60):
        if overwrite:
            _filled(place, overwrite=True, takeover=True)
        is_whole = _cut_off(place, monkeypatch, n_steps, error, overwrite=overwrite)
        has_list = any(name.endswith(".moves") for name in place.names())
        has_manifest = "manifest.json" in place.names()
        # Shards without their manifest do not count.
        found = place.documents() if has_manifest else None
        assert found in ((IDS, OTHER_IDS, None) if has_list else (IDS, OTHER_IDS) if overwrite else (None, OTHER_IDS))
        if has_list:
            with (
                pytest.warns(UserWarning, match="the interrupted commit of an earlier job"),
                pytest.raises(FileExistsError),
            ):
                place.job(takeover=True).__enter__()
            assert place.documents() == OTHER_IDS
            assert sorted(name for name in place.names() if name.startswith(".")) == []
        seen.add((has_list, found is None, found == OTHER_IDS))
        if is_whole:
            break
        if not overwrite:
            place.files.rm(place.root, recursive=True)
    assert is_whole
    # The commit is undone, half done, and finished.
    assert {has_list for has_list, *_ in seen} == {False, True} and (True, True, False) in seen


def test_a_damaged_list_of_a_commit_moves_nothing(place: _Place, tmp_path: Path) -> None:
    outside = tmp_path / "id_rsa"
    outside.write_text("secret")
    for moves in (
        b"",
        b"{}",
        b"[]",
        b'[["../../id_rsa", "shard-00000.npy"], ["manifest.json", "manifest.json"]]',
        b'[["0123456789abcdef/shard-00000.npy", "../shard-00000.npy"], ["manifest.json", "manifest.json"]]',
        b'[["0123456789abcdef/shard-00000.npy", "shard-00000.npy"]]',
        b'[[1, 2], ["manifest.json", "manifest.json"]]',
    ):
        place.files.makedirs(place.root, exist_ok=True)
        place.files.pipe_file(f"{place.root}/.pairloom-job-0123456789abcdef.moves", moves)
        with pytest.raises(ValueError, match="the list of an interrupted commit is damaged"):
            place.job().__enter__()
        assert outside.read_text() == "secret"


@pytest.fixture
def remote(memory: Any) -> _Place:
    return _Place("memory://bucket/shards")


def test_jobs_that_claim_a_url_at_once_see_each_other(remote: _Place, monkeypatch: pytest.MonkeyPatch) -> None:
    others: list[ShardJob] = []
    write = storage._Remote.write

    def late(self: Any, name: str, data: bytes) -> None:
        # The other job checks and writes its lock between this one's check and its write.
        if name.endswith(".lock") and not others:
            others.append(remote.job())
            others[0].__enter__()
        write(self, name, data)

    monkeypatch.setattr(storage._Remote, "write", late)
    with pytest.raises(FileExistsError, match="started at the same moment"), remote.job():
        pass
    others[0].commit([others[0].task.write([TEXTS])])
    assert remote.documents() == IDS and not [name for name in remote.names() if name.startswith(".")]


def test_a_job_that_was_taken_over_commits_nothing(remote: _Place) -> None:
    first = remote.job().__enter__()
    receipt = first.task.write([TEXTS])
    with remote.job(takeover=True) as second:
        second.commit([second.task.write([OTHER_TEXTS])])
    with pytest.raises(ResumeError, match="is lost"):
        first.commit([receipt])
    with remote.job(overwrite=True) as first, remote.job(overwrite=True, takeover=True) as second:
        # Nothing is lost before the other job commits.
        with pytest.raises(FileExistsError, match="another job has taken over the folder"):
            first.commit([first.task.write([TEXTS])])
        second.commit([second.task.write([OTHER_TEXTS[:20]])])
    assert remote.documents() == OTHER_IDS[:20]


def test_no_message_of_a_job_at_a_url_holds_its_password(memory: Any) -> None:
    url = "memory://me:PASSWORD@bucket"
    with ShardJob(url, TOKENIZER) as job:
        job.commit([job.task.write([TEXTS])])
    with pytest.raises(FileExistsError) as caught:
        ShardJob(url, TOKENIZER).__enter__()
    assert "PASSWORD" not in f"{caught.value}{caught.value.filename}{job.task!r}{tokenize_files!r}"


# Receipts that no task wrote -------------------------------------------------------------------------------------


def _through_json(receipt: Receipt) -> dict[str, Any]:
    receipts: dict[str, Any] = json.loads(json.dumps({name: getattr(receipt, name) for name in Receipt.__slots__}))
    return receipts


def _refused(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Returns the error of a commit with a changed receipt; nothing moves, and a correct commit still works."""
    outside = folder / "home"
    outside.mkdir()
    for name in ("shard-00000.npy", "shard-00000.offsets.npy"):
        (outside / name).write_text("of another")
    shards = folder / "a" / "shards"
    with ShardJob(shards, TOKENIZER) as job:
        good = job.task.write([TEXTS], 0)
        bad = change(_through_json(job.task.write([TEXTS], 1)))
        with pytest.raises(ResumeError) as caught:
            job.commit([good, Receipt(**bad)])
        assert not [path for path in shards.iterdir() if not path.name.startswith(".")]
        job.commit([good, job.task.write([TEXTS], 1)])
    assert documents_of(shards) == IDS * 2
    assert sorted(path.read_text() for path in outside.iterdir()) == ["of another"] * 2
    return str(caught.value)


@pytest.mark.parametrize("case", damaged_cases("receipt"), ids=str)
def test_a_receipt_that_no_task_wrote_moves_nothing(tmp_path: Path, case: Case) -> None:
    message = _refused(tmp_path, lambda receipt: applied(case, receipt))
    assert all(part in message for part in case.error.mentions), message


def test_a_receipt_with_a_shard_twice_moves_nothing(tmp_path: Path) -> None:
    message = _refused(tmp_path, lambda receipt: {**receipt, "manifest": _doubled(receipt["manifest"])})
    assert "receipt 1 is not from a task: a shard has another name" in message


def _doubled(manifest: dict[str, Any]) -> dict[str, Any]:
    return {**manifest, "shards": manifest["shards"] * 2, "indexes": manifest["indexes"] * 2}


def test_two_tasks_with_one_attempt_are_refused(tmp_path: Path) -> None:
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        receipt = _through_json(job.task.write([TEXTS], 0))
        with pytest.raises(ResumeError, match="two receipts have the same attempt"):
            job.commit([Receipt(**receipt), Receipt(**receipt | {"task": "1"})])
        job.commit([Receipt(**receipt), Receipt(**receipt)])
    assert documents_of(tmp_path / "shards") == IDS


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_in_the_place_of_an_attempt_is_not_followed(tmp_path: Path, is_folder: bool) -> None:
    outside = tmp_path / "home"
    outside.mkdir()
    with ShardJob(tmp_path / "shards", TOKENIZER) as job:
        receipt = job.task.write([TEXTS], 0)
        attempt = tmp_path / "shards" / f".pairloom-job-{job.task.run}" / receipt.attempt
        for path in list(attempt.iterdir()):
            path.rename(outside / path.name)
            if not is_folder:
                path.symlink_to(outside / path.name)
        if is_folder:
            attempt.rmdir()
            attempt.symlink_to(outside)
        with pytest.raises(ResumeError, match="is lost"):
            job.commit([receipt])
    assert len(list(outside.iterdir())) == 2
