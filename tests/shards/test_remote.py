"""An object store over HTTP on loopback: writing shards to it and reading corpora from it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, PretokenCounts, ShardJob, Tokenizer
from tests.cli.commands import run
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number} " * (number % 7) for number in range(200)]


def test_shards_are_written_to_a_store_and_corpora_read_from_it(store: Any, tmp_path: Path) -> None:
    for part in range(4):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[part * 50 : part * 50 + 50])
        store.pipe_file(f"corpus/in/{part}.jsonl", lines.encode())
    corpus = Corpus("s3://corpus/in/*.jsonl")
    assert list(corpus) == TEXTS
    assert PretokenCounts.from_texts(corpus) == PretokenCounts.from_texts(TEXTS)
    with ShardJob("s3://corpus/shards", TOKENIZER, shard_tokens=300) as job:
        receipts = [job.task.write_corpus(Corpus(f"s3://corpus/in/{part}.jsonl"), part) for part in range(4)]
        # A repeated attempt, and one whose receipt is lost.
        receipts.append(job.task.write([TEXTS[:50]], 0))
        job.task.write([TEXTS[50:100]], 1)
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


def test_a_store_that_nothing_answers_for_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s3fs: Any = pytest.importorskip("s3fs", reason="s3fs is not installed")
    for name, value in {"ENDPOINT_URL": "http://127.0.0.1:9", "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    TOKENIZER.save(tmp_path / "model.json")
    tokenize: list[Any] = ["tokenize", "--model", tmp_path / "model.json"]
    commands: list[list[Any]] = [
        ["count", "--input", "s3://corpus/a.txt", "--output", tmp_path / "out"],
        [*tokenize, "--input", "s3://corpus/*.txt", "--output", tmp_path / "out"],
        [*tokenize, "--input", tmp_path / "model.json", "--output", "s3://corpus/out"],
    ]
    for command in commands:
        done = run(*command)
        assert done.status == 1
        assert re.match("pairloom: s3://corpus/.*Could not connect.*\n$", done.err)
    s3fs.S3FileSystem.clear_instance_cache()
