"""Signals that arrive before a command has started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pairloom

# Runs before anything else in the interpreter: sends the signal at the first import.
_INTERRUPTED = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), {number})
        return None

sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("name", ["pairloom.cli", "pairloom.cli.signals", "pairloom.cli.commands"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_import_ends_without_a_traceback(tmp_path: Path, name: str, number: signal.Signals) -> None:
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPTED.format(name=name, number=int(number)))
    path = os.pathsep.join((str(tmp_path), str(Path(pairloom.__file__).parent.parent)))
    done = subprocess.run(
        [sys.executable, "-m", "pairloom", "--help"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (-number, 128 + number), done.stderr.decode()
    assert b"Traceback" not in done.stderr
