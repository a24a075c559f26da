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
from tests.cli.commands import failed, output, run
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


TRAIN = "train --vocab-size 300 --output new --input"
TOKENIZE = "tokenize --model model.json --output new --input"


def test_remedies_for_ids_and_samples_are_options(folder: Path) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 300: b"never"}
    with pytest.warns(UserWarning, match="1 of 258 tokens are never used"):
        Tokenizer(vocab, [(b"a", b"b")]).save("gap.json")
    done = run("train --extend gap.json --n-tokens 1 --renumber --output new --input a.txt")
    failed(done, "because some belong to tokens that no merge makes; leave out --renumber\n")
    Path("long.jsonl").write_text('{"text": "' + "ab " * 40_000 + '"}\n')
    done = run("estimate --model model.json --sample-bytes 9000 --input long.jsonl")
    failed(done, "no record starts in the sample; raise --sample-bytes\n")


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
        ("encode --special <x>=-1 --text a --model model.json", "--special <x>=-1: an id is 0 or more"),
        ("inspect --model ranks.tiktoken", "load it with --pattern, a regular expression"),
        ("view --model model.json --input a.txt --output new --specials error", "text with --specials ordinary, or"),
        ("inspect --model model.json --pattern gpt2", "leave out --pattern\n"),
        ("inspect --model a.txt", "name its format with --model-format, one of"),
        (f"{TRAIN} cut.jsonl", "or skip such lines with --skip-bad\n"),
        (f"{TOKENIZE} body.parquet", "choose one with --text-field\n"),
        (f"{TOKENIZE} null.parquet", "skip such rows with --skip-bad\n"),
        (f"{TOKENIZE} a.txt --provenance --id-field id", "--id-field applies to JSON lines"),
        ("estimate --model model.json --input a.txt --pieces 0", "pairloom: --pieces must be at least 1, not 0"),
        (
            "train --vocab-size 300 --output new --parity a=a.txt --parity-reference b=a.txt",
            "pairloom: --parity and --parity-reference must have the same names",
        ),
        (f"{TOKENIZE} a.txt --pack 4 --rank 2 --world-size 2", "pairloom: --rank is 2; the largest is 1"),
        (
            "decode --model model.json --ids 200",
            "the ids end or start inside a character: --errors replace puts U+FFFD there",
        ),
    ],
)
def test_remedies_are_options(folder: Path, arguments: str, message: str) -> None:
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
        "merge-counts bad.txt a.txt --output a.txt",
        "merge-counts bad.txt --subtract a.txt --output a.txt",
        "view --model model.json --text ab --output ./model.json",
        "convert --model model.json --format tiktoken --output ./model.json",
        "stats --model model.json --input a.svg --plot a.svg",
        "compare --model model.json --model model.json --corpus en=a.svg --plot a.svg",
    ],
)
def test_no_input_is_replaced(folder: Path, arguments: str) -> None:
    for name in ("b.txt", "a.svg"):
        (folder / name).write_text("ab <|endoftext|> ab")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "bad.txt").unlink()
    done = run(arguments, "--force")
    assert done.status == 2 and "is one of the inputs; pass another file" in done.err
    assert (folder / "a.txt").read_text() == (folder / "a.svg").read_text() == "ab <|endoftext|> ab"


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        ("--doc-cap 100", "--doc-cap 10", "was made with --doc-cap 100, not with --doc-cap 10;"),
        ("--shard-tokens 7", "", "was made with --shard-tokens 7, not with --shard-tokens 100000000;"),
        ("", "--lines", r"was made without --separator, not with --separator '\n';"),
        ("--input-format text", "", "was made with --input-format 'text', not without --input-format;"),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "usage:"),
        ("nonsense", "usage:"),
        ("train --input a --output b", "give --vocab-size"),
        (f"{TRAIN} a --profile gpt5", "usage:"),
        ("encode --model m --text a --input b", "usage:"),
        ("decode --model m --ids one", "usage:"),
        ("train --vocab-siz 300 --input a.txt", "there is no option --vocab-siz; did you mean --vocab-size?"),
        ("tokenize --max-memory 1", "there is no option --max-memory"),
        ("train a.txt --vocab-size 300 --output new --input b.txt", "argument a.txt; pass files with --input a.txt"),
        ("encode hello --model none", "argument hello; pass text with --text or files with --input hello"),
        ("decode 3 --model none", "unexpected argument 3"),
        ("encode --model m --text a --text b", "--text is given more than once; it takes one value"),
        (f"{TRAIN} a.txt --vocab-size 400", "--vocab-size is given more than once; it takes one value"),
        ("count --pattern a --pattern=b --input a --output b", "--pattern is given more than once; it takes one value"),
        (
            "tokenize --model model.json --input a.txt --output=~/new",
            "--output ~/new: the shell expands ~ only at the start of a word",
        ),
        (f"{TRAIN} a.txt --max-memory 2GB", "not a whole number: '2GB'; write all digits, without a unit\n"),
        ("decode --model model.json --ids 97,98", "not a whole number: '97,98'\n"),
        ("stats --model model.json --corpus a=- --corpus b=-", "standard input (-) is named more than once"),
        (f"{TRAIN} a.txt - --input -", "standard input (-) is named more than once"),
        ("train --vocab-size 300 --output new --parity a=- --parity-reference a=-", "standard input (-) is named"),
        ("stats --model model.json --corpus en=~/a.txt", "--corpus en=~/a.txt: the shell expands ~"),
        ("inspect --model a --model=b", "--model is given more than once; it takes one value"),
        ("encode --model '' --text a", "--model is empty; pass a file or a folder"),
        ("encode --model model.json --input ''", "--input is empty"),
        ("train --input a.txt '' --vocab-size 300 --output new", "--input is empty"),
        ("tokenize --model model.json --input a.txt --output ''", "--output is empty"),
        ("merge-counts a.txt '' --output new", "counts is empty"),
        ("convert --model model.json --format huggingface --output -", "--output - would create a file named -"),
        ("train --vocab-size 300 --input a.txt --output new/", "--output new/ names a folder; pass a file"),
        ("convert --model model.json --format huggingface --output new/", "--output new/ names a folder; pass a file"),
        ("stats --model model.json --input a.txt --parallel", "--parallel needs --corpus"),
        ("compare --model model.json --model model.json --input a.txt --parallel", "--parallel needs --corpus"),
        ("view --model model.json --text ab --lines --output new", "--lines needs --input: it controls how texts are"),
        ("inspect --model model.json --stages ab --json", "--stages cannot be combined with --text or --json"),
        *(
            (f"{command} --counts counts --output new {option}", f"{option.split()[0]} needs --input")
            for command in ("train --vocab-size 257", "prune --n-tokens 1 --model model.json")
            for option in ("--max-bytes 5", "--lines", "--text-field body", "--input-errors replace")
        ),
        ("train --vocab-size 300 --n-tokens 5 --extend model.json --input a.txt --output new", "--vocab-size or --n-t"),
        ("train --extend model.json --input a.txt --output new", "--vocab-size or --n-tokens"),
        ("train --n-tokens 5 --input a.txt --output new", "need --extend"),
        (f"{TRAIN} a.txt --renumber", "need --extend"),
        (f"{TRAIN} a.txt --trace trace --extend model.json", "--trace cannot be combined with --extend"),
        (f"{TRAIN} a.txt --trace ./new", "--trace and --output are the same file"),
        ("prune --input a.txt --output new --adapt --vocab-size 257 --model model.json", "pass --n-tokens"),
        ("train --vocab-size 300 --output new", "exactly one of --input, --counts and --parity"),
        (f"{TRAIN} a.txt --parity en=a.txt", "exactly one of --input, --counts and --parity"),
        (f"{TRAIN} a.txt --parity-reference en=a.txt", "--parity-reference needs --parity"),
        ("train --vocab-size 300 --output new --parity en=a.txt --trace trace", "--parity cannot be combined with"),
        ("train --vocab-size 300 --output new --parity a.txt", "NAME=PATH"),
        ("lock hf:model.json --pattern gpt2", "--pattern does not apply to hf:model.json: its library knows"),
        ("check tiktoken:gpt2 a.txt --missing-bytes drop", "--missing-bytes does not apply to tiktoken:gpt2"),
        ("verify empty --special a", "--special needs --model"),
        ("where empty --shard 0 --token 0 --model-format gpt2", "--model-format needs --model"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(folder: Path, arguments: str, message: str) -> None:
    there = set(folder.iterdir())
    done = run(*shlex.split(arguments))
    assert (done.status, done.out) == (2, "") and message in done.err, done
    assert set(folder.iterdir()) == there


@pytest.mark.parametrize("command", ["encode", "inspect", "view"])
def test_text_that_is_no_utf_8_is_wrong_usage(folder: Path, command: str) -> None:
    done = run(command, "--model", folder / "model.json", "--text", os.fsdecode(b"ab\xff"))
    assert done.status == 2 and "--text is not UTF-8 at byte 2; pass UTF-8 text" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"{TRAIN} none.txt", "warning: .* no text"),
        (f"{TOKENIZE} none.txt", "warning: .* no document"),
        ("stats --lines --model model.json --input a.jsonl", "--lines is ignored: it applies to plain text"),
        (f"{TOKENIZE} a.jsonl --provenance --id-field doc", "contain no ids; check --id-field"),
    ],
)
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
