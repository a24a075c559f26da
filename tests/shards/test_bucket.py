"""Folders of shards at URLs: read through a cache of bounded size, even if the connection fails."""

import contextlib
import json
import multiprocessing
import os
import pickle
import random
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from pairloom import (
    Corpus,
    CorpusError,
    FormatError,
    PretokenCounts,
    ResumeError,
    ShardJob,
    Tokenizer,
    open_shards,
    tokenize_files,
)
from pairloom.corpus import remote
from pairloom.shards.files import FORMATS
from tests.cli.commands import run
from tests.corpus.files import json_lines
from tests.shards.making import Killed
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"the cat {number} ab" for number in range(300)]
URL = "memory://bucket/shards"


def put(files: Any, folder: Path) -> None:
    for path in folder.iterdir():
        files.pipe_file(f"/bucket/shards/{path.name}", path.read_bytes())


def made(folder: Path, texts: list[str] = TEXTS, **options: Any) -> Path:
    path = folder / "a.jsonl"
    path.write_text(json_lines(texts))
    tokenize_files(TOKENIZER, path, folder / "local", **{"shard_tokens": 500, "overwrite": True, **options})
    return folder / "local"


def held(cache: Path) -> int:
    while True:
        # Another thread renames and removes files here.
        with contextlib.suppress(FileNotFoundError):
            return sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("format", FORMATS)
def test_a_url_is_read_as_its_folder(tmp_path: Path, memory: Any, format: str) -> None:
    folder = made(tmp_path, format=format)
    put(memory, folder)
    here, there = open_shards(folder), open_shards(URL, cache=tmp_path / "cache", cache_bytes=10_000_000)
    assert [ids.tolist() for ids in there] == [ids.tolist() for ids in here] == TOKENIZER.encode_batch(TEXTS)
    assert there[-1].tolist() == here[-1].tolist() and there.lengths().tolist() == here.lengths().tolist()
    again = pickle.loads(pickle.dumps(there))
    for shuffle in ("block", "document"):
        options: dict[str, Any] = {"seq_len": 16, "batch": 4, "seed": 3, "shuffle": shuffle, "epochs": 1, "pad_id": 0}
        for one, other, third in zip(*(shards.batches(**options) for shards in (here, there, again)), strict=True):
            assert np.array_equal(one, other) and np.array_equal(one, third)
    mixed = open_shards({"a": URL, "b": folder}, weights={"a": 1, "b": 1}, cache=tmp_path / "cache")
    assert next(mixed.batches(seq_len=16, batch=2)).shape == (2, 16)


@pytest.mark.parametrize("seed", range(3))
def test_the_cache_keeps_to_its_size(tmp_path: Path, memory: Any, seed: int) -> None:
    put(memory, made(tmp_path))
    largest = max(path.stat().st_size for path in (tmp_path / "local").iterdir()) * 2
    most = 2 * largest
    shards = open_shards(URL, cache=tmp_path / "cache", cache_bytes=most)
    rng, wanted = random.Random(seed), TOKENIZER.encode_batch(TEXTS)
    for number in rng.choices(range(len(TEXTS)), k=60):
        assert shards[number].tolist() == wanted[number]
        assert held(tmp_path / "cache") <= most
    shards = open_shards(URL, cache=tmp_path / "cache", cache_bytes=3 * largest)
    for number, ids in enumerate(shards):
        assert ids.tolist() == wanted[number]
        # One more shard, while it is prefetched.
        assert held(tmp_path / "cache") <= 4 * largest
    with pytest.raises(ValueError, match="cache_bytes is 100, but the cache must have space for two shards"):
        open_shards(URL, cache=tmp_path / "cache", cache_bytes=100)


def test_what_is_in_the_cache_is_not_fetched_again(tmp_path: Path, memory: Any) -> None:
    put(memory, made(tmp_path))
    options: dict[str, Any] = {"cache": tmp_path / "cache", "cache_bytes": 1 << 20}
    wanted = [ids.tolist() for ids in open_shards(URL, **options)]
    for name in memory.ls("/bucket/shards", detail=False):
        if "shard-" in name:
            memory.rm_file(name)
    assert [ids.tolist() for ids in open_shards(URL, **options)] == wanted
    # Different shards under the same names are not mixed up.
    memory.store.clear()
    put(memory, made(tmp_path, TEXTS[::-1]))
    assert [ids.tolist() for ids in open_shards(URL, **options)] == wanted[::-1]


def test_bytes_that_are_not_those_of_the_manifest_are_an_error(
    tmp_path: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path)
    put(memory, folder)
    data = bytearray((folder / "shard-00001.npy").read_bytes())
    data[-1] ^= 1
    memory.pipe_file("/bucket/shards/shard-00001.npy", bytes(data))
    shards = open_shards(URL, cache=tmp_path / "cache", cache_bytes=1 << 20)
    with pytest.raises(FormatError, match=r"memory://bucket/shards/shard-00001.npy: its content differs from the man"):
        shards.lengths()
    memory.pipe_file("/bucket/shards/shard-00001.npy", bytes(data[:-5]))
    with pytest.raises(OSError, match="bytes arrived instead of"):
        shards.lengths()
    memory.rm_file("/bucket/shards/shard-00001.npy")
    with pytest.raises(FileNotFoundError, match=r"memory://bucket/shards/shard-00001.npy"):
        shards.lengths()
    put(memory, folder)
    assert len(shards.lengths()) == len(TEXTS)
    # If an answer is wrong once, it is requested again.
    answers = iter([True])

    def copied(url: str, to: Path, n_bytes: int | None = None, copy: Any = remote.copy_remote) -> str:
        digest: str = copy(url, to, n_bytes)
        return "0" * 64 if "shard-00001.npy" in url and next(answers, False) else digest

    monkeypatch.setattr("pairloom.shards.cache.copy_remote", copied)
    shards = open_shards(URL, cache=tmp_path / "empty", cache_bytes=1 << 20)
    assert [ids.tolist() for ids in shards] == TOKENIZER.encode_batch(TEXTS)


def test_a_url_without_a_finished_run_is_an_error(tmp_path: Path, memory: Any) -> None:
    with pytest.raises(FileNotFoundError, match="is not a folder of shards"):
        open_shards(URL, cache=tmp_path / "cache")
    memory.pipe_file("/bucket/shards/manifest.json", b"{}")
    with pytest.raises(FormatError, match=r"memory://bucket/shards/manifest.json: not a manifest"):
        open_shards(URL, cache=tmp_path / "cache")


def _read_all(folder: Path, cache: Path, cache_bytes: int, seed: int) -> bool:
    import fsspec

    # A URL that processes share, but whose store does not support ranges.
    assert fsspec.filesystem("file")
    shards = open_shards(f"file://{folder}", cache=cache, cache_bytes=cache_bytes)
    wanted, rng = TOKENIZER.encode_batch(TEXTS), random.Random(seed)
    return all(shards[number].tolist() == wanted[number] for number in rng.choices(range(len(TEXTS)), k=80))


def test_processes_share_a_cache_that_holds_few_shards(tmp_path: Path) -> None:
    folder = made(tmp_path)
    most = max(path.stat().st_size for path in folder.iterdir()) * 4
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        arguments = [(folder, tmp_path / "cache", most, seed) for seed in range(3)]
        assert pool.starmap(_read_all, arguments) == [True, True, True]


def test_what_a_killed_process_left_in_the_cache_goes(tmp_path: Path, memory: Any) -> None:
    put(memory, made(tmp_path))
    cache = tmp_path / "cache"
    shards = open_shards(URL, cache=cache, cache_bytes=1 << 20)
    shards[-1]
    (kept,) = [path for path in cache.iterdir() if path.is_dir()]
    kept.rename(kept.with_name(kept.name + ".partial"))
    open_shards(URL, cache=cache, cache_bytes=1 << 20)[-1]
    assert kept.is_dir() and not kept.with_name(kept.name + ".partial").exists()


def there(files: Any, folder: str = "/bucket/out") -> dict[str, bytes]:
    files.invalidate_cache()
    return {path.removeprefix(folder).strip("/"): files.cat_file(path) for path in files.find(folder)}


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 100))])
def test_a_run_at_a_url_is_resumed_without_its_finished_shards(
    tmp_path: Path, memory: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    options: dict[str, Any] = {"shard_tokens": 250, "format": rng.choice(FORMATS)}
    if seed % 2:
        options |= {"split": {"train": 0.7, "val": 0.3}, "duplicates": "drop"}
    path = made(tmp_path, TEXTS + TEXTS[:20], **options).parent / "a.jsonl"
    wanted = {
        str(file.relative_to(tmp_path / "local")): file.read_bytes() for file in (tmp_path / "local").rglob("shard*")
    }
    from pairloom.shards.storage import _Remote

    uploaded: list[str] = []
    left = 0

    def counted(write: Any) -> Any:
        def counting(self: Any, first: Any, *rest: Any) -> None:
            nonlocal left
            left -= 1
            # Before or after the store has the object.
            if left == 0 and rng.random() < 0.5:
                raise Killed
            write(self, first, *rest)
            if isinstance(first, Path):
                uploaded.append(f"{self.url}/{first.name}")
            if left <= 0:
                raise Killed

        return counting

    remove = _Remote.remove
    monkeypatch.setattr(_Remote, "upload", counted(_Remote.upload))
    monkeypatch.setattr(_Remote, "write", counted(_Remote.write))
    # The lock also stays.
    monkeypatch.setattr(_Remote, "remove", lambda self, name: remove(self, name) if left > 0 else None)
    n_kills = 0
    while True:
        left = rng.randint(2, 40 if n_kills else 8)
        try:
            done = tokenize_files(TOKENIZER, path, "memory://bucket/out", resume=True, takeover=True, **options)
            break
        except Killed:
            n_kills += 1
    assert n_kills
    found = there(memory)
    assert {name: data for name, data in found.items() if "manifest" not in name} == wanted
    assert sorted(found.keys() - wanted.keys()) == sorted(
        f"{part}{'_manifest.parquet' if options['format'] == 'parquet' else 'manifest.json'}"
        for part in (("train/", "val/") if seed % 2 else ("",))
    )
    # Each shard is written once, except the one in transit when the run was killed.
    assert len(uploaded) <= len(wanted) + 2 * 2 * n_kills
    assert done.n_documents == (len(TEXTS) if seed % 2 else len(TEXTS) + 20)


def test_a_folder_at_a_url_that_was_damaged_is_not_resumed(tmp_path: Path, memory: Any) -> None:
    path, events = made(tmp_path).parent / "a.jsonl", list[Any]()
    done = tokenize_files(TOKENIZER, path, URL, shard_tokens=500, progress=events.append)
    assert events[-1][:3] == ("encode", path.stat().st_size, path.stat().st_size)
    assert done.files == [f"{URL}/{file.name}" for file in sorted((tmp_path / "local").glob("shard-?????.npy"))]
    before = there(memory, "/bucket/shards")
    assert json.loads(before["manifest.json"])["inputs"] == manifest_of(tmp_path / "local")["inputs"]
    assert tokenize_files(TOKENIZER, path, URL, shard_tokens=500, resume=True).was_complete
    with pytest.raises(FileExistsError, match=r"already contains a run.*memory://bucket/shards"):
        tokenize_files(TOKENIZER, path, URL, shard_tokens=500)
    with pytest.raises(CorpusError):
        tokenize_files(TOKENIZER, path, "memory://bucket/bad", text_field="other")
    assert memory.find("/bucket/bad") == []
    with pytest.raises(CorpusError):
        tokenize_files(TOKENIZER, path, URL, text_field="other", overwrite=True)
    with pytest.raises(ResumeError, match=r"memory://bucket/shards: was made with shard_tokens 500, not 400"):
        tokenize_files(TOKENIZER, path, URL, shard_tokens=400, resume=True)
    with pytest.raises(FileExistsError, match=r"is not empty: it contains manifest.json"):
        tokenize_files(TOKENIZER, path, URL, split={"a": 0.5, "b": 0.5})
    assert there(memory, "/bucket/shards") == before
    memory.pipe_file("/bucket/shards/shard-00001.npy", b"short")
    with pytest.raises(FormatError, match=r"memory://bucket/shards/shard-00001.npy: is missing, or does not have the"):
        tokenize_files(TOKENIZER, path, URL, shard_tokens=500, resume=True)
    tokenize_files(TOKENIZER, path, URL, shard_tokens=500, overwrite=True)
    assert there(memory, "/bucket/shards").keys() == before.keys()
    # Further inputs continue the run.
    more = tmp_path / "b.jsonl"
    more.write_text(json_lines(TEXTS))
    done = tokenize_files(TOKENIZER, [path], "memory://bucket/more", shard_tokens=500)
    done = tokenize_files(TOKENIZER, [path, more], "memory://bucket/more", shard_tokens=500, resume=True)
    assert done.n_documents == 2 * len(TEXTS)
    shards = open_shards("memory://bucket/more", cache=tmp_path / "cache")
    assert [ids.tolist() for ids in shards] == TOKENIZER.encode_batch(TEXTS * 2)


def test_a_run_that_another_has_taken_over_ends(tmp_path: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path).parent / "a.jsonl"
    from pairloom.shards.publishing import Mirror

    def taken_over(mirror: Mirror, paths: Any, manifest: Any, bring: Any = Mirror.bring) -> None:
        for name in memory.ls("/bucket/out", detail=False):
            if name.endswith(".lock"):
                memory.rm_file(name)
        bring(mirror, paths, manifest)

    monkeypatch.setattr(Mirror, "bring", taken_over)
    with pytest.raises(FileExistsError, match="another job has taken over the folder"):
        tokenize_files(TOKENIZER, path, "memory://bucket/out", shard_tokens=500)
    assert there(memory) == {}


def test_a_tokenizer_is_loaded_from_a_bucket(tmp_path: Path, memory: Any) -> None:
    TOKENIZER.save(tmp_path / "folder", format="gpt2")
    memory.put(str(tmp_path / "folder"), "/bucket/folder", recursive=True)
    memory.pipe_file("/bucket/folder/weights.safetensors", b"0" * 1000)
    TOKENIZER.save(tmp_path / "model.json")
    memory.put(str(tmp_path / "model.json"), "/bucket/model.json")
    assert Tokenizer.load("memory://bucket/model.json") == TOKENIZER
    assert Tokenizer.load("memory://bucket/folder").encode("the cat") == TOKENIZER.encode("the cat")
    assert run("encode", "--model", "memory://bucket/model.json", "--text", "the cat").status == 0
    with pytest.raises(FileNotFoundError, match=r"memory://bucket/none.json"):
        Tokenizer.load("memory://bucket/none.json")
    memory.pipe_file("/bucket/damaged.json", b"{")
    with pytest.raises(FormatError, match=r"memory://bucket/damaged.json"):
        Tokenizer.load("memory://bucket/damaged.json")
    done = run("encode", "--model", "memory://me:secret@bucket/none.json", "--text", "the cat")
    assert done.status == 1 and "secret" not in done.err and done.err.count("\n") == 1


@pytest.fixture
def store() -> Iterator[Any]:
    """The s3fs file system with the empty bucket "corpus"."""
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    names = {"ENDPOINT_URL": f"http://{host}:{port}", "DEFAULT_REGION": "us-east-1"}
    names |= {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    try:
        with mock.patch.dict(os.environ, {f"AWS_{name}": value for name, value in names.items()}):
            # Its objects outlive the server.
            urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
            s3fs.S3FileSystem.clear_instance_cache()
            files = s3fs.S3FileSystem()
            files.mkdir("corpus")
            yield files
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_shards_are_written_to_a_store_and_corpora_read_from_it(store: Any, tmp_path: Path) -> None:
    for part in range(4):
        lines = json_lines(TEXTS[part * 75 : part * 75 + 75])
        store.pipe_file(f"corpus/in/{part}.jsonl", lines.encode())
    corpus = Corpus("s3://corpus/in/*.jsonl")
    assert list(corpus) == TEXTS
    assert PretokenCounts.from_texts(corpus) == PretokenCounts.from_texts(TEXTS)
    with ShardJob("s3://corpus/shards", TOKENIZER, shard_tokens=300) as job:
        receipts = [job.task.write_corpus(Corpus(f"s3://corpus/in/{part}.jsonl"), part) for part in range(4)]
        # A repeated attempt, and one whose receipt is lost.
        receipts.append(job.task.write([TEXTS[:75]], 0))
        job.task.write([TEXTS[75:150]], 1)
        with (
            pytest.raises(FileExistsError, match="another job is writing here"),
            ShardJob("s3://corpus/shards", TOKENIZER),
        ):
            pass
        job.commit(receipts)
    store.invalidate_cache()
    store.get("corpus/shards/", str(tmp_path / "copy"), recursive=True)
    assert documents_of(tmp_path / "copy") == TOKENIZER.encode_batch(TEXTS)
    with pytest.raises(FileExistsError, match="is not empty"), ShardJob("s3://corpus/shards", TOKENIZER):
        pass
    for is_resumed in (False, True):
        done = tokenize_files(TOKENIZER, corpus, "s3://corpus/run", shard_tokens=300, resume=is_resumed)
        assert done.was_complete == is_resumed
    assert [ids.tolist() for ids in open_shards("s3://corpus/run", cache=tmp_path)] == TOKENIZER.encode_batch(TEXTS)
