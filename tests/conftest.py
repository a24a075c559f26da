"""Shared by all tests: the slow suite, the location of the public fixtures, and an object store in memory."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from pairloom import Tokenizer
from tests import skips
from tests.cases import CS336

_TESTS = Path(__file__).parent
# Folders that `make ci` runs and `make test` does not.
_LONG = {"browser", "docs", "engines", "parity", "soak", "wasm"}
_skips: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")
    parser.addoption("--quick", action="store_true", help="leave out tests marked long, and folders of long tests")
    parser.addoption("--strict-skips", action="store_true", help="fail where a skip is not justified in tests/skips.py")


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skips[reason.removeprefix("Skipped: ")] += 1


pytest_runtest_logreport = pytest_collectreport = _note_skip


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--strict-skips") and skips.unjustified(_skips) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skips:
        terminalreporter.section(f"{sum(_skips.values())} skipped")
        for line in skips.table(_skips):
            terminalreporter.write_line(line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        long = {item: item.path.relative_to(_TESTS).parts[0] in _LONG or "long" in item.keywords for item in items}
        config.hook.pytest_deselected(items=[item for item in items if long[item]])
        items[:] = [item for item in items if not long[item]]
    if config.getoption("--run-slow"):
        return
    slow = pytest.mark.skip(reason="takes minutes; `make test-slow` runs it")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(slow)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the smallest tokenizer that merges: "ab" is 256, " ab" 257 and <|endoftext|> 258."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    Tokenizer.train("ab ab ab", 258).save(path)
    return path


@pytest.fixture(scope="session")
def cs336() -> Path:
    """The public files of the CS336 assignment."""
    if not CS336.exists():
        pytest.skip(f"the CS336 fixtures are not at {CS336}")
    return CS336


@pytest.fixture
def memory() -> Iterator[Any]:
    """The file system of memory:// URLs; it is emptied after the test."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]
