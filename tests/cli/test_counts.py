"""pairloom count, merge-counts and train --counts."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import failed, output, run
from tests.corpus.files import DOCUMENTS, SEPARATOR, json_lines, write_parquet


def test_counts_of_parts_train_the_identical_model(tmp_path: Path) -> None:
    third = len(DOCUMENTS) // 3
    (tmp_path / "a.txt").write_text(SEPARATOR.join(DOCUMENTS[:third]))
    (tmp_path / "b.jsonl").write_text(json_lines(DOCUMENTS[third : 2 * third]))
    write_parquet(tmp_path / "c.parquet", DOCUMENTS[2 * third :])
    inputs = [tmp_path / name for name in ("a.txt", "b.jsonl", "c.parquet")]
    options: list[str] = ["--separator", SEPARATOR]
    for path, name in zip(inputs, ("a.counts", "b.parquet", "c"), strict=True):
        output("count", "--input", path, "--output", tmp_path / name, *options)
    outputs = [tmp_path / name for name in ("c", "a.counts", "b.parquet")]
    merged = output("merge-counts", *outputs, "--output", tmp_path / "all.parquet")
    assert json.loads(merged)["documents"] == len(DOCUMENTS)
    models = []
    sources: dict[str, list[str | Path]] = {
        "m1": ["--counts", tmp_path / "all.parquet"],
        "m2": ["--counts", *outputs],
        "m3": ["--input", *inputs, *options],
    }
    for name, arguments in sources.items():
        trained = output("train --vocab-size 500", *arguments, "--output", tmp_path / name)
        models.append((tmp_path / name).read_bytes())
        assert json.loads(trained)["corpus_bytes"] == sum(len(text.encode()) for text in DOCUMENTS)
    assert models[0] == models[1] == models[2]


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
