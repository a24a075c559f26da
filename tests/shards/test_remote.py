"""A store of objects over HTTP on loopback: shards are written there and corpora read from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, PretokenCounts, ShardJob, Tokenizer
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number} " * (number % 7) for number in range(200)]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("corpus")
    try:
        yield files
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_shards_are_written_to_a_store_and_corpora_read_from_it(store: Any, tmp_path: Path) -> None:
    for part in range(4):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[part * 50 : part * 50 + 50])
        store.pipe_file(f"corpus/in/{part}.jsonl", lines.encode())
    corpus = Corpus("s3://corpus/in/*.jsonl")
    assert list(corpus) == TEXTS
    assert PretokenCounts.from_corpus(corpus) == PretokenCounts.from_texts(TEXTS)
    with ShardJob("s3://corpus/shards", TOKENIZER, shard_tokens=300) as job:
        receipts = [job.task.write_corpus(Corpus(f"s3://corpus/in/{part}.jsonl"), part) for part in range(4)]
        # An attempt that is repeated, and one whose receipt is lost.
        receipts.append(job.task.write([TEXTS[:50]], 0))
        job.task.write([TEXTS[50:100]], 1)
        with pytest.raises(FileExistsError, match="another job writes here"), ShardJob("s3://corpus/shards", TOKENIZER):
            pass
        job.commit(receipts)
    store.invalidate_cache()
    store.get("corpus/shards/", str(tmp_path / "copy"), recursive=True)
    assert documents_of(tmp_path / "copy") == TOKENIZER.encode_batch(TEXTS)
    with pytest.raises(FileExistsError, match="is not empty"), ShardJob("s3://corpus/shards", TOKENIZER):
        pass
