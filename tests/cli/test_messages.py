"""What the command line says about a failure: options instead of arguments, plain paths, no lines of source."""

import re
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.cli import messages
from pairloom.cli.commands import COMMANDS
from tests.cli.commands import failed, output, run
from tests.cli.test_help import parser_of
from tests.corpus.files import write_parquet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = Tokenizer.train(["ab ab ab"], 258)
    tokenizer.save(tmp_path / "model.json")
    tokenizer.save(tmp_path / "ranks.tiktoken", format="tiktoken")
    (tmp_path / "a.txt").write_text("ab <|endoftext|> ab")
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,\xff")
    (tmp_path / "bad.txt").write_bytes(b"ab\xff")
    (tmp_path / "cut.jsonl").write_text('{"text": "ab"} {}')
    (tmp_path / "empty").mkdir()
    return tmp_path


TRAIN = "train --vocab-size 300 --output new --input"
TOKENIZE = "tokenize --model model.json --output new --input"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train --vocab-size 300 --output a.txt --input a.txt", "a.txt: already exists; pass --force to replace it"),
        ("convert --model model.json --output a.txt --format gpt2 --force", "a.txt: is not a folder; pass a new one\n"),
        (f"{TRAIN} bad.txt", "replace malformed bytes with --input-errors replace"),
        ("train --vocab-size 3 --output new --input a.txt", "pass --vocab-size 256 or more"),
        (f"{TRAIN} a.csv", "to use all of it as text, pass --input-format text\n"),
        (f"{TRAIN} a.txt --threads -1", "pairloom: --threads must be at least 0, not -1"),
        (f"{TRAIN} a.txt --text-field a..b", "pairloom: --text-field must be a key"),
        (f"{TRAIN} a.txt --max-memory 1", "raise --max-memory"),
        (f"{TRAIN} absent.txt", "pairloom: absent.txt: No such file or directory\n"),
        (
            "tokenize --model model.json --output bad.txt --input a.txt",
            "pairloom: bad.txt: is not a folder; pass a new or an empty folder",
        ),
        ("tokenize --model model.json --output a.txt/d --input a.txt", "pairloom: a.txt/d: Not a directory\n"),
        ("inspect --model ranks.tiktoken", "load it with --pattern, a regular expression"),
        ("view --model model.json --input a.txt --output new --specials error", "text with --specials ordinary, or"),
        ("inspect --model model.json --pattern gpt2", "leave out --pattern\n"),
        ("inspect --model a.txt", "name its format with --model-format, one of"),
        (f"{TRAIN} cut.jsonl", "or skip such lines with --skip-bad\n"),
        (f"{TOKENIZE} a.txt --provenance --id-field id", "--id-field applies to JSON lines"),
        (f"{TOKENIZE} a.txt --pack 4 --rank 2 --world-size 2", "pairloom: --rank is 2; the largest is 1"),
        (
            "decode --model model.json --ids 200",
            "the ids end or start inside a character: --errors replace puts U+FFFD there",
        ),
    ],
)
def test_remedies_are_options(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str) -> None:
    monkeypatch.chdir(folder)
    done = run(arguments)
    failed(done, message)
    assert "Errno" not in done.err and "PosixPath" not in done.err
    assert not re.search(r"\b[a-z]+_[a-z]+\b|=(True|None)", done.err), "the library's words"
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        "train --vocab-size 300 --input a.txt b.txt --output a.txt",
        "train --vocab-size 300 --input . --output ./link.txt",
        "train --vocab-size 300 --input a.txt --output new --trace a.txt",
        "train --vocab-size 300 --parity en=b.txt --parity de=a.txt --output a.txt",
        "train --vocab-size 300 --extend model.json --input a.txt --output a.txt",
        "train --vocab-size 300 --counts a.txt --output a.txt",
        "count --input a.txt --output a.txt",
        "prune --model model.json --n-tokens 1 --input a.txt --output a.txt",
        "view --model model.json --input a.txt --output a.txt",
        "stats --model model.json --input a.svg --plot a.svg",
        "compare --model model.json --model model.json --corpus en=a.svg --plot a.svg",
    ],
)
def test_no_input_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.chdir(folder)
    for name in ("b.txt", "a.svg"):
        (folder / name).write_text("ab <|endoftext|> ab")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "bad.txt").unlink()
    done = run(arguments, "--force")
    assert done.status == 2 and "is one of the inputs; pass another file" in done.err
    assert (folder / "a.txt").read_text() == (folder / "a.svg").read_text() == "ab <|endoftext|> ab"


@pytest.mark.parametrize("arguments", [f"{TRAIN} none.txt", f"{TOKENIZE} none.txt"])
def test_an_empty_input_is_not_passed_over_in_silence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "none.txt").touch()
    done = run(arguments)
    assert done.status == 0 and (folder / "new").exists()
    assert re.search("warning: .* no (text|document)", done.err)


def test_remedies_of_columns(folder: Path) -> None:
    write_parquet(folder / "a.parquet", ["a", "b"], column="body")
    tokenize: list[str | Path] = ["tokenize", "--model", folder / "model.json", "--output", folder / "new", "--input"]
    done = run(*tokenize, folder / "a.parquet")
    assert done.status == 1 and "choose one with --text-field\n" in done.err
    pairs: list[Any] = ["a", None]
    write_parquet(folder / "b.parquet", pairs)
    done = run(*tokenize, folder / "b.parquet")
    assert done.status == 1 and "skip such rows with --skip-bad\n" in done.err
    done = run(*tokenize, folder / "b.parquet", "--skip-bad")
    assert done.status == 0 and done.err.startswith("pairloom: warning: 1 records")


def test_remedies_of_a_run_that_is_there(folder: Path) -> None:
    tokenize: list[str | Path] = ["tokenize", "--model", folder / "model.json", "--output", folder / "out"]
    tokenize += ["--input", folder / "a.txt"]
    assert run(*tokenize).status == 0
    done = run(*tokenize)
    assert done.status == 1
    assert (
        done.err
        == f"pairloom: {folder / 'out'}: already contains a run; resume it (--resume), or replace it (--force)\n"
    )


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        ("--doc-cap 100", "--doc-cap 10", "was made with --doc-cap 100, not with --doc-cap 10;"),
        ("--shard-tokens 7", "", "was made with --shard-tokens 7, not with --shard-tokens 100000000;"),
        ("", "--lines", r"was made without --separator, not with --separator '\n';"),
        ("--eot", "", "was made with --eot '<|endoftext|>', not without --eot;"),
        ("--provenance", "", "was made with --provenance, not without --provenance;"),
        ("", "--provenance", "was made without --provenance, not with --provenance;"),
    ],
)
def test_a_resumed_run_with_another_option_is_told_which(folder: Path, first: str, then: str, message: str) -> None:
    files = (folder / "model.json", "--output", folder / "out", "--input", folder / "a.txt")
    output(f"tokenize {first} --model", *files)
    done = run(f"tokenize {then} --resume --model", *files)
    failed(done, f"{folder / 'out'}: {message} resume with the same, or start in")


def test_warnings_name_options_and_no_source(folder: Path) -> None:
    done = run("train", "--vocab-size", 258, "--output", folder / "new", "--input", folder / "a.txt")
    assert done.status == 0
    (line,) = (line for line in done.err.splitlines() if "literals" in line)
    assert line.startswith("pairloom: warning: the corpus contains 1 literals")
    assert "pass --corpus-specials split to split" in line
    assert ".py" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("stats --model model.json --input a.txt --parallel", "--parallel needs --corpus"),
        ("compare --model model.json --model model.json --input a.txt --parallel", "--parallel needs --corpus"),
        ("view --model model.json --text ab --lines --output new", "--lines needs --input: it controls how texts are"),
        ("inspect --model model.json --stages ab --json", "--stages cannot be combined with --text or --json"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(folder)
    done = run(arguments)
    assert done.status == 2 and message in done.err


def test_every_option_that_messages_name_is_one() -> None:
    known = {
        option for command in COMMANDS for action in parser_of(command)._actions for option in action.option_strings
    }
    named = {
        option
        for _, replacement in messages._PHRASES
        if isinstance(replacement, str)
        for option in re.findall(r"--[a-z-]+", replacement)
    }
    assert len(named) > 5 and named <= known
