"""Workers and drivers of engines are killed amid 50,000 documents and run again: no document is lost or duplicated."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from pairloom import open_shards
from pairloom._internal.folder_lock import locked_folder
from tests.cases import ROOT
from tests.engines import kill_driver
from tests.engines.kill_driver import N_BEFORE_A_KILL, N_DOCUMENTS, N_PARTS, TOKENIZER, n_attempts, texts_of

pytestmark = pytest.mark.slow

_MODULES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    for part in range(N_PARTS):
        parquet.write_table(pyarrow.table({"text": texts_of(part)}), folder / f"{part:02}.parquet")
    return folder


def _started(engine: str, *arguments: Path) -> subprocess.Popen[bytes]:
    if importlib.util.find_spec(_MODULES[engine]) is None:
        pytest.skip(f"{_MODULES[engine]} is not installed")
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("java is not installed")
    command = [sys.executable, "-m", kill_driver.__name__, engine, *map(str, arguments)]
    environment = {**os.environ, "RAY_DEDUP_LOGS": "0", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _finished(process: subprocess.Popen[bytes]) -> None:
    _, messages = process.communicate(timeout=240)
    assert process.returncode == 0, messages.decode()[-3000:]


def _wait_until(is_true: Any, process: subprocess.Popen[bytes]) -> None:
    for _ in range(24_000):
        if is_true():
            return
        if process.poll() is not None:
            raise AssertionError(
                f"the driver ended before it could be killed: {process.communicate()[1].decode()[-2000:]}"
            )
        time.sleep(0.005)
    raise TimeoutError


def _is_unlocked(folder: Path) -> bool:
    try:
        with locked_folder(folder):
            return True
    except FileExistsError:
        return False


def _check(folder: Path) -> None:
    found = Counter(tuple(ids.tolist()) for ids in open_shards(folder))
    expected = Counter(map(tuple, TOKENIZER.encode_batch([text for part in range(N_PARTS) for text in texts_of(part)])))
    assert found.total() == N_DOCUMENTS and found == expected
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("engine", ["dask", "ray", "spark"])
def test_a_killed_worker_neither_loses_nor_doubles_documents(engine: str, parts: Path, tmp_path: Path) -> None:
    _finished(_started(engine, parts, tmp_path / "shards", tmp_path / "killed"))
    assert (tmp_path / "killed").exists()
    _check(tmp_path / "shards")


# Four runs of an engine: Spark's take a minute each while two other processes use the processors.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["dask", "ray", "spark"])
def test_a_killed_driver_run_again_loses_and_doubles_nothing(engine: str, parts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    for n_begun in (1, N_BEFORE_A_KILL, 4 * N_BEFORE_A_KILL):
        process = _started(engine, parts, folder)
        _wait_until(lambda n=n_begun: n_attempts(folder) >= n, process)
        _end(process)
        assert not (folder / "manifest.json").exists()
        # Workers die after their driver.
        for _ in range(2000):
            if _is_unlocked(folder):
                break
            time.sleep(0.01)
    _finished(_started(engine, parts, folder))
    _check(folder)
