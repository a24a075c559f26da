"""Progress reports of long calls: a tqdm bar on a terminal, lines elsewhere, a callable, or nothing.

The core and the loops over corpora report (stage, done, total) about ten times a second. Each stage starts at done=0
and ends at done=total, or earlier if it stops early.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

__all__ = ["Lines", "Pace", "Progress", "ProgressEvent", "progress_line", "reporter"]


class ProgressEvent(NamedTuple):
    """How far one stage has come: "count" and "encode" in bytes, "merge" in merges."""

    stage: str
    done: int
    total: int


# report(stage, done, total), and by name what else was counted, which only bars and lines show.
Report = Callable[..., None]

_UNITS: Final = {"count": "B", "encode": "B", "merge": " merges"}
_SECONDS_BETWEEN_LINES: Final = 10.0


@contextmanager
def reporter(progress: Progress) -> Iterator[Report | None]:
    """Yields what the core calls to report, or None when nobody listens."""
    if progress is None or progress is False or (progress is True and sys.stderr is None):
        yield None
    elif progress is True:
        shown: _Bars | Lines = _Bars() if _is_terminal() else Lines()
        try:
            yield shown.report
        finally:
            shown.close()
    elif isinstance(progress, Lines):
        yield progress.report
    elif callable(progress):
        listener = progress
        yield lambda stage, done, total, **_: _discard(listener(ProgressEvent(stage, done, total)))
    else:
        raise TypeError(f"progress must be None, a bool or a callable, not {type(progress).__name__}")


def _is_terminal() -> bool:
    """Whether stderr shows a terminal; one that is closed does not."""
    with suppress(ValueError, OSError):
        return sys.stderr.isatty()
    return False


def _discard(_: Any) -> None:
    """What a listener returns means nothing."""


class Pace:
    """When to tell of a stage, how fast it goes and how long it will take; lines come less and less often."""

    def __init__(self, event: ProgressEvent) -> None:
        self._event = event
        self._started = time.monotonic()
        self._interval = 1.0
        self._next = self._started + self._interval
        self._is_shown = False

    def is_due(self, event: ProgressEvent) -> bool:
        """Whether to tell of `event`: from time to time, and at the end of what took some time."""
        now = time.monotonic()
        is_last = event.total > 0 and event.done >= event.total
        if now < self._next and not (is_last and self._is_shown):
            return False
        self._is_shown = not is_last
        self._interval = min(self._interval * 2, _SECONDS_BETWEEN_LINES)
        self._next = now + self._interval
        return True

    @property
    def elapsed(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._started

    def per_second(self, event: ProgressEvent) -> float | None:
        """The rate of what was done since the stage began."""
        elapsed = self.elapsed
        return (event.done - self._event.done) / elapsed if elapsed > 0 else None

    def seconds_left(self, event: ProgressEvent) -> float | None:
        """How long the rest takes at this rate; None where that is unknown."""
        rate = self.per_second(event)
        return (event.total - event.done) / rate if rate and event.total >= event.done else None


def progress_line(event: ProgressEvent, pace: Pace, note: str = "") -> str:
    """One line about a stage, as tqdm words it, without a bar.

    >>> event = ProgressEvent("encode", 1_500_000, 3_000_000)
    >>> progress_line(event, Pace(event)).partition(",")[0]
    'encode 1.50MB of 3.00MB (50 %)'
    """
    from tqdm import tqdm

    words = "{desc} {n_fmt}{unit}" + (" of {total_fmt}{unit} ({percentage:.0f} %)" if event.total else "")
    left = ", {remaining} left" if event.done < event.total else ""
    return tqdm.format_meter(
        event.done,
        event.total,
        pace.elapsed,
        prefix=event.stage,
        unit=_UNITS.get(event.stage, ""),
        unit_scale=True,
        rate=pace.per_second(event),
        bar_format=words + ", {rate_fmt}, {elapsed}" + left + "{postfix}",
        postfix=note,
    )


def _note(counts: dict[str, int]) -> str:
    """What else was counted: `tokens_per_second=5` is "5 tokens/s"."""
    return ", ".join(f"{n:,} {what.replace('_per_second', '/s')}" for what, n in counts.items())


class Lines:
    """Whole lines on stderr, now and then: for log files and schedulers."""

    def __init__(self) -> None:
        self._pace: Pace | None = None
        self._stage = ""

    def report(self, stage: str, done: int, total: int, **counts: int) -> None:
        """Writes a line if it is time for one."""
        event = ProgressEvent(stage, done, total)
        if self._pace is None or stage != self._stage:
            self._pace, self._stage = Pace(event), stage
        if self._pace.is_due(event) and sys.stderr is not None:
            # A log that cannot be written is no reason to stop.
            with suppress(OSError, ValueError):
                sys.stderr.write(f"{self.line(event, self._pace, counts)}\n")
                sys.stderr.flush()

    def line(self, event: ProgressEvent, pace: Pace, counts: dict[str, int]) -> str:
        """The line of an event."""
        return f"pairloom: {progress_line(event, pace, _note(counts))}"

    def close(self) -> None:
        """Every line is whole already."""


Progress = None | bool | Callable[[ProgressEvent], Any] | Lines


class _Bars:
    """One bar a stage, drawn by tqdm on a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()

    def report(self, stage: str, done: int, total: int, **counts: int) -> None:
        from tqdm import tqdm

        if stage != self._stage:
            self.close()
            self._bar = tqdm(
                total=total or None,
                desc=stage,
                unit=_UNITS.get(stage, ""),
                unit_scale=True,
                file=sys.stderr,
                mininterval=0.1,
                delay=0.5,
                dynamic_ncols=True,
            )
            self._stage = stage
        if total and self._bar.total != total:
            self._bar.total = total
        if counts:
            self._bar.set_postfix_str(_note(counts), refresh=False)
        self._bar.update(done - self._bar.n)
