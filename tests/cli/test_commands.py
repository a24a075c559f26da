"""The command line: results on stdout, messages on stderr, exit status 0, 1 or 2, no partial output."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from tests.cli.commands import CASES, failed, output, run


@pytest.mark.parametrize(("options", "loaded"), [("--format gpt2", {}), ("", {"pattern": "gpt2"})])
def test_train_writes_the_format_and_special_tokens_asked_for(
    options: str, loaded: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "corpus.txt").write_text("ab ab ab")
    model = tmp_path / ("gpt2" if options else "model.tiktoken")
    command = f"train --vocab-size 257 --special <s> --special <e> {options} --input"
    assert json.loads(output(command, tmp_path / "corpus.txt", "--output", model))["special_token_count"] == 2
    assert Tokenizer.load(model, special_tokens=["<s>", "<e>"], **loaded).encode("ab<e>") == [256, 258]


def test_literals_in_text_are_what_specials_says(model: Path, tmp_path: Path) -> None:
    text = "ab<|endoftext|>ab"
    (tmp_path / "a.txt").write_text(text)
    for given in (("--text", text), ("--input", tmp_path / "a.txt")):
        command = ("encode", "--model", model, *given)
        assert json.loads(output(*command)) == [256, 258, 256]
        assert json.loads(output(*command, "--specials", "ordinary")) == Tokenizer.load(model).encode_ordinary(text)
        failed(run(*command, "--specials", "error"), "<|endoftext|>", "--specials ordinary")


def test_decode_adds_nothing(model: Path) -> None:
    assert run("decode --ids 256 258 256 --model", model) == (0, "ab<|endoftext|>ab", "")
    for stdin, text in (
        (b"[256,258,256]\n", "ab<|endoftext|>ab"),
        (b" 256 258\n256\n", "ab<|endoftext|>ab"),
        (b"", ""),
        (b"[]", ""),
    ):
        assert run("decode --model", model, stdin=stdin) == (0, text, "")


def test_a_value_may_look_like_an_option() -> None:
    failed(run("encode --model nowhere.json", "--text", "--no option, but a text"), "nowhere.json")


def test_train_checks_that_it_can_save_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root can write everywhere
    for format in ("pairloom", "gpt2"):
        failed(run(*command, tmp_path / "new", "--format", format), f"{tmp_path}: the folder cannot be written to")


@pytest.mark.long
def test_failures_of_encode_and_decode(model: Path) -> None:
    failed(run("encode", "--model", model, stdin=b"ab\xff"), "byte 2")
    for token_id in ("9999", "-1"):
        failed(run("decode", "--model", model, "--ids", token_id), token_id)
    failed(run("decode", "--model", model, stdin=b"[1, true]"), "an id must be an int, not bool")
    failed(run("decode", "--model", model, stdin=b"[1.5]"), "an id must be an int, not float")
    failed(run("decode", "--model", model, stdin=b"one two"), "one")
    failed(run("decode", "--model", model, stdin=b"[" * 100_000))


@pytest.mark.parametrize(("command", "name", "what"), CASES["written"])
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
