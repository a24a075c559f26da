"""Reading ahead: what an iterator gives, made by a thread of its own while the consumer is at work.

Enters: an iterator. Leaves: the same items in the same order, and its exception where it raised it. The thread lives
no longer than the `with` block. Where no thread can be started, the items are made when they are asked for.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["ReadAhead"]

Item = TypeVar("Item")

# How often a thread that waits looks whether it should stop.
_PATIENCE_SECONDS = 0.1


class _End:
    """Stands after the last item."""


class ReadAhead(Generic[Item]):
    """`with ReadAhead(iterator) as items:` gives an iterator that is at most `depth` items ahead."""

    def __init__(self, items: Iterator[Item], depth: int = 2) -> None:
        self._items = items
        self._ready: queue.Queue[Item | _End | BaseException] = queue.Queue(depth)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pairloom-read", daemon=True)

    def __enter__(self) -> Iterator[Item]:
        try:
            self._thread.start()
        except RuntimeError:
            return self._items
        return self._taken()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def _work(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(_End())
        except BaseException as error:
            self._put(error)

    def _put(self, item: Item | _End | BaseException) -> bool:
        """Hands an item over; False when nobody wants it any more."""
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._ready.put(item, timeout=_PATIENCE_SECONDS)
                return True
        return False

    def _taken(self) -> Iterator[Item]:
        while True:
            item = self._ready.get()
            if isinstance(item, _End):
                return
            if isinstance(item, BaseException):
                raise item
            yield item
