"""pairloom count, merge-counts and train --counts."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import failed, output, run
from tests.corpus.files import DOCUMENTS, SEPARATOR, write_parquet


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a corpus."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("one line\nanother line\n\nthird")


def test_counts_of_parts_train_the_identical_model() -> None:
    half = len(DOCUMENTS) // 2
    Path("a.txt").write_text(SEPARATOR.join(DOCUMENTS[:half]))
    write_parquet(Path("b.parquet"), DOCUMENTS[half:])
    output("count --input a.txt --output a.counts --separator", SEPARATOR)
    output("count --input b.parquet --output b.counts.parquet --separator", SEPARATOR)
    merged = output("merge-counts a.counts b.counts.parquet --output all.parquet")
    assert json.loads(merged)["documents"] == len(DOCUMENTS)
    models = set()
    for source in (
        ["--counts all.parquet"],
        ["--counts a.counts b.counts.parquet"],
        ["--input a.txt b.parquet --separator", SEPARATOR],
    ):
        trained = output(f"train --force --vocab-size 500 --output model {source[0]}", *source[1:])
        models.add(Path("model").read_bytes())
        assert json.loads(trained)["corpus_bytes"] == sum(len(text.encode()) for text in DOCUMENTS)
    assert len(models) == 1


def test_mismatches_are_refused() -> None:
    for pattern in ("gpt2", "cl100k"):
        output(f"count --input a.txt --output {pattern} --pattern {pattern}")
    failed(run("merge-counts gpt2 cl100k --output sum"), "cl100k: ", "pattern")
    assert not Path("sum").exists()
    train = "train --vocab-size 300 --output model"
    failed(run(f"{train} --counts cl100k --pattern gpt2"), "pattern")
    output(f"{train} --counts cl100k")
    assert run(train).status == 2
    assert run(f"{train} --counts gpt2 --input a.txt").status == 2


def test_counts_that_are_named_twice_cause_a_warning() -> None:
    output("count --input a.txt --output counts")
    done = run("merge-counts counts ./counts --output sum")
    assert done.status == 0 and "counts is added 2 times: it is passed more than once" in done.err
    done = run("merge-counts sum --subtract counts counts --output none")
    assert done.status == 0 and "counts is subtracted 2 times: it is passed more than once" in done.err


@pytest.mark.parametrize(
    ("options", "documents"),
    [("", 1), ("--lines", 3), (r"--separator \n\n", 2), ("--lines --max-bytes 8", 1), ("--lines --doc-cap 2", 3)],
)
def test_options(options: str, documents: int) -> None:
    assert json.loads(output(f"count {options} --input a.txt --output c"))["documents"] == documents
