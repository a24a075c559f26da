"""Background I/O: `ReadAhead` runs an iterator in a thread, `WriteBehind` a function.

So reading, work and writing overlap. Items keep their order, and an exception is raised where its item would have been
returned. The thread of a writer ends with the `with` block; only Ctrl-C stops waiting for it after a moment. That of a
reader, which may wait for a silent pipe, is left to itself then.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

Item = TypeVar("Item")

# How often the caller, waiting for an item, looks for Ctrl-C: on Windows nothing else lets it through.
_POLL_SECONDS: Final = 0.1
# How long the end of a reader, and an interruption, waits for a thread to end.
_MOST_SECONDS: Final = 0.25


class _End:
    """Stands after the last item."""


class ReadAhead(Generic[Item]):
    """`with ReadAhead(iterator) as items:` returns an iterator that is at most two items ahead.

    At the end of the block the iterator's method close() is called, if it has one and the thread is done with it.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._ready: queue.Queue[Item | _End | BaseException] = queue.Queue(1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Iterator[Item]:
        self._thread.start()
        return self._taken()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # The thread puts at most one more item, for which there is room now.
        _clear(self._ready)
        if self._thread.is_alive():
            self._thread.join(_MOST_SECONDS)
        close: Any = getattr(self._items, "close", None)
        if close is not None and not self._thread.is_alive():
            close()

    def _work(self) -> None:
        try:
            for item in self._items:
                self._ready.put(item)
                if self._stop.is_set():
                    return
            self._ready.put(_End())
        except BaseException as error:
            self._ready.put(error)

    def _taken(self) -> Iterator[Item]:
        while True:
            try:
                item = self._ready.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(item, _End):
                return
            if isinstance(item, BaseException):
                raise item
            yield item


class WriteBehind(Generic[Item]):
    """`with WriteBehind(write) as put:` has `write` called with each item put, at most `depth` items later.

    The block ends when all of them are written. When it ends by an exception, those not begun are dropped, unless
    `always` is set; an interruption always drops them, and waits only a moment for the item being written. An
    exception of `write` is raised by the next `put`, or at the end of the block.
    """

    def __init__(self, write: Callable[[Item], None], depth: int = 2, *, always: bool = False) -> None:
        self._write = write
        self._always = always
        self._waiting: queue.Queue[Item | _End] = queue.Queue(depth)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Callable[[Item], None]:
        self._thread.start()
        return self._put

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not (self._always and issubclass(kind, Exception)):
            _clear(self._waiting)
        self._waiting.put(_End())
        is_interruption = kind is not None and not issubclass(kind, Exception)
        self._thread.join(_MOST_SECONDS if is_interruption else None)
        if kind is None:
            self._raise()

    def _put(self, item: Item) -> None:
        self._raise()
        self._waiting.put(item)

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while not isinstance(item := self._waiting.get(), _End):
            # Items are taken even when they are not written any more, so that nobody waits for ever to put one.
            if self._failure is None:
                try:
                    self._write(item)
                except BaseException as error:
                    self._failure = error
            # The memory of an item is wanted for the next.
            del item


def _clear(items: queue.Queue[Any]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            items.get_nowait()
