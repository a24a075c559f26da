"""pairloom tokenize: resumed, from pipes, misused."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from tests.cli.commands import failed, output, run
from tests.corpus.files import DOCUMENTS, SEPARATOR
from tests.shards.reading import contents, documents_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    Tokenizer.train(DOCUMENTS, 500).save(path)
    return path


def test_one_command(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SEPARATOR.join(DOCUMENTS))
    bare = ("tokenize --model", model, "--input", tmp_path / "a.txt", "--output", tmp_path / "out")
    command = (*bare, "--separator", SEPARATOR, "--eot", "--shard-tokens", 500)
    report = json.loads(output(*command))
    assert report["documents"] == len(DOCUMENTS) and report["shards"] > 1
    tokenizer = Tokenizer.load(model)
    end = tokenizer.special_tokens["<|endoftext|>"]
    assert documents_of(tmp_path / "out") == [[*tokenizer.encode(text), end] for text in DOCUMENTS]
    before = contents(tmp_path / "out")
    failed(run(*command), "out: already contains a run; resume it (--resume), or replace it (--force)\n")
    done = run(*command, "--resume")
    assert done.status == 0 and "already finished" in done.err
    assert contents(tmp_path / "out") == before
    failed(run(*bare, "--resume"), "was made with --eot '<|endoftext|>', not without --eot")
    assert run(*command, "--resume", "--force").status == 2
    output(*command, "--force")
    assert contents(tmp_path / "out") == before


def test_a_lock_at_a_url_names_the_option_that_removes_it(model: Path, tmp_path: Path, memory: Any) -> None:
    (tmp_path / "a.txt").write_text(SEPARATOR.join(DOCUMENTS))
    url = "memory://me:PASSWORD@bucket"
    command: list[str | Path] = ["tokenize", "--model", model, "--input", tmp_path / "a.txt", "--output", url]
    memory.pipe_file(f"{url}/.pairloom-job-0123456789abcdef.lock", b"")
    for more in ((), ("--force",)):
        failed(run(*command, *more), "pass --takeover if its driver is dead")
    output(*command, "--takeover")
    done = run(*command, "--resume")
    assert done.status == 0 and "is already finished" in done.err
    for text in (done.err, run(*command).err, run(*command, "--pack", "8").err):
        assert text and "PASSWORD" not in text
    assert run(*command[:-1], tmp_path / "out", "--takeover").status == 2


def test_a_resumed_run_says_that_a_pipe_is_not_compared(model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    tokenize: list[str | Path] = ["tokenize", "--model", model, "--input", tmp_path / "pipe.txt"]
    threading.Thread(target=(tmp_path / "pipe.txt").write_text, args=("ab ab",), daemon=True).start()
    for is_resumed in (False, True):
        done = run(*tokenize, "--output", tmp_path / "piped", "--resume")
        assert done.status == 0
        assert ("pipe.txt sends cannot be compared with what the earlier run read" in done.err) == is_resumed
