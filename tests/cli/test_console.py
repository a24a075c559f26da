"""The command line with numbers beyond 64 bits, closed streams, --quiet and --log-json."""

import gzip
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairloom import Tokenizer, tokenize_files
from pairloom._internal import progress
from pairloom.cli.commands import COMMANDS
from pairloom.corpus.streams import Stream
from tests.cli.commands import CASES, output, run
from tests.corpus.files import DOCUMENTS, json_lines

PAIRLOOM = f"{sys.executable} -m pairloom"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("console")
    Tokenizer.train(DOCUMENTS, 400).save(folder / "model.json")
    (folder / "a.jsonl").write_text(json_lines(DOCUMENTS))
    (folder / "a.txt").write_text("some text <|endoftext|>")
    return folder


@pytest.mark.parametrize("number", [str(1 << 63), str(-1 << 64), "9" * 5000, "1e3", "nan", ""])
@pytest.mark.parametrize(
    "command", ["train --output new --input a.txt --vocab-size", "decode --model model.json --ids"]
)
def test_numbers_that_no_64_bits_hold_are_wrong_usage(folder: Path, command: str, number: str) -> None:
    done = run(*f"{command}={number}".split(" "))
    assert (done.status, done.out) == (2, ""), done.err
    assert command.rpartition(" ")[2] in done.err and len(done.err) < 4000
    assert not Path("new").exists()


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, timeout=60)


@pytest.mark.parametrize(("command", "status", "message"), CASES["streams"])
def test_closed_and_full_streams_are_no_tracebacks(folder: Path, command: str, status: int, message: str) -> None:
    done = shell(f"{PAIRLOOM} {command}", folder)
    assert done.returncode == status, done.stderr
    text = done.stderr.decode()
    assert message in text and "Traceback" not in text and "Exception ignored" not in text
    assert text.count("\n") == (1 if message else 0)


def test_stdout_is_utf_8_in_every_locale(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "id": "é日"}\n')
    common = ("tokenize --provenance --id-field id --model", folder / "model.json")
    output(*common, "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out")
    for encoding in ("ascii", "latin-1"):
        done = shell(f"PYTHONIOENCODING={encoding} {PAIRLOOM} where {tmp_path}/out --id é日", folder)
        assert done.returncode == 0 and json.loads(done.stdout.decode())["id"] == "é日", done.stderr


@pytest.mark.parametrize(("no_color", "is_coloured"), [("1", False), ("", True)])
def test_no_color_counts_unless_it_is_empty(folder: Path, no_color: str, is_coloured: bool) -> None:
    master, terminal = os.openpty()
    command = [*PAIRLOOM.split(), "inspect", "--model", "model.json", "--text", "a"]
    subprocess.run(command, cwd=folder, stdout=terminal, env={**os.environ, "NO_COLOR": no_color}, check=True)
    assert (b"\x1b[" in os.read(master, 1 << 20)) == is_coloured
    os.close(master)
    os.close(terminal)


def test_one_end_of_input_ends_a_terminal() -> None:
    master, terminal = os.openpty()
    os.write(master, b"some\n\x04text\n\x04")
    stream = Stream.of_descriptor(terminal)
    assert [stream.read(100), stream.read(100)] == [b"some\n", b""]
    os.close(master)
    os.close(terminal)


def test_files_do_not_take_the_numbers_of_closed_streams(folder: Path, tmp_path: Path) -> None:
    """Anything that a library writes to stdout would end up in the shards."""
    command = f"{PAIRLOOM} tokenize --model model.json --input a.jsonl --output {tmp_path}/out <&- 2>&-"
    assert shell(command, folder).returncode == 0
    output("tokenize --model", folder / "model.json", "--input", folder / "a.jsonl", "--output", tmp_path / "b")
    for path in (tmp_path / "b").iterdir():
        if path.suffix == ".npy":
            assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_pipes_are_read_as_files_are(folder: Path, tmp_path: Path) -> None:
    ids = Tokenizer.load(folder / "model.json").encode_file(folder / "a.txt").tolist()
    for command in (
        "encode --model model.json --input <(cat a.txt)",
        "encode --model model.json --input - < a.txt",
        "encode --model model.json --input /dev/stdin < a.txt",
        "encode --model model.json < <(sleep 0.2; cat a.txt)",
        "encode --model model.json --input /dev/stdin < <(printf some; sleep 0.2; printf ' text <|endoftext|>')",
    ):
        done = shell(f"{PAIRLOOM} {command}", folder)
        assert (done.returncode, done.stdout and json.loads(done.stdout)) == (0, ids), done.stderr
    for source in ("- < <(sleep 0.2; cat a.jsonl)", "- < a.jsonl", "<(cat a.jsonl)"):
        done = shell(f"{PAIRLOOM} count --output {tmp_path}/c --force --input-format jsonl --input {source}", folder)
        assert done.returncode == 0 and json.loads(done.stdout)["documents"] == len(DOCUMENTS), done.stderr


def test_lines_of_progress_quiet_and_json(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=10)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    arguments = ("tokenize --model", folder / "model.json", "--input", folder / "a.txt", "--output", tmp_path / "a")
    done = run(*arguments)
    report = json.loads(done.out)
    counted = f", {report['documents']:,} documents, {report['tokens']:,} tokens, "
    for part in ("--specials recognise", "pairloom: encode ", counted, "tokens/s"):
        assert part in done.err
    done = run(*arguments, "--force", "--quiet")
    assert done.err.startswith("pairloom: warning: ") and done.err.count("\n") == 1
    assert run(*arguments, "--resume", "--quiet").err == ""
    done = run(*arguments, "--force", "--log-json")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert {event["event"] for event in events} == {"note", "progress", "warning"}
    last = [event for event in events if event["event"] == "progress"][-1]
    assert (last["stage"], last["done"], last["total"]) == ("encode", *[(folder / "a.txt").stat().st_size] * 2)
    done = run(*arguments, "--log-json")
    assert done.status == 1 and json.loads(done.err)["event"] == "error"
    assert run(*arguments, "--quiet", "--log-json").status == 2
    for command in COMMANDS:
        shown = output(command, "--help")
        assert "--quiet" in shown and "--log-json" in shown


def test_progress_keeps_to_max_bytes(folder: Path, tmp_path: Path) -> None:
    text = "some words " * 100_000
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    for name, max_bytes, total in (
        ("a.txt", 300_000, 300_000),
        ("a.txt", 10**9, len(text)),
        ("a.txt.gz", 300_000, 300_000),
        ("a.txt.gz", 10**9, 10**9),
    ):
        events: list[progress.ProgressEvent] = []
        options: dict[str, Any] = {"max_bytes": max_bytes, "overwrite": True, "progress": events.append}
        tokenize_files(folder / "model.json", tmp_path / name, tmp_path / "out", **options)
        assert events[0] == ("encode", 0, total)
        assert events[-1].done == events[-1].total == min(max_bytes, len(text))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_taken_in_parts_is_written_whole(folder: Path, unbuffered: str) -> None:
    (folder / "long.txt").write_text("some text " * 50_000)
    command = [*PAIRLOOM.split(), "encode", "--model", "model.json", "--input", "long.txt"]
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, cwd=folder, stdout=ends[1], env=environment) as process:
        os.close(ends[1])
        with open(ends[0], "rb") as pipe:
            ids = json.loads(pipe.read())
    assert process.returncode == 0
    assert ids == Tokenizer.load(folder / "model.json").encode("some text " * 50_000)


def test_input_that_comes_in_parts_is_read_whole(folder: Path) -> None:
    command = [*PAIRLOOM.split(), "decode", "--model", "model.json"]
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    with subprocess.Popen(command, cwd=folder, stdin=ends[0], stdout=subprocess.PIPE) as process:
        os.close(ends[0])
        for part in (b"104 ", b"101 ", b"121"):
            time.sleep(0.2)
            os.write(ends[1], part)
        os.close(ends[1])
        assert process.stdout is not None and process.stdout.read() == b"hey"
    assert process.returncode == 0
