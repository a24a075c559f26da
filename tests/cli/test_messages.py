"""What the command line says about a failure: options instead of arguments, plain paths, no lines of source."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.cli import messages
from pairloom.cli.commands import COMMANDS
from tests.cli.commands import CASES, failed, output, run
from tests.cli.test_help import parser_of
from tests.corpus.files import write_parquet


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with models and inputs."""
    monkeypatch.chdir(tmp_path)
    tokenizer = Tokenizer.train(["ab ab ab"], 258)
    tokenizer.save(tmp_path / "model.json")
    tokenizer.save(tmp_path / "ranks.tiktoken", format="tiktoken")
    PretokenCounts.from_texts(["ab ab"]).save(tmp_path / "counts")
    (tmp_path / "a.txt").write_text("ab <|endoftext|> ab")
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,\xff")
    (tmp_path / "bad.txt").write_bytes(b"ab\xff")
    (tmp_path / "cut.jsonl").write_text('{"text": "ab"} {}')
    (tmp_path / "empty").mkdir()
    write_parquet(tmp_path / "body.parquet", ["a", "b"], column="body")
    pairs: list[Any] = ["a", None]
    write_parquet(tmp_path / "null.parquet", pairs)
    return tmp_path


def test_remedies_for_ids_and_samples_are_options(folder: Path) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 300: b"never"}
    with pytest.warns(UserWarning, match="1 of 258 tokens are never used"):
        Tokenizer(vocab, [(b"a", b"b")]).save("gap.json")
    done = run("train --extend gap.json --n-tokens 1 --renumber --output new --input a.txt")
    failed(done, "because some belong to tokens that no merge makes; leave out --renumber\n")
    Path("long.jsonl").write_text('{"text": "' + "ab " * 40_000 + '"}\n')
    done = run("estimate --model model.json --sample-bytes 9000 --input long.jsonl")
    failed(done, "no record starts in the sample; raise --sample-bytes\n")


@pytest.mark.parametrize(("arguments", "message"), CASES["remedies"])
def test_remedies_are_options(folder: Path, arguments: str, message: str) -> None:
    done = run(arguments)
    failed(done, message)
    assert "Errno" not in done.err and "PosixPath" not in done.err
    assert not re.search(r"\b[a-z]+_[a-z]+\b|=(True|None)", done.err), "the library's words"
    assert not (folder / "new").exists()


@pytest.mark.parametrize("arguments", CASES["inputs"])
def test_no_input_is_replaced(folder: Path, arguments: str) -> None:
    for name in ("b.txt", "a.svg"):
        (folder / name).write_text("ab <|endoftext|> ab")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "bad.txt").unlink()
    done = run(arguments, "--force")
    assert done.status == 2 and "is one of the inputs; pass another file" in done.err
    assert (folder / "a.txt").read_text() == (folder / "a.svg").read_text() == "ab <|endoftext|> ab"


@pytest.mark.parametrize(("first", "then", "message"), CASES["resumed"])
def test_a_resumed_run_with_another_option_is_told_which(folder: Path, first: str, then: str, message: str) -> None:
    files = (folder / "model.json", "--output", folder / "out", "--input", folder / "a.txt")
    output(f"tokenize {first} --model", *files)
    done = run(f"tokenize {then} --resume --model", *files)
    failed(done, f"{folder / 'out'}: {message} resume with the same, or start in")


@pytest.mark.parametrize(("arguments", "message"), CASES["usage"])
def test_wrong_usage_exits_with_2_and_says_why(folder: Path, arguments: str, message: str) -> None:
    there = set(folder.iterdir())
    done = run(*shlex.split(arguments))
    assert (done.status, done.out) == (2, "") and message in done.err, done
    assert set(folder.iterdir()) == there


@pytest.mark.parametrize("command", ["encode", "inspect", "view"])
def test_text_that_is_no_utf_8_is_wrong_usage(folder: Path, command: str) -> None:
    done = run(command, "--model", folder / "model.json", "--text", os.fsdecode(b"ab\xff"))
    assert done.status == 2 and "--text is not UTF-8 at byte 2; pass UTF-8 text" in done.err


@pytest.mark.parametrize(("arguments", "message"), CASES["warnings"])
def test_inputs_and_options_of_no_use_are_warned_of(folder: Path, arguments: str, message: str) -> None:
    (folder / "none.txt").touch()
    (folder / "a.jsonl").write_text('{"text": "ab"}\n')
    done = run(arguments)
    assert done.status == 0 and re.search(message, done.err)


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
