"""pairloom count, merge-counts and train --counts."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import failed, output, run
from tests.corpus.files import DOCUMENTS, SEPARATOR, write_parquet


def test_counts_of_parts_train_the_identical_model(tmp_path: Path) -> None:
    half = len(DOCUMENTS) // 2
    (tmp_path / "a.txt").write_text(SEPARATOR.join(DOCUMENTS[:half]))
    write_parquet(tmp_path / "b.parquet", DOCUMENTS[half:])
    inputs = [tmp_path / "a.txt", tmp_path / "b.parquet"]
    outputs = [tmp_path / "a.counts", tmp_path / "b.counts.parquet"]
    options: list[str | Path] = ["--separator", SEPARATOR]
    for path, counted in zip(inputs, outputs, strict=True):
        output("count", "--input", path, "--output", counted, *options)
    merged = output("merge-counts", *outputs, "--output", tmp_path / "all.parquet")
    assert json.loads(merged)["documents"] == len(DOCUMENTS)
    models = set()
    sources: list[list[str | Path]] = [["--counts", tmp_path / "all.parquet"], ["--counts", *outputs]]
    for source in [*sources, ["--input", *inputs, *options]]:
        trained = output("train --force --vocab-size 500", *source, "--output", tmp_path / "model")
        models.add((tmp_path / "model").read_bytes())
        assert json.loads(trained)["corpus_bytes"] == sum(len(text.encode()) for text in DOCUMENTS)
    assert len(models) == 1


def test_mismatches_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    for pattern in ("gpt2", "cl100k"):
        output("count --input", tmp_path / "a.txt", "--output", tmp_path / pattern, "--pattern", pattern)
    merging = run("merge-counts", tmp_path / "gpt2", tmp_path / "cl100k", "--output", tmp_path / "sum")
    failed(merging, "cl100k: ", "pattern")
    assert not (tmp_path / "sum").exists()
    train = ("train --vocab-size 300 --output", tmp_path / "model")
    failed(run(*train, "--counts", tmp_path / "cl100k", "--pattern", "gpt2"), "pattern")
    output(*train, "--counts", tmp_path / "cl100k")
    assert run(*train).status == 2
    assert run(*train, "--counts", tmp_path / "gpt2", "--input", tmp_path / "a.txt").status == 2


def test_counts_that_are_named_twice_cause_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    output("count --input", tmp_path / "a.txt", "--output", tmp_path / "counts")
    done = run("merge-counts", tmp_path / "counts", tmp_path / "." / "counts", "--output", tmp_path / "sum")
    assert done.status == 0 and "counts is added 2 times: it is passed more than once" in done.err
    twice = ("--subtract", tmp_path / "counts", tmp_path / "counts", "--output", tmp_path / "none")
    done = run("merge-counts", tmp_path / "sum", *twice)
    assert done.status == 0 and "counts is subtracted 2 times: it is passed more than once" in done.err


@pytest.mark.parametrize("name", ["broken.jsonl", "none.txt", "empty"])
def test_failures_leave_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.jsonl").write_text('{"text": "a"}\n{"text": ')
    (tmp_path / "empty").mkdir()
    failed(run("count --input", tmp_path / name, "--output", tmp_path / "c"), str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "empty"]


def test_options(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one line\nanother line\n\nthird")

    for options, documents in (
        ("", 1),
        ("--lines", 3),
        (r"--separator \n\n", 2),
        ("--lines --max-bytes 8", 1),
        ("--lines --doc-cap 2", 3),
    ):
        done = output(f"count --force {options} --input", tmp_path / "a.txt", "--output", tmp_path / "c")
        assert json.loads(done)["documents"] == documents
