"""pairloom count, merge-counts and train --counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import run
from tests.corpus.files import DOCUMENTS, SEPARATOR, json_lines, write_parquet


def test_counts_of_parts_train_the_identical_model(tmp_path: Path) -> None:
    third = len(DOCUMENTS) // 3
    (tmp_path / "a.txt").write_text(SEPARATOR.join(DOCUMENTS[:third]))
    (tmp_path / "b.jsonl").write_text(json_lines(DOCUMENTS[third : 2 * third]))
    write_parquet(tmp_path / "c.parquet", DOCUMENTS[2 * third :])
    inputs = [tmp_path / name for name in ("a.txt", "b.jsonl", "c.parquet")]
    options: list[str] = ["--separator", SEPARATOR]
    for path, output in zip(inputs, ("a.counts", "b.parquet", "c"), strict=True):
        done = run("count", "--input", path, "--output", tmp_path / output, *options)
        assert done.status == 0, done.err
    outputs = [tmp_path / name for name in ("c", "a.counts", "b.parquet")]
    done = run("merge-counts", *outputs, "--output", tmp_path / "all.parquet")
    assert done.status == 0, done.err
    assert json.loads(done.out)["documents"] == len(DOCUMENTS)
    models = []
    sources: dict[str, list[str | Path]] = {
        "m1": ["--counts", tmp_path / "all.parquet"],
        "m2": ["--counts", *outputs],
        "m3": ["--input", *inputs, *options],
    }
    for name, arguments in sources.items():
        done = run("train", *arguments, "--vocab-size", 500, "--output", tmp_path / name)
        assert done.status == 0, done.err
        models.append((tmp_path / name).read_bytes())
        assert json.loads(done.out)["corpus_bytes"] == sum(len(text.encode()) for text in DOCUMENTS)
    assert models[0] == models[1] == models[2]


def test_mismatches_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    run("count", "--input", tmp_path / "a.txt", "--output", tmp_path / "gpt2")
    run("count", "--input", tmp_path / "a.txt", "--output", tmp_path / "cl100k", "--pattern", "cl100k")
    done = run("merge-counts", tmp_path / "gpt2", tmp_path / "cl100k", "--output", tmp_path / "sum")
    assert done.status == 1 and "cl100k: " in done.err and "pattern" in done.err
    assert not (tmp_path / "sum").exists()
    train: list[str | Path | int] = ["--vocab-size", 300, "--output", tmp_path / "model"]
    done = run("train", "--counts", tmp_path / "cl100k", *train, "--pattern", "gpt2")
    assert done.status == 1 and "pattern" in done.err
    assert run("train", "--counts", tmp_path / "cl100k", *train).status == 0
    assert run("train", *train).status == 2
    assert run("train", *train, "--counts", tmp_path / "gpt2", "--input", tmp_path / "a.txt").status == 2


@pytest.mark.parametrize("name", ["broken.jsonl", "none.txt", "empty"])
def test_failures_leave_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.jsonl").write_text('{"text": "a"}\n{"text": ')
    (tmp_path / "empty").mkdir()
    done = run("count", "--input", tmp_path / name, "--output", tmp_path / "c")
    assert done.status == 1
    assert done.out == ""
    assert str(tmp_path / name) in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "empty"]


def test_options(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one line\nanother line\n\nthird")

    def documents(*options: str | int) -> int:
        done = run("count", "--input", tmp_path / "a.txt", "--output", tmp_path / "c", "--force", *options)
        assert done.status == 0, done.err
        found: int = json.loads(done.out)["documents"]
        return found

    assert documents() == 1
    assert documents("--lines") == 3
    assert documents("--separator", r"\n\n") == 2
    assert documents("--lines", "--max-bytes", 8) == 1
    assert documents("--lines", "--doc-cap", 2) == 3
