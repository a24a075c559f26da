"""Runs the command line in this process; the cases of testdata/commands.json."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pairloom.cli import main
from tests.cases import TESTDATA

CASES: dict[str, list[Any]] = json.loads((TESTDATA / "commands.json").read_text(encoding="utf-8"))


class Done(NamedTuple):
    status: int
    out: str
    err: str


def run(*arguments: str | Path | int, stdin: bytes | None = None) -> Done:
    """Runs a command; the first argument can contain several words. Uses a separate process only to read `stdin`."""
    words = [*str(arguments[0]).split(), *map(str, arguments[1:])] if arguments else []
    if stdin is not None:
        command = [sys.executable, "-m", "pairloom", *words]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=120)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
    # Some commands write bytes.
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline=""), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as exit:
            status = int(exit.code or 0)
    out.seek(0)
    return Done(status, out.read(), err.getvalue())


def output(*arguments: str | Path | int, stdin: bytes | None = None) -> str:
    """Returns what a successful command writes to stdout."""
    done = run(*arguments, stdin=stdin)
    assert done.status == 0, done.err
    return done.out


def failed(done: Done, *mentions: str) -> None:
    """Asserts that a failure reports what and where on stderr, and writes nothing to stdout."""
    assert (done.status, done.out) == (1, ""), done
    assert "Traceback" not in done.err
    for mention in mentions:
        assert mention in done.err
