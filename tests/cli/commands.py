"""Runs the command line in this process."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

from pairloom.cli import main


class Done(NamedTuple):
    status: int
    out: str
    err: str


def run(*arguments: str | Path | int) -> Done:
    # Some commands write bytes.
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline=""), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exit:
            status = int(exit.code or 0)
    out.seek(0)
    return Done(status, out.read(), err.getvalue())
