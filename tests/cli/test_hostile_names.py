"""Hostile file names and strings reach the terminal escaped, on one line each, and without secrets."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from tests.cli.commands import CASES, Done, run
from tests.corpus.files import json_lines

# A title, a cleared screen, a forged line, a CSI of one byte, a direction override, a byte that is not UTF-8.
NAME = "a\x1b]0;x\x07\x1b[2Jb\rc\npairloom: all is well\n\x9b31m\u202egnp\udcff"
TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)


def _assert_clean(done: Done) -> None:
    """Asserts that there are no control characters except line ends, and on stderr only pairloom's own lines."""
    for text in (done.out, done.err):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text), ascii(text)
    for line in done.err.splitlines():
        assert re.match(r"pairloom: (?!all is well)|  |usage: |pairloom \w+: error: |\{|.*: \w+, \d+ tokens$", line), (
            ascii(line)
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with hostile names: good, damaged and foreign files."""
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / f"good{NAME}.jsonl").write_text(json_lines(["ab the cat <|endoftext|>"] * 3))
    (folder / f"bad{NAME}.jsonl").write_text('{"text": 1}\n')
    (folder / f"cut{NAME}.jsonl.gz").write_bytes(gzip.compress(json_lines(["ab"]).encode())[:-9])
    (folder / f"table{NAME}.csv").write_text("a,b")
    (folder / f"{NAME}.unknown").write_text("")
    (folder / f"twice{NAME}.jsonl").symlink_to(folder / f"good{NAME}.jsonl")
    return folder


@pytest.mark.parametrize("more", [(), ("--log-json",), ("--quiet",)])
@pytest.mark.parametrize("skips", [(), ("--skip-bad", "--skip-bad-files")])
@pytest.mark.parametrize("command", ["train", "count", "tokenize", "stats", "compare", "estimate", "view"])
def test_names_in_a_folder_reach_the_terminal_escaped(
    model: Path, folder: Path, tmp_path: Path, command: str, skips: tuple[str, ...], more: tuple[str, ...]
) -> None:
    options: dict[str, list[Any]] = {
        "train": ["--vocab-size", 260, "--output", tmp_path / "out"],
        "count": ["--output", tmp_path / "out"],
        "tokenize": ["--model", model, "--output", tmp_path / "out"],
        "stats": ["--model", model],
        "compare": ["--model", model, "--model", model],
        "estimate": ["--model", model],
        "view": ["--model", model, "--output", tmp_path / "out"],
    }
    more = () if command in ("estimate", "view") else more
    for inputs in ([folder], [folder / f"table{NAME}.csv", folder / f"bad{NAME}.jsonl"], [folder / f"{NAME}*.none"]):
        done = run(command, *options[command], "--input", *inputs, *skips, *more)
        _assert_clean(done)
        assert done.status in (0, 1) and (done.err or not skips or more == ("--quiet",))
        if more == ("--log-json",):
            assert all(isinstance(json.loads(line), dict) for line in done.err.splitlines())


def test_names_of_models_and_outputs_reach_the_terminal_escaped(model: Path, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / f"m{NAME}.json"
    TOKENIZER.save(other)
    good = folder / f"good{NAME}.jsonl"
    places = {"model": model, "folder": folder, "tmp": tmp_path, "other": other, "good": good, "name": NAME}
    for command in CASES["hostile"]:
        _assert_clean(run(*(word.format_map(places) for word in command.split())))


def test_strings_of_manifests_and_models_are_shown_escaped(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab the cat")
    command: list[Any] = ["tokenize", "--model", model, "--input", tmp_path / "a.txt", "--output", tmp_path / "out"]
    assert run(*command).status == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())

    def hostile(value: Any) -> Any:
        return [{**value[0], "path": NAME, "file": NAME}] if isinstance(value, list) and value else NAME

    for key, value in manifest.items():
        (tmp_path / "out" / "manifest.json").write_text(json.dumps({**manifest, key: hostile(value)}))
        for again in ([*command, "--resume"], ["verify", tmp_path / "out"], ["verify", tmp_path / "out", "--deep"]):
            _assert_clean(run(*again))
    tokenizer = Tokenizer.train("ab the cat", 260, special_tokens=[NAME[:-1], "b"], decode_errors="replace")
    tokenizer.save(tmp_path / "special.json")
    for more in (["--eot"], ["--eot", NAME[:-1]], []):
        (tmp_path / "b.txt").write_text(f"ab {NAME[:-1]}")
        inputs: list[Any] = ["--model", tmp_path / "special.json", "--input", tmp_path / "b.txt", "--force"]
        _assert_clean(run("tokenize", *inputs, "--output", tmp_path / "out2", *more))
    for more in (["--format", "tiktoken"], ["--format", "gpt2"]):
        _assert_clean(run("convert", "--model", tmp_path / "special.json", *more, "--output", tmp_path / more[1]))
    _assert_clean(run("inspect", "--model", tmp_path / "special.json"))
    broken = json.loads((tmp_path / "special.json").read_text()) | {NAME[:-1]: NAME[:-1]}
    (tmp_path / "special.json").write_text(json.dumps(broken))
    _assert_clean(run("inspect", "--model", tmp_path / "special.json"))


def test_no_message_of_a_command_holds_a_secret_of_a_url(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    url = "http://me:PASSWORD@127.0.0.1:9/a.jsonl?sig=SIGNED"
    (tmp_path / "a.txt").write_text("a")
    for command in CASES["secrets"]:
        done = run(*(word.format(model=model, tmp=tmp_path, url=url) for word in command.split()))
        assert done.status in (1, 2) and "http://127.0.0.1:9/a.jsonl" in done.err, done.err
        assert "PASSWORD" not in done.err and "SIGNED" not in done.err
