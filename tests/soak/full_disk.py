"""A full disk: every command that writes files, on a disk of any size, and then again with room.

The disk is a small tmpfs where one can be mounted; elsewhere the size of each file is limited (RLIMIT_FSIZE).
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pairloom import PretokenCounts, Tokenizer
from tests.corpus.files import json_lines
from tests.soak.harness import Table

SUMMARY = (
    "every command that writes, on a disk with too little room; a failure is another end than status 1 with the reason,"
    " a half-written file that is left, an older file that is lost, or another result once there is room"
)
QUICK = 5
FULL = 120

_DISK_BYTES = 8 << 20


def run(count: int, seed: int) -> Table:
    """Runs `count` commands with less room than they need, and again with enough."""
    table = Table(("command", "limited by", "run", "told", "room was enough", "failed"))
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name, _disk(Path(name) / "disk") as (disk, limited_by):
        folder = Path(name)
        commands = _commands(folder)
        outcomes = {command: Counter[str]() for command in commands}
        expected = {command: _expected(folder, command, commands[command]) for command in list(commands)[:count]}
        for number in range(count):
            command = list(commands)[number % len(commands)]
            rng = random.Random(f"{seed} {number}")
            what = _run(disk, limited_by, command, commands[command], expected[command], rng)
            outcomes[command][what.partition(":")[0]] += 1
            if what.startswith("failed"):
                table.failures.append(f"{command}, case {number} of seed {seed}: {what}")
        for command, found in outcomes.items():
            if found:
                table.add(command, limited_by, found.total(), found["told"], found["enough"], found["failed"])
    return table


@contextmanager
def _disk(disk: Path) -> Iterator[tuple[Path, str]]:
    """(an empty folder, what limits it)."""
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        yield disk, "RLIMIT_FSIZE"
        return
    try:
        yield disk, "tmpfs"
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _commands(folder: Path) -> dict[str, list[str]]:
    """What is run; {out} stands for what is written."""
    model, text, lines = folder / "model.json", folder / "text.txt", folder / "lines.jsonl"
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(2, 12))) for _ in range(20_000)]
    text.write_text(" ".join(words))
    lines.write_text(json_lines([" ".join(rng.choices(words, k=200)) for _ in range(1000)]))
    Tokenizer.train(text.read_text(), 2000).save(model)
    for name in ("a", "b"):
        PretokenCounts.from_texts(rng.sample(words, 9000)).save(folder / f"{name}.counts")
    given = ["--model", str(model)]
    tokenize = ["tokenize", *given, "--input", str(lines), "--output", "{out}", "--shard-tokens", "50000"]
    return {
        "train": ["train", "--vocab-size", "2000", "--input", str(text), "--output", "{out}", "--force"],
        "count": ["count", "--input", str(text), "--output", "{out}", "--force"],
        "merge-counts": ["merge-counts", *map(str, sorted(folder.glob("?.counts"))), "--output", "{out}", "--force"],
        "convert": ["convert", *given, "--format", "huggingface", "--output", "{out}", "--force"],
        **{f"tokenize, {format}": [*tokenize, "--format", format] for format in ("npy", "bin", "parquet", "megatron")},
    }


def _expected(folder: Path, command: str, arguments: list[str]) -> dict[str, bytes]:
    out = folder / f"expected {command}"
    done = _done(arguments, out)
    if done.returncode:
        raise AssertionError(done.stderr)
    return _contents(out)


def _run(
    disk: Path, limited_by: str, command: str, arguments: list[str], expected: dict[str, bytes], rng: random.Random
) -> str:
    """What became of a case: "told", "enough", or "failed: ..."."""
    out = disk / "out"
    older = {} if command.startswith("tokenize") or rng.random() < 0.5 else {out.name: b"older"}
    for name, data in older.items():
        (disk / name).write_bytes(data)
    needed = sum(map(len, expected.values()))
    room = int(rng.uniform(0, 1.1) * (needed if limited_by == "tmpfs" else max(map(len, expected.values()))))
    filler = disk / "filler"
    if limited_by == "tmpfs":
        filler.write_bytes(bytes(max(shutil.disk_usage(disk).free - room, 0)))
    try:
        done = _done(arguments, out, room if limited_by == "RLIMIT_FSIZE" else None)
        problem = _problem(done, disk, older)
        filler.unlink(missing_ok=True)
        if problem:
            return f"failed: {problem}"
        again = [*arguments, "--resume"] if command.startswith("tokenize") else arguments
        repeated = _done(again, out) if done.returncode else done
        if repeated.returncode:
            return f"failed: with room, exit status {repeated.returncode}: {repeated.stderr[-300:]}"
        if _contents(out) != expected:
            return "failed: another result than on a disk with room"
        return "told" if done.returncode else "enough"
    finally:
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _problem(done: subprocess.CompletedProcess[str], disk: Path, older: dict[str, bytes]) -> str | None:
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        return f"exit status {done.returncode}: {done.stderr[-300:]}"
    if done.returncode == 0:
        return None
    if "space" not in done.stderr and "File too large" not in done.stderr:
        return f"not the reason: {done.stderr[-300:]}"
    if str(disk) not in done.stderr:
        return f"no path: {done.stderr[-300:]}"
    left = [path.name for path in disk.rglob("*") if path.name.startswith(".") or "partial" in path.name]
    if left:
        return f"left {left}"
    if any((disk / name).read_bytes() != data for name, data in older.items()):
        return "the older file is lost"
    return None


def _done(arguments: list[str], out: Path, most_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pairloom", *(argument.format(out=out) for argument in arguments)]

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)


def _contents(out: Path) -> dict[str, bytes]:
    paths = sorted(out.iterdir()) if out.is_dir() else [out]
    return {path.name if out.is_dir() else "": path.read_bytes() for path in paths}
