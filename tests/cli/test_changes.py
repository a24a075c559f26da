"""pairloom train --extend, and prune."""

import json
from pathlib import Path

import pytest

from pairloom import Tokenizer
from tests.cli.commands import failed, output, run

TEXT = "by the way, it is by the way\nin the end, by the sea\n" * 3
LINES = r"[^\n]*\n+|[^\n]+"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a corpus."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)


def test_train_extend_continues_from_the_model() -> None:
    start = Tokenizer.train(TEXT, 270)
    start.save("first")
    given = "--vocab-size 285 --output second"
    # The file says how it was trained.
    done = output(f"train --extend first --input a.txt {given} --pattern", LINES)
    assert json.loads(done)["actual_mergeable_vocab_size"] == 285
    assert Tokenizer.load("second") == start.extend(TEXT, 285, pattern=LINES)
    # Without --pattern the model's own is used; counts work like a corpus.
    renumbered = run(f"train --profile bpetite --extend first --input a.txt {given} --force --renumber")
    assert renumbered.status == 0 and "1 of the ids move" in renumbered.err, renumbered.err
    assert Tokenizer.load("second") == Tokenizer.train(TEXT, 285)
    done = output("train --force --n-tokens 15 --extend first --input a.txt --output second")
    assert json.loads(done)["requested_vocab_size"] == 285
    kept = Tokenizer.load("second")
    assert kept == start.extend(TEXT, 285) and kept.special_tokens == start.special_tokens
    # And again.
    output("train --n-tokens 2 --extend second --input a.txt --output third")
    assert Tokenizer.load("third").vocab.items() >= kept.vocab.items()
    output("count --input a.txt --output counts --pattern", LINES)
    counted = f"train --profile bpetite --force --extend first --counts counts {given}"
    output(counted)
    assert Tokenizer.load("second") == start.extend(TEXT, 285, pattern=LINES)
    failed(run(f"{counted} --pattern cl100k"), "pattern")


def test_train_extend_refuses_before_it_reads_the_corpus() -> None:
    Tokenizer.train(TEXT, 270).save("model")
    Tokenizer.train(TEXT, 270, decode_errors="replace").save("tokenizer.json", format="huggingface")
    for options, message in (
        ("--extend model --vocab-size 300 --special <s>", "leave out --special"),
        ("--extend model --profile bpetite --vocab-size 260", "already; pass more"),
        ("--extend tokenizer.json --vocab-size 300", "pass --n-tokens"),
    ):
        failed(run(f"train {options} --input none --output new"), message)


def test_train_extend_reads_ranks_by_the_pattern_that_is_given() -> None:
    Tokenizer.train(TEXT, 270, special_tokens=()).save("a.tiktoken")
    given = "train --n-tokens 5 --extend a.tiktoken --input a.txt --output new"
    failed(run(given), "load it with --pattern")
    output(f"{given} --pattern cl100k")
    assert Tokenizer.load("new") == Tokenizer.load("a.tiktoken", pattern="cl100k").extend(TEXT, n_tokens=5)
    # New tokens leave the ids of special tokens alone, which the file does not store.
    output(f"{given} --force --pattern cl100k --special <s>=271")
    start = Tokenizer.load("a.tiktoken", pattern="cl100k", special_tokens={"<s>": 271})
    assert Tokenizer.load("new") == start.extend(TEXT, n_tokens=5)
    assert min(Tokenizer.load("new").changes_from(start).new) == 272


def test_prune_writes_what_the_method_returns() -> None:
    domain = "the kinase inhibits the kinase\n" * 3
    Path("a.txt").write_text(domain)
    start = Tokenizer.train(TEXT, 274)
    start.save("model")
    given = "--model model --input a.txt --output out"
    report = json.loads(output(f"prune --vocab-size 264 {given}"))
    assert report.pop("elapsed_ms") > 0
    assert report == {"tokens": 264, "n_vocab": 275, "new": 0, "moved": 0, "removed": 10}
    assert Tokenizer.load("out") == start.prune(domain, 264)
    failed(run(f"prune --n-tokens 10 {given}"), "exists")
    done = run(f"prune --n-tokens 10 --compact --force {given}")
    assert done.status == 0 and "of the ids move" in done.err and "without --renumber or --compact" in done.err
    assert json.loads(done.out)["n_vocab"] == 265
    output("count --input a.txt --output counts")
    done = run("prune --adapt --n-tokens 10 --force --threads 1 --quiet --model model --counts counts --output out")
    assert (done.status, done.err) == (0, "")
    assert Tokenizer.load("out") == start.adapt(domain, 10)
    assert json.loads(done.out)["new"] == 10


@pytest.mark.parametrize("options", ["", "--compact", "--adapt"])
def test_prune_refuses_before_it_reads_the_corpus(options: str) -> None:
    Tokenizer.train(TEXT, 274).with_normalizer("nfc").save("model")
    done = run(f"prune --n-tokens 10 --format tiktoken {options} --model model --input none --output out")
    failed(done, "cannot store the normalizer")
