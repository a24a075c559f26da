"""The package without the POSIX parts of Python, as on Windows: fcntl, poll, SIGHUP, flags of open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Runs before anything else in the interpreter: takes away what Windows does not have.
_WITHOUT_POSIX = """
import os, select, signal, _signal, sys
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
for module, names in (
    (os, ("O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "get_blocking", "fork", "register_at_fork")),
    (select, ("poll", "epoll")),
    (signal, ("SIGHUP", "SIGKILL", "SIGPIPE", "pthread_sigmask")),
    (_signal, ("SIGHUP",)),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(_WITHOUT_POSIX)
    import pairloom

    package = Path(pairloom.__file__).parent.parent
    return os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(package)))}


def _run(environment: dict[str, str], *arguments: str, status: int = 0, text: bytes = b"") -> bytes:
    done = subprocess.run([sys.executable, *arguments], env=environment, input=text, capture_output=True, timeout=120)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout


def test_without_fcntl_the_command_line_works(environment: dict[str, str], tmp_path: Path) -> None:
    model, ids = str(tmp_path / "model.json"), str(tmp_path / "ids")
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(b"hello world hello\n" * 20)
    run = ("-W", "ignore", "-m", "pairloom")
    _run(environment, *run, "train", "--input", str(corpus), "--vocab-size", "262", "--output", model)
    encoded = _run(environment, *run, "encode", "--model", model, text=b"hello world")
    assert _run(environment, *run, "decode", "--model", model, text=encoded).rstrip() == b"hello world"
    _run(environment, *run, "tokenize", "--input", str(corpus), "--model", model, "--output", ids)
    assert sorted(path.name for path in Path(ids).iterdir())


_LOCK = """
import sys
from pathlib import Path
from pairloom import Tokenizer
from pairloom._internal.folder_lock import locked_folder
folder = Path(sys.argv[1])
(folder.parent / "a.txt").write_text("ab ab")
Tokenizer.train_files(folder.parent / "a.txt", 257, checkpoint=folder.parent / "checkpoint")
with locked_folder(folder):
    try:
        with locked_folder(folder):
            raise SystemExit("two held the lock at once")
    except FileExistsError:
        pass
with locked_folder(folder):
    assert not any(folder.iterdir())
"""


def test_without_fcntl_a_folder_is_locked_for_one_run_at_a_time(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "ids"
    folder.mkdir()
    _run(environment, "-c", _LOCK, str(folder))
