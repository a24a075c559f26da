"""Reading, working and writing at the same time.

Enters: an iterator, or a function that takes items. Leaves: the same items in the same order, made by a thread of its
own ahead of the consumer (`ReadAhead`), or taken by one behind the producer (`WriteBehind`); exceptions come out where
the items would have. A thread lives no longer than the `with` block. Where none can be started, the work is done by
the caller.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["ReadAhead", "WriteBehind"]

Item = TypeVar("Item")

# How often a thread that waits looks whether it should stop.
_PATIENCE_SECONDS = 0.1


class _End:
    """Stands after the last item."""


class ReadAhead(Generic[Item]):
    """`with ReadAhead(iterator) as items:` gives an iterator that is at most `depth` items ahead."""

    def __init__(self, items: Iterator[Item], depth: int = 1) -> None:
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


class WriteBehind(Generic[Item]):
    """`with WriteBehind(write) as put:` has `write` called with each item put, at most `depth` items later.

    The block ends when all of them are written; when it ends by an exception, those not begun are dropped, unless
    `always` says that they are written all the same, which an interruption overrules. An exception of `write` comes out
    of the next `put`, or of the end of the block.
    """

    def __init__(self, write: Callable[[Item], None], depth: int = 2, *, always: bool = False) -> None:
        self._write = write
        self._always = always
        self._waiting: queue.Queue[Item | _End] = queue.Queue(depth)
        self._failure: BaseException | None = None
        self._drop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pairloom-write", daemon=True)

    def __enter__(self) -> Callable[[Item], None]:
        try:
            self._thread.start()
        except RuntimeError:
            return self._write
        return self._put

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._thread.ident is None:
            return
        if kind is not None and not (self._always and issubclass(kind, Exception)):
            self._drop.set()
        self._waiting.put(_End())
        self._thread.join()
        if kind is None:
            self._raise()

    @property
    def is_at_work(self) -> bool:
        """Whether something may still be written: an interruption can end the block before all is."""
        return self._thread.is_alive()

    def _put(self, item: Item) -> None:
        self._raise()
        self._waiting.put(item)

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        # Items are taken even when they are not written any more, so that nobody waits for ever to put one.
        while not isinstance(item := self._waiting.get(), _End):
            if self._failure is None and not self._drop.is_set():
                try:
                    self._write(item)
                except BaseException as error:
                    self._failure = error
