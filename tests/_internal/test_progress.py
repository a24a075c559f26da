"""Progress off a terminal: whole lines with a rate and the time left."""

import io
import sys
from typing import Any

import pytest

from pairloom._internal import progress
from pairloom._internal.progress import _line, reporter


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_line_holds_done_total_rate_and_time_left() -> None:
    wanted = "encode 21.0MB of 100MB (21 %), 10.0MB/s, 00:02, 00:07 left, 12 tokens"
    assert _line("encode", 1_000_000, 21_000_000, 100_000_000, 2, "12 tokens") == wanted
    assert _line("encode", 1_000_000, 21_000_000, 0, 2, "") == "encode 21.0MB, 10.0MB/s, 00:02"
    done = _line("encode", 1_000_000, 100_000_000, 100_000_000, 2, "")
    assert done == "encode 100MB of 100MB (100 %), 49.5MB/s, 00:02"


def test_lines_are_whole_and_come_now_and_then(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with reporter(True) as report:
        assert report is not None
        for tenth in range(1001):
            report("encode", tenth, 1000)
            clock.now += 0.1
    lines = stderr.getvalue().split("\n")
    assert lines.pop() == "" and "\r" not in stderr.getvalue()
    assert all(line.startswith("pairloom: encode ") and "/s" in line for line in lines)
    assert 8 <= len(lines) <= 20 and "left" in lines[0] and "left" not in lines[-1]


def test_short_work_and_closed_streams_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with reporter(True) as report:
        assert report is not None
        for done in range(11):
            report("encode", done, 10)
    assert stderr.getvalue() == ""
    stderr.close()
    with reporter(True) as report:
        assert report is not None
        report("encode", 1, 2)
    missing: Any = None
    monkeypatch.setattr(sys, "stderr", missing)
    with reporter(True) as report:
        assert report is None
