"""pairloom prune."""

from __future__ import annotations

import json
from pathlib import Path

from pairloom import Tokenizer
from tests.cli.commands import run

TEXT = "by the way, it is by the way\nin the end, by the sea\n" * 3
DOMAIN = "the kinase inhibits the kinase\n" * 3


def test_prune_writes_what_the_method_returns(tmp_path: Path) -> None:
    corpus, model, out = tmp_path / "a.txt", tmp_path / "model", tmp_path / "out"
    corpus.write_text(DOMAIN)
    start = Tokenizer.train(TEXT, 274)
    start.save(model)
    given: list[str | Path | int] = ["--model", model, "--input", corpus, "--output", out]
    done = run("prune", *given, "--vocab-size", 264)
    assert done.status == 0, done.err
    report = json.loads(done.out)
    assert report.pop("elapsed_ms") > 0
    assert report == {"tokens": 264, "n_vocab": 275, "new": 0, "moved": 0, "removed": 10}
    assert Tokenizer.load(out) == start.prune(DOMAIN, 264)
    done = run("prune", *given, "--n-tokens", 10)
    assert done.status == 1 and "exists" in done.err
    done = run("prune", *given, "--n-tokens", 10, "--compact", "--force")
    assert done.status == 0 and "of the ids move" in done.err and "without --renumber or --compact" in done.err
    assert json.loads(done.out)["n_vocab"] == 265
    assert run("count", "--input", corpus, "--output", tmp_path / "counts").status == 0
    done = run(
        *("prune", "--model", model, "--counts", tmp_path / "counts", "--output", out),
        *("--n-tokens", 10, "--adapt", "--force", "--threads", 1, "--quiet"),
    )
    assert (done.status, done.err) == (0, "")
    assert Tokenizer.load(out) == start.adapt(DOMAIN, 10)
    assert json.loads(done.out)["new"] == 10


def test_prune_refuses_wrong_usage_and_what_cannot_be(tmp_path: Path) -> None:
    model, corpus = tmp_path / "model", tmp_path / "a.txt"
    corpus.write_text(DOMAIN)
    Tokenizer.train(TEXT, 274).save(model)
    given: list[str | Path | int] = ["--model", model, "--output", tmp_path / "out"]
    wrong: list[tuple[int, list[str | Path | int], str]] = [
        (2, ["--n-tokens", 3], "--input or --counts"),
        (2, ["--input", corpus], "--vocab-size --n-tokens is required"),
        (2, ["--input", corpus, "--n-tokens", 3, "--vocab-size", 270], "not allowed with"),
        (1, ["--input", corpus, "--vocab-size", 300], "extend makes it larger"),
        (1, ["--input", corpus, "--n-tokens", 40], "there are 18"),
        (1, ["--input", tmp_path / "none", "--n-tokens", 3], "none"),
        (1, ["--input", tmp_path, "--n-tokens", -3], "n_tokens"),
    ]
    for status, arguments, message in wrong:
        done = run("prune", *given, *arguments)
        assert done.status == status and message in done.err, done
    Tokenizer.train(TEXT, 270, decode_errors="replace").save(tmp_path / "tokenizer.json", format="huggingface")
    done = run("prune", "--model", tmp_path / "tokenizer.json", *given[2:], "--input", corpus, "--vocab-size", 265)
    assert done.status == 1 and "pass --n-tokens" in done.err
    assert not (tmp_path / "out").exists()
