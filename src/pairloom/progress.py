"""Progress of long work: a bar on stderr, a callable, or nothing.

Enters: (stage, done, total) from the core, about ten times a second. Leaves: `ProgressEvent`s for the caller's
callable, or a bar. Each stage starts at done=0 and ends at done=total, or where it stopped early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

__all__ = ["Progress", "ProgressEvent", "reporter"]


class ProgressEvent(NamedTuple):
    """How far one stage has come: "count" and "encode" in bytes, "merge" in merges."""

    stage: str
    done: int
    total: int


Progress = None | bool | Callable[[ProgressEvent], Any]
# report(stage, done, total), and a note that only bars show.
Report = Callable[..., None]

_UNITS = {"count": "B", "encode": "B", "merge": " merges"}


@contextmanager
def reporter(progress: Progress) -> Iterator[Report | None]:
    """Yields what the core calls to report, or None when nobody listens."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _Bars() as bars:
            yield bars.report
    elif callable(progress):
        listener = progress
        yield lambda stage, done, total, _note="": _discard(listener(ProgressEvent(stage, done, total)))
    else:
        raise TypeError(f"progress must be None, a bool or a callable, not {type(progress).__name__}")


def _discard(_: Any) -> None:
    """What a listener returns means nothing."""


class _Bars:
    """One bar a stage, drawn by tqdm on stderr; plain lines now and then where stderr is no terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def report(self, stage: str, done: int, total: int, note: str = "") -> None:
        import sys

        from tqdm import tqdm

        if stage != self._stage:
            if self._bar is not None:
                self._bar.close()
            quiet = not sys.stderr.isatty()
            self._bar = tqdm(
                total=total or None,
                desc=stage,
                unit=_UNITS.get(stage, ""),
                unit_scale=True,
                file=sys.stderr,
                mininterval=10 if quiet else 0.1,
                delay=0.5,
                ascii=quiet or None,
                dynamic_ncols=True,
            )
            self._stage = stage
        if total and self._bar.total != total:
            self._bar.total = total
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self._bar.n)
