"""Progress reports of long calls: a tqdm bar on a terminal, lines elsewhere, a callable, or nothing.

The core and the loops over corpora report (stage, done, total) about ten times a second. Each stage starts at done=0
and ends at done=total, or earlier if it stops early.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final, NamedTuple


class ProgressEvent(NamedTuple):
    """The progress of one stage: "count" and "encode" in bytes, "merge" in merges."""

    stage: str
    done: int
    total: int


Progress = None | bool | Callable[[ProgressEvent], Any]

# report(stage, done, total, **counts): `counts` are further figures that only bars and lines show.
Report = Callable[..., None]

_UNITS: Final = {"count": "B", "encode": "B", "merge": " merges"}
_SECONDS_BETWEEN_LINES: Final = 10.0


@contextmanager
def reporter(progress: Progress) -> Iterator[Report | None]:
    """Yields the function that the core calls to report, or None if nobody listens."""
    if progress is None or progress is False or (progress is True and sys.stderr is None):
        yield None
    elif progress is True:
        with _bars() if _is_terminal() else nullcontext(_Lines().report) as report:
            yield report
    elif callable(progress):
        listener = progress
        yield lambda stage, done, total, **_: listener(ProgressEvent(stage, done, total))
    else:
        raise TypeError(f"progress must be None, a bool or a callable, not {type(progress).__name__}")


def _is_terminal() -> bool:
    """Whether stderr is a terminal; False if it is closed."""
    with suppress(ValueError, OSError):
        return sys.stderr.isatty()
    return False


def _note(counts: dict[str, int]) -> str:
    """Formats further counts: `tokens_per_second=5` becomes "5 tokens/s"."""
    return ", ".join(f"{n:,} {what.replace('_per_second', '/s')}" for what, n in counts.items())


class _Lines:
    """Writes whole lines to stderr, for log files: less and less often, and at the end of a stage that took a while."""

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
        # Do not stop because a log cannot be written.
        with suppress(OSError, ValueError):
            sys.stderr.write(
                f"pairloom: {_line(stage, self._first, done, total, now - self._started, _note(counts))}\n"
            )
            sys.stderr.flush()


def _line(stage: str, first: int, done: int, total: int, elapsed: float, note: str) -> str:
    """Returns one line about a stage that began at `first`, in tqdm's words but without a bar.

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


@contextmanager
def _bars() -> Iterator[Report]:
    """Yields a function that draws a tqdm bar for each stage, on a terminal; the last bar stays as it is."""
    from tqdm import tqdm

    # Not bar.desc: a bar that TQDM_DISABLE turns off has none.
    shown, bar = "", None

    def report(stage: str, done: int, total: int, **counts: int) -> None:
        nonlocal shown, bar
        if bar is None or stage != shown:
            if bar is not None:
                bar.close()
            shown = stage
            bar = tqdm(
                total=total or None,
                desc=stage,
                unit=_UNITS.get(stage, ""),
                unit_scale=True,
                file=sys.stderr,
                mininterval=0.1,
                delay=0.5,
                dynamic_ncols=True,
            )
        if total and bar.total != total:
            bar.total = total
        if counts:
            bar.set_postfix_str(_note(counts), refresh=False)
        bar.update(done - bar.n)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
