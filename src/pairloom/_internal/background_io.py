"""Background I/O: `ReadAhead` runs an iterator in a thread, `WriteBehind` runs a function in one.

So reading, work and writing overlap. Items keep their order, and an exception is raised where its item would have been
returned. The `with` block of a writer waits for its thread, except after Ctrl-C, when it waits only a moment. The block
of a reader always waits only a moment and then abandons its thread, which can be blocked on a silent pipe.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

Item = TypeVar("Item")

# A caller that waits for an item wakes up this often, since on Windows Ctrl-C cannot interrupt a longer wait.
_POLL_SECONDS: Final = 0.1
# The longest wait for a thread at the end of a reader or after an interruption.
_JOIN_SECONDS: Final = 0.25


class _End:
    """Marks the end of the queue."""


class ReadAhead(Generic[Item]):
    """`with ReadAhead(iterator) as items:` iterates in a thread, which reads at most two items ahead.

    At the end of the block, the iterator's close() is called if it has one and the thread has ended.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._ready: queue.Queue[Item | _End | BaseException] = queue.Queue(1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Iterator[Item]:
        self._thread.start()
        return self._take_items()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # Make room for the one item that the thread can still put.
        _clear(self._ready)
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)
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

    def _take_items(self) -> Iterator[Item]:
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
    """`with WriteBehind(write) as put:` calls `write` in a thread with each item put, at most `depth` items later.

    The block ends when all items are written. If an exception ends it, the items still waiting are dropped unless
    `always` is set. An interruption always drops them, and waits only a moment for the item being written. An
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
        self._thread.join(_JOIN_SECONDS if is_interruption else None)
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
            # After a failure, keep taking items without writing them, so that `put` never blocks forever.
            if self._failure is None:
                try:
                    self._write(item)
                except BaseException as error:
                    self._failure = error
            # Free the item's memory before waiting for the next one.
            del item


def _clear(items: queue.Queue[Any]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            items.get_nowait()
