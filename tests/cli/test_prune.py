"""pairloom prune."""

import json
from pathlib import Path

from pairloom import Tokenizer
from tests.cli.commands import failed, output, run

TEXT = "by the way, it is by the way\nin the end, by the sea\n" * 3
DOMAIN = "the kinase inhibits the kinase\n" * 3


def test_prune_writes_what_the_method_returns(tmp_path: Path) -> None:
    corpus, model, out = tmp_path / "a.txt", tmp_path / "model", tmp_path / "out"
    corpus.write_text(DOMAIN)
    start = Tokenizer.train(TEXT, 274)
    start.save(model)
    given: list[str | Path | int] = ["--model", model, "--input", corpus, "--output", out]
    report = json.loads(output("prune --vocab-size 264", *given))
    assert report.pop("elapsed_ms") > 0
    assert report == {"tokens": 264, "n_vocab": 275, "new": 0, "moved": 0, "removed": 10}
    assert Tokenizer.load(out) == start.prune(DOMAIN, 264)
    failed(run("prune --n-tokens 10", *given), "exists")
    done = run("prune --n-tokens 10 --compact --force", *given)
    assert done.status == 0 and "of the ids move" in done.err and "without --renumber or --compact" in done.err
    assert json.loads(done.out)["n_vocab"] == 265
    output("count --input", corpus, "--output", tmp_path / "counts")
    adapt = "prune --adapt --n-tokens 10 --force --threads 1 --quiet"
    done = run(adapt, "--model", model, "--counts", tmp_path / "counts", "--output", out)
    assert (done.status, done.err) == (0, "")
    assert Tokenizer.load(out) == start.adapt(DOMAIN, 10)
    assert json.loads(done.out)["new"] == 10


def test_prune_refuses_before_it_reads_the_corpus(tmp_path: Path) -> None:
    Tokenizer.train(TEXT, 274).with_normalizer("nfc").save(tmp_path / "model")
    given = ("--model", tmp_path / "model", "--input", tmp_path / "none", "--output", tmp_path / "out")
    for options in ("", " --compact", " --adapt"):
        failed(run(f"prune --n-tokens 10 --format tiktoken{options}", *given), "cannot store the normalizer")
