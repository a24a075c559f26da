"""Closed pipes: every command whose output nobody reads, or whose standard streams are closed from the beginning."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from pairloom import PretokenCounts, Tokenizer
from tests.corpus.files import DOCUMENTS, json_lines
from tests.soak.harness import Table

SUMMARY = (
    "every command with pipes that close: the reader of stdout or stderr goes, or a standard stream is closed from the"
    " beginning; a failure is a traceback, a hang, a death by a signal, or a part of a shard that is left"
)
QUICK = 13
FULL = 400

_SECONDS = 60.0
_WAYS = ("stdout's reader goes", "stderr's reader goes", "stdin is closed", "stdout is closed", "stderr is closed")


class _Command(NamedTuple):
    name: str
    arguments: list[str]
    stdin: bytes


def run(count: int, seed: int) -> Table:
    """Runs `count` commands."""
    table = Table(("command", "run", "exit 0", "exit 1 or 2, told", "failed"))
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        folder = Path(name)
        commands = _commands(folder)
        outcomes: dict[str, Counter[str]] = {command.name: Counter() for command in commands}
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            command = commands[number % len(commands)]
            way = _WAYS[number // len(commands) % len(_WAYS)] if count > len(commands) else rng.choice(_WAYS)
            problem, status = _run(command, way, rng, folder)
            kind = "failed" if problem else "exit 0" if status == 0 else "told"
            outcomes[command.name][kind] += 1
            if problem:
                table.failures.append(f"{command.name}, {way}, case {number} of seed {seed}: {problem}")
        for name, found in outcomes.items():
            if found:
                table.add(name, found.total(), found["exit 0"], found["told"], found["failed"])
    return table


def _commands(folder: Path) -> list[_Command]:
    model, text, lines = folder / "model.json", folder / "text.txt", folder / "lines.jsonl"
    Tokenizer.train(DOCUMENTS, 400).save(model)
    text.write_text(" ".join(DOCUMENTS) * 40)
    lines.write_text(json_lines(DOCUMENTS * 10))
    for name in ("a", "b"):
        PretokenCounts.from_texts(DOCUMENTS).save(folder / f"{name}.counts")
    ids = " ".join(map(str, Tokenizer.load(model).encode(text.read_text())))
    given, out = ["--model", str(model)], folder / "out"
    return [
        _Command("train", ["--vocab-size", "400", "--input", str(text), "--output", f"{out}.json", "--force"], b""),
        _Command("encode", [*given, "--input", str(text)], b""),
        _Command("encode, stdin", given, text.read_bytes()),
        _Command("decode", [*given, "--ids", *ids.split()[:500]], b""),
        _Command("decode, stdin", given, ids.encode()),
        _Command("count", ["--input", str(lines), "--output", f"{out}.counts", "--force"], b""),
        _Command("merge-counts", [*map(str, folder.glob("?.counts")), "--output", f"{out}.merged", "--force"], b""),
        _Command("tokenize", [*given, "--input", str(lines), "--output", str(out), "--force"], b""),
        _Command(
            "tokenize, stdin", [*given, "--input", "-", "--lines", "--output", str(out), "--force"], b"a b\n" * 999
        ),
        _Command("stats", [*given, "--input", str(lines)], b""),
        _Command("convert", [*given, "--output", f"{out}.hf", "--format", "huggingface", "--force"], b""),
        _Command("compare", [*given, *given, "--input", str(text)], b""),
        _Command("inspect", given, b""),
    ]


def _run(command: _Command, way: str, rng: random.Random, folder: Path) -> tuple[str | None, int]:
    """(what was wrong, the exit status)."""
    name = command.name.partition(",")[0]
    arguments = [sys.executable, "-m", "pairloom", name, *command.arguments]
    closed = {"stdin is closed": 0, "stdout is closed": 1, "stderr is closed": 2}.get(way)
    process: Any = subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=None if closed is None else lambda: os.close(closed),
    )
    early = {"stdout's reader goes": process.stdout, "stderr's reader goes": process.stderr}.get(way)
    if early is not None:
        n_read = rng.choice((0, 0, 1, 100))
        if n_read and early is process.stdout and not command.stdin:
            # As `head` does it: something is read before the reader goes.
            os.read(early.fileno(), n_read)
        early.close()
    try:
        out, err = _communicate(process, command.stdin)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"still there after {_SECONDS:.0f} s", -1
    status: int = process.returncode
    partial = [path.name for path in folder.glob("out/.shard*")]
    if b"Traceback" in err or b"Traceback" in out:
        return (err + out).decode(errors="replace")[-400:], status
    if b"Exception ignored" in err:
        return err.decode(errors="replace")[-400:], status
    if status not in (0, 1, 2):
        return f"exit status {status}: {err.decode(errors='replace')[-300:]}", status
    is_silent = way in ("stderr's reader goes", "stderr is closed")
    if status and not is_silent and not err.strip():
        return f"exit status {status} without a word", status
    return (f"left {partial}" if partial else None), status


def _communicate(process: Any, data: bytes) -> tuple[bytes, bytes]:
    """Writes to stdin and reads what is still open to the end."""
    for name in ("stdout", "stderr"):
        if getattr(process, name).closed:
            setattr(process, name, None)
    found_out, found_err = process.communicate(data, timeout=_SECONDS)
    return found_out or b"", found_err or b""
