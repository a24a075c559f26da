"""Reading ahead and writing behind: the same items in the same order, and what happens to them when something fails."""

import threading
import time
from collections.abc import Iterator

import pytest

from pairloom._internal.background_io import ReadAhead, WriteBehind


class Stopped(Exception):
    """Ends a block in the middle."""


@pytest.mark.parametrize(
    ("always", "ended_by", "written"),
    [
        (False, Stopped, [0]),
        (True, Stopped, [0, 1, 2]),
        (True, KeyboardInterrupt, [0]),
    ],
)
def test_what_waits_when_a_block_is_broken_off(always: bool, ended_by: type[BaseException], written: list[int]) -> None:
    begun, may_end = threading.Event(), threading.Event()
    found: list[int] = []

    def write(item: int) -> None:
        begun.set()
        assert may_end.wait(10)
        found.append(item)

    # The first item is written only long after the block has ended.
    release = threading.Timer(0.1, may_end.set)
    with pytest.raises(ended_by), WriteBehind(write, always=always) as put:
        for item in range(3):
            put(item)
        assert begun.wait(10)
        release.start()
        raise ended_by
    assert found == written


def test_a_block_that_ends_early_stops_the_reader_and_closes_it() -> None:
    class Items(Iterator[int]):
        def __init__(self) -> None:
            self.calls: list[str] = []

        def __next__(self) -> int:
            return 1

        def close(self) -> None:
            self.calls.append("close")

    read, n_threads = Items(), threading.active_count()
    for taken in (0, 1, 5):
        with ReadAhead(read) as items:
            for _ in range(taken):
                next(items)
        assert threading.active_count() == n_threads
    assert read.calls == ["close"] * 3


def test_a_block_that_fails_does_not_wait_for_a_silent_reader() -> None:
    silence = threading.Event()

    def reading() -> Iterator[int]:
        yield 1
        silence.wait(30)

    started = time.monotonic()
    with pytest.raises(Stopped), ReadAhead(reading()) as items:
        assert next(items) == 1
        raise Stopped
    assert time.monotonic() - started < 5
    silence.set()
