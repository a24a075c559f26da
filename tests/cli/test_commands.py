"""The command line: results on stdout, messages on stderr, exit status 0, 1 or 2, no partial output."""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, formats
from pairloom.cli.commands import COMMANDS
from tests.cli.commands import Done, failed, output, run
from tests.cli.test_help import parser_of


def test_train_prints_one_json_line(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("ab ab ab")
    model = tmp_path / "model.json"
    printed = output("train --vocab-size 300 --input", tmp_path / "corpus.txt", "--output", model)
    report = json.loads(printed)
    assert printed.count("\n") == 1
    elapsed = report.pop("elapsed_ms")
    assert isinstance(elapsed, float)
    assert report == {
        "corpus_bytes": 8,
        "requested_vocab_size": 300,
        "actual_mergeable_vocab_size": 258,
        "special_token_count": 1,
    }
    assert json.loads(model.read_bytes())["schema_version"] == 1


def test_special_replaces_the_profiles_list(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("ab ab ab")
    command = "train --vocab-size 257 --special <s> --special <e> --input"
    assert json.loads(output(command, tmp_path / "corpus.txt", "--output", tmp_path / "m"))["special_token_count"] == 2
    assert output("encode --text <e> --model", tmp_path / "m") == "[258]\n"


def test_encode_reads_text_file_or_stdin(model: Path, tmp_path: Path) -> None:
    text = "ab<|endoftext|>ab\r\né"
    (tmp_path / "text").write_bytes(text.encode())
    for done in (
        run("encode --model", model, "--text", text),
        run("encode --model", model, "--input", tmp_path / "text"),
        run("encode --model", model, stdin=text.encode()),
        run("encode --input - --model", model, stdin=text.encode()),
    ):
        assert done == (0, "[256,258,256,13,10,195,169]\n", "")


@pytest.mark.long
def test_literals_in_text_are_what_specials_says(model: Path, tmp_path: Path) -> None:
    text = "ab<|endoftext|>ab"
    file = tmp_path / "a.txt"
    file.write_text(text)
    tokenizer = Tokenizer.load(model)
    for given in (("--text", text), ("--input", file)):
        command = ("encode", "--model", model, *given)
        assert json.loads(run(*command).out) == tokenizer.encode(text)
        assert json.loads(run(*command, "--specials", "ordinary").out) == tokenizer.encode_ordinary(text)
        failed(run(*command, "--specials", "error"), "<|endoftext|>", "--specials ordinary")
    stats = ("stats", "--model", model, "--input", file, "--json")
    assert json.loads(run(*stats).out)["tokens"] == len(tokenizer.encode(text))
    plain = run(*stats, "--specials", "ordinary").out
    assert json.loads(plain)["tokens"] == len(tokenizer.encode_ordinary(text))


def test_decode_adds_nothing(model: Path) -> None:
    assert run("decode --ids 256 258 256 --model", model) == (0, "ab<|endoftext|>ab", "")
    for stdin, text in (
        (b"[256,258,256]\n", "ab<|endoftext|>ab"),
        (b" 256 258\n256\n", "ab<|endoftext|>ab"),
        (b"", ""),
        (b"[]", ""),
    ):
        assert run("decode --model", model, stdin=stdin) == (0, text, "")


@pytest.mark.parametrize(
    "command",
    [
        "",
        "nonsense",
        "train --input a --output b",
        "train --input a --vocab-size 300 --output b --profile gpt5",
        "encode --model m --text a --input b",
        "decode --model m --ids one",
    ],
)
def test_wrong_usage_exits_with_two(command: str) -> None:
    done = run(command)
    assert (done.status, done.out) == (2, "") and "usage:" in done.err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train --vocab-siz 300 --input a.txt", "there is no option --vocab-siz; did you mean --vocab-size?"),
        ("tokenize --max-memory 1", "there is no option --max-memory"),
        (
            "train a.txt --vocab-size 300 --output new --input b.txt",
            "unexpected argument a.txt; pass files with --input a.txt",
        ),
        (
            "encode hello --model nowhere.json",
            "unexpected argument hello; pass text with --text or files with --input hello",
        ),
        ("decode 3 --model nowhere.json", "unexpected argument 3"),
        ("encode --model m --text a --text b", "--text is given more than once; it takes one value"),
        ("inspect --model a --model=b", "--model is given more than once; it takes one value"),
    ],
)
def test_an_unknown_option_is_named_before_a_missing_one(command: str, message: str) -> None:
    done = run(command)
    assert done.status == 2 and done.err.endswith(f"{message}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_list_option_given_twice_keeps_both_lists(command: str) -> None:
    for action in parser_of(command)._actions:
        if action.option_strings and action.nargs in ("+", "*"):
            assert type(action) is argparse._ExtendAction, f"{command} {action.option_strings}"


def test_inputs_given_apart_are_all_read(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name * 3)
    inputs = [word for name in "ab" for word in ("--input", tmp_path / name)]
    output("count", *inputs, "--output", tmp_path / "counts")
    assert dict(PretokenCounts.load(tmp_path / "counts").items()) == {b"aaa": 1, b"bbb": 1}


def test_a_value_may_look_like_an_option() -> None:
    failed(run("encode --model nowhere.json", "--text", "--no option, but a text"), "nowhere.json")


@pytest.mark.parametrize("format", ["pairloom", "huggingface", "tiktoken", "gpt2", None])
def test_train_writes_the_format_that_is_asked_for(format: str | None, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("ab ab ab")
    model = tmp_path / ("model.tiktoken" if format is None else "model")
    asked = () if format is None else ("--format", format)
    output("train --vocab-size 258 --input", corpus, "--output", model, *asked)
    expected = format or "tiktoken"
    given: dict[str, Any] = {"pattern": "gpt2"} if expected == "tiktoken" else {}
    if expected in formats.INCOMPLETE:
        given["special_tokens"] = ["<|endoftext|>"]
    assert Tokenizer.load(model, format=expected, **given).encode("ab ab<|endoftext|>") == [256, 257, 258]


def test_train_checks_that_it_can_save_before_training(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "vocab.json").write_text("mine")
    (tmp_path / "file").write_text("mine")
    # The corpus does not exist, which only training would notice.
    command = ("train", "--input", tmp_path / "absent.txt", "--vocab-size", "258", "--output")
    failed(run(*command, tmp_path / "folder", "--format", "gpt2"), "vocab.json", "pass --force")
    failed(run(*command, tmp_path / "file", "--format", "gpt2", "--force"), "file")
    failed(run(*command, tmp_path / "folder", "--force"), "is a directory")
    failed(run(*command, tmp_path / "new", "--format", "gpt2", "--pattern", "cl100k"), "do not store a pattern")
    failed(run(*command, tmp_path / "new", "--format", "gpt2"), "absent.txt")


@pytest.mark.long
def test_failures_of_encode_and_decode(model: Path, tmp_path: Path) -> None:
    failed(run("encode", "--model", tmp_path / "absent.json", "--text", "a"), "absent.json")
    failed(run("encode", "--model", model, "--input", tmp_path / "absent.txt"), "absent.txt")
    failed(run("encode", "--model", model, stdin=b"ab\xff"), "byte 2")
    failed(run("decode", "--model", model, "--ids", "9999"), "9999")
    failed(run("decode", "--model", model, "--ids", "-1"), "-1")
    failed(run("decode", "--model", model, "--ids", "128"), "utf-8")
    failed(run("decode", "--model", model, stdin=b"[1, true]"), "True")
    failed(run("decode", "--model", model, stdin=b"[1.5]"), "1.5")
    failed(run("decode", "--model", model, stdin=b"one two"), "one")
    failed(run("decode", "--model", model, stdin=b"[" * 100_000))
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(model.read_bytes()[:-20])
    failed(run("encode", "--model", damaged, "--text", "a"), "damaged.json")


def test_an_empty_name_is_wrong_usage_and_not_the_current_folder(model: Path) -> None:
    for command, option in (
        (("encode", "--model", "", "--text", "a"), "--model"),
        (("encode", "--model", model, "--input", ""), "--input"),
        (("train", "--input", model, "", "--vocab-size", "300", "--output", "out"), "--input"),
        (("tokenize", "--model", model, "--input", model, "--output", ""), "--output"),
        (("merge-counts", model, "", "--output", "out"), "counts"),
    ):
        done = run(*command)
        assert done.status == 2 and f"{option} is empty; pass a file or a folder" in done.err


def test_an_output_of_a_dash_is_wrong_usage_and_not_a_file(model: Path) -> None:
    done = run("convert", "--model", model, "--format", "huggingface", "--output", "-")
    assert done.status == 2 and "--output - would create a file named -" in done.err
    assert not Path("-").exists()


def test_text_that_is_no_utf_8_and_ids_below_zero_are_named(model: Path) -> None:
    for name in ("encode", "inspect", "view"):
        done = run(name, "--model", model, "--text", os.fsdecode(b"ab\xff"))
        assert done.status == 2, done.err
        assert "--text is not UTF-8 at byte 2; pass UTF-8 text" in done.err
    failed(run("encode --special <x>=-1 --text a --model", model), "--special <x>=-1: an id is 0 or more")


def test_links_in_a_circle_at_the_output_are_an_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    failed(run("convert --format huggingface --force --model", model, "--output", tmp_path / "one"), "symbolic links")


@pytest.mark.parametrize(
    ("command", "name", "what"),
    [
        ("train --input a.txt --vocab-size 258 --output new.json", "new.json", "a tokenizer of 259 ids"),
        ("count --input a.txt --output new.counts", "new.counts", "2 pretokens and their counts"),
        ("merge-counts old.counts --output new.counts", "new.counts", "2 pretokens and their counts"),
        ("tokenize --model old.json --input a.txt --output new", "new", "shards of 3 tokens"),
        ("convert --model old.json --output new.json --format huggingface", "new.json", "huggingface, 259 tokens"),
        ("view --model old.json --input a.txt --output new.html", "new.html", "a page; open it in a browser"),
        ("stats --model old.json --input a.txt --plot new.svg", "new.svg", "a plot"),
        ("compare --model old.json --corpus a=a.txt --plot new.svg", "new.svg", "a plot"),
    ],
)
def test_a_command_says_on_stderr_what_it_wrote(
    command: str, name: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--plot" in command:
        pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("ab ab ab")
    Tokenizer.train("ab ab ab", 258).save("old.json")
    PretokenCounts.from_texts(["ab ab ab"]).save("old.counts")
    there = set(Path().iterdir())
    done = run(command)
    assert done.status == 0, done.err
    assert f"pairloom: wrote {name}: {what}" in done.err
    assert set(Path().iterdir()) - there == {Path(name)}
    assert "wrote" not in done.out


@pytest.mark.parametrize("command", ["train", "count", "merge-counts", "convert"])
def test_a_file_without_room_is_reported_and_the_older_kept(command: str, model: Path, tmp_path: Path) -> None:
    text, counts = tmp_path / "a.txt", tmp_path / "old.counts"
    text.write_text(" ".join(f"word{number}" for number in range(3000)))
    PretokenCounts.from_files(text).save(counts)
    arguments = {
        "train": f"--input {text} --vocab-size 300",
        "count": f"--input {text}",
        "merge-counts": str(counts),
        "convert": f"--model {model} --format huggingface",
    }[command]
    older = tmp_path / "out" / "older"
    older.parent.mkdir()
    older.write_text("older")
    done = subprocess.run(
        [sys.executable, "-m", "pairloom", command, *arguments.split(), "--output", older, "--force"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    failed(Done(done.returncode, done.stdout, done.stderr), "File too large", str(older))
    assert [path.name for path in older.parent.iterdir()] == ["older"] and older.read_text() == "older"


@pytest.mark.parametrize(
    ("arguments", "own", "expected"), [("", None, "1"), ("", "3", "3"), ("sys.argv[1:]", None, None)]
)
def test_only_the_command_keeps_openblas_from_starting_threads(
    model: Path, arguments: str, own: str | None, expected: str | None
) -> None:
    name = "OPENBLAS_NUM_THREADS"
    code = f"import os, sys; from pairloom.cli import main; main({arguments}); print(os.environ.get({name!r}))"
    command = [sys.executable, "-c", code, "encode", "--model", str(model), "--text", "ab"]
    environment = {key: value for key, value in os.environ.items() if key != name} | ({name: own} if own else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout.splitlines() == ["[256]", str(expected)], done.stderr
