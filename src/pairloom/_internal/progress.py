"""Progress reports of long calls: a tqdm bar on a terminal, lines elsewhere, a callable, or nothing.

The core and the loops over corpora report (stage, done, total) about ten times a second. Each stage starts at done=0
and ends at done=total, or earlier if it stops early.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple


class ProgressEvent(NamedTuple):
    """How far one stage has come: "count" and "encode" in bytes, "merge" in merges."""

    stage: str
    done: int
    total: int


Progress = None | bool | Callable[[ProgressEvent], Any]

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
        shown: _Bars | _Lines = _Bars() if _is_terminal() else _Lines()
        try:
            yield shown.report
        finally:
            shown.close()
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


def _note(counts: dict[str, int]) -> str:
    """What else was counted: `tokens_per_second=5` is "5 tokens/s"."""
    return ", ".join(f"{n:,} {what.replace('_per_second', '/s')}" for what, n in counts.items())


class _Lines:
    """Whole lines on stderr, less and less often, and at the end of what took some time: for log files."""

    def __init__(self) -> None:
        self._stage = ""

    def report(self, stage: str, done: int, total: int, **counts: int) -> None:
        """Writes a line if it is time for one."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._first, self._started = stage, done, now
            self._interval, self._next, self._is_shown = 1.0, now + 1, False
        is_last = 0 < total <= done
        if now < self._next and not (is_last and self._is_shown):
            return
        self._is_shown = not is_last
        self._interval = min(self._interval * 2, _SECONDS_BETWEEN_LINES)
        self._next = now + self._interval
        # A log that cannot be written is no reason to stop.
        with suppress(OSError, ValueError):
            sys.stderr.write(
                f"pairloom: {_line(stage, self._first, done, total, now - self._started, _note(counts))}\n"
            )
            sys.stderr.flush()

    def close(self) -> None:
        """Every line is whole already."""


def _line(stage: str, first: int, done: int, total: int, elapsed: float, note: str) -> str:
    """One line about a stage that began at `first`, as tqdm words it, without a bar.

    >>> _line("encode", 0, 1_500_000, 3_000_000, 1.5, "7 tokens")
    'encode 1.50MB of 3.00MB (50 %), 1.00MB/s, 00:01, 00:01 left, 7 tokens'
    """
    from tqdm import tqdm

    words = "{desc} {n_fmt}{unit}" + (" of {total_fmt}{unit} ({percentage:.0f} %)" if total else "")
    return tqdm.format_meter(
        done,
        total,
        elapsed,
        prefix=stage,
        unit=_UNITS.get(stage, ""),
        unit_scale=True,
        rate=(done - first) / elapsed if elapsed > 0 else None,
        bar_format=words + ", {rate_fmt}, {elapsed}" + (", {remaining} left" if done < total else "") + "{postfix}",
        postfix=note,
    )


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
