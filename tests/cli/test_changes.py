"""pairloom train --extend, and prune."""

import json
from pathlib import Path

from pairloom import Tokenizer
from tests.cli.commands import failed, output, run

TEXT = "by the way, it is by the way\nin the end, by the sea\n" * 3
LINES = r"[^\n]*\n+|[^\n]+"


def test_train_extend_continues_from_the_model(tmp_path: Path) -> None:
    corpus, first, second = tmp_path / "a.txt", tmp_path / "first", tmp_path / "second"
    corpus.write_text(TEXT)
    start = Tokenizer.train(TEXT, 270)
    start.save(first)
    given: list[str | Path | int] = ["--input", corpus, "--vocab-size", 285, "--output", second]
    # The file says how it was trained.
    done = output("train --extend", first, *given, "--pattern", LINES)
    assert json.loads(done)["actual_mergeable_vocab_size"] == 285
    assert Tokenizer.load(second) == start.extend(TEXT, 285, pattern=LINES)
    # Without --pattern the model's own is used; counts work like a corpus.
    renumbered = run("train --profile bpetite --extend", first, *given, "--force", "--renumber")
    assert renumbered.status == 0 and "1 of the ids move" in renumbered.err, renumbered.err
    assert Tokenizer.load(second) == Tokenizer.train(TEXT, 285)
    done = output("train --force --n-tokens 15 --extend", first, "--input", corpus, "--output", second)
    assert json.loads(done)["requested_vocab_size"] == 285
    kept = Tokenizer.load(second)
    assert kept == start.extend(TEXT, 285) and kept.special_tokens == start.special_tokens
    # And again.
    output("train --n-tokens 2 --extend", second, "--input", corpus, "--output", tmp_path / "third")
    assert Tokenizer.load(tmp_path / "third").vocab.items() >= kept.vocab.items()
    output("count --input", corpus, "--output", tmp_path / "counts", "--pattern", LINES)
    counted = ("train --profile bpetite --force --extend", first, "--counts", tmp_path / "counts", *given[2:])
    output(*counted)
    assert Tokenizer.load(second) == start.extend(TEXT, 285, pattern=LINES)
    failed(run(*counted, "--pattern", "cl100k"), "pattern")


def test_train_extend_refuses_before_it_reads_the_corpus(tmp_path: Path) -> None:
    model, other = tmp_path / "model", tmp_path / "tokenizer.json"
    Tokenizer.train(TEXT, 270).save(model)
    Tokenizer.train(TEXT, 270, decode_errors="replace").save(other, format="huggingface")
    for start, options, message in (
        (model, "--vocab-size 300 --special <s>", "leave out --special"),
        (model, "--profile bpetite --vocab-size 260", "truncate_vocab"),
        (other, "--vocab-size 300", "pass --n-tokens"),
    ):
        given = ("--extend", start, "--input", tmp_path / "none", "--output", tmp_path / "new")
        failed(run(f"train {options}", *given), message)


def test_train_extend_normalises_as_the_model_does(tmp_path: Path) -> None:
    corpus, first, second = tmp_path / "a.txt", tmp_path / "first", tmp_path / "second"
    corpus.write_text(TEXT.upper())
    start = Tokenizer.train(TEXT, 270).with_normalizer("lowercase")
    start.save(first)
    output("train --n-tokens 5 --extend", first, "--input", corpus, "--output", second)
    assert Tokenizer.load(second) == start.extend(TEXT, n_tokens=5)


def test_train_extend_reads_ranks_by_the_pattern_that_is_given(tmp_path: Path) -> None:
    corpus, ranks, new = tmp_path / "a.txt", tmp_path / "a.tiktoken", tmp_path / "new"
    corpus.write_text(TEXT)
    Tokenizer.train(TEXT, 270, special_tokens=()).save(ranks)
    given: list[str | Path | int] = ["train --n-tokens 5 --extend", ranks, "--input", corpus, "--output", new]
    failed(run(*given), "load it with --pattern")
    output(*given, "--pattern", "cl100k")
    assert Tokenizer.load(new) == Tokenizer.load(ranks, pattern="cl100k").extend(TEXT, n_tokens=5)
    # New tokens leave the ids of special tokens alone, which the file does not store.
    output(*given, "--force", "--pattern", "cl100k", "--special", "<s>=271")
    start = Tokenizer.load(ranks, pattern="cl100k", special_tokens={"<s>": 271})
    assert Tokenizer.load(new) == start.extend(TEXT, n_tokens=5)
    assert min(Tokenizer.load(new).changes_from(start).new) == 272


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
