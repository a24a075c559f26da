"""An object store over HTTP on loopback: writing shards to it and reading corpora from it."""

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pairloom import Corpus, PretokenCounts, ShardJob, Tokenizer, open_shards, tokenize_files
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
TEXTS = [f"ab the cat {number} " * (number % 7) for number in range(200)]


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
    for is_resumed in (False, True):
        done = tokenize_files(TOKENIZER, corpus, "s3://corpus/run", shard_tokens=300, resume=is_resumed)
        assert done.was_complete == is_resumed
    assert [ids.tolist() for ids in open_shards("s3://corpus/run", cache=tmp_path)] == TOKENIZER.encode_batch(TEXTS)
