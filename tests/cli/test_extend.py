"""pairloom train --extend."""

from __future__ import annotations

import json
from pathlib import Path

from pairloom import Tokenizer
from tests.cli.commands import run

TEXT = "by the way, it is by the way\nin the end, by the sea\n" * 3
LINES = r"[^\n]*\n+|[^\n]+"


def test_train_extend_continues_from_the_model(tmp_path: Path) -> None:
    corpus, first, second = tmp_path / "a.txt", tmp_path / "first", tmp_path / "second"
    corpus.write_text(TEXT)
    start = Tokenizer.train(TEXT, 270)
    start.save(first)
    given: list[str | Path | int] = ["--input", corpus, "--vocab-size", 285, "--output", second]
    # The file says how it was trained.
    done = run("train", "--extend", first, *given, "--pattern", LINES)
    assert done.status == 0, done.err
    assert json.loads(done.out)["actual_mergeable_vocab_size"] == 285
    assert Tokenizer.load(second) == start.extend(TEXT, 285, pattern=LINES)
    # Without a pattern it is the model's own; counts do as well as a corpus.
    done = run("train", "--extend", first, "--profile", "bpetite", *given, "--force", "--renumber")
    assert done.status == 0 and "1 of the ids move" in done.err, done.err
    assert Tokenizer.load(second) == Tokenizer.train(TEXT, 285)
    done = run("train", "--extend", first, *given[:2], "--n-tokens", 15, *given[4:], "--force")
    assert done.status == 0, done.err
    assert json.loads(done.out)["requested_vocab_size"] == 285
    kept = Tokenizer.load(second)
    assert kept == start.extend(TEXT, 285) and kept.special_tokens == start.special_tokens
    # And again.
    done = run("train", "--extend", second, *given[:2], "--n-tokens", 2, "--output", tmp_path / "third")
    assert done.status == 0, done.err
    assert Tokenizer.load(tmp_path / "third").vocab.items() >= kept.vocab.items()
    assert run("count", "--input", corpus, "--output", tmp_path / "counts", "--pattern", LINES).status == 0
    counted: list[str | Path | int] = ["--counts", tmp_path / "counts", *given[2:], "--force"]
    done = run("train", "--extend", first, "--profile", "bpetite", *counted)
    assert done.status == 0, done.err
    assert Tokenizer.load(second) == start.extend(TEXT, 285, pattern=LINES)
    done = run("train", "--extend", first, "--profile", "bpetite", *counted, "--pattern", "cl100k")
    assert done.status == 1 and "pattern" in done.err


def test_train_extend_refuses_before_it_reads_the_corpus(tmp_path: Path) -> None:
    model = tmp_path / "model"
    given: list[str | Path | int] = ["--input", tmp_path / "none", "--output", tmp_path / "new"]
    Tokenizer.train(TEXT, 270).save(model)
    done = run("train", "--extend", model, "--profile", "bpetite", *given, "--vocab-size", 300, "--special", "<s>")
    assert done.status == 2 and "--special" in done.err
    done = run("train", "--extend", model, "--profile", "bpetite", *given, "--vocab-size", 260)
    assert done.status == 1 and "truncate_vocab" in done.err
    both: list[list[str | Path | int]] = [["--vocab-size", 300, "--n-tokens", 5], []]
    for wrong in both:
        done = run("train", "--extend", model, *given, *wrong)
        assert done.status == 2 and "--vocab-size or --n-tokens" in done.err
    without: list[list[str | Path | int]] = [["--n-tokens", 5], ["--renumber", "--vocab-size", 300], []]
    for alone in without:
        done = run("train", *given, *alone)
        assert done.status == 2 and ("--vocab-size" if not alone else "go with --extend") in done.err
    Tokenizer.train(TEXT, 270, decode_errors="replace").save(tmp_path / "tokenizer.json", format="huggingface")
    done = run("train", "--extend", tmp_path / "tokenizer.json", *given, "--vocab-size", 300)
    assert done.status == 1 and "pass --n-tokens" in done.err
