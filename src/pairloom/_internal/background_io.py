"""Background I/O: `ReadAhead` runs an iterator in a thread, `WriteBehind` a function.

So reading, work and writing overlap. Items keep their order, and an exception is raised where its item would have been
returned. The thread ends with the `with` block; only Ctrl-C stops waiting for it after a moment. If no thread can be
started, the caller does the work.

Threads are started with `_thread`, not `threading.Thread.start`: that waits forever for a new thread that runs out of
memory before it sets its start event. For the same reason every wait here checks that the other thread is still alive.
"""

from __future__ import annotations

import _thread
import contextlib
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

__all__ = ["ReadAhead", "WriteBehind"]

Item = TypeVar("Item")

# How often a thread that waits looks whether it should stop, or whether the other one still lives.
_POLL_SECONDS: Final = 0.1
# How long an interruption waits for a thread to end.
_MOST_SECONDS_AFTER_INTERRUPTION: Final = 0.25

_DIED = "a thread ended for lack of memory"


class _End:
    """Stands after the last item."""


class _Life:
    """An object that only the frame of a running thread refers to."""

    __slots__ = ("__weakref__",)


class _Thread:
    """A daemon thread that can be asked whether it lives, however it ended."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._life: weakref.ref[_Life] | None = None
        self._ended = _thread.allocate_lock()
        self._has_ended = False

    def start(self) -> bool:
        """Starts it; False where the system has no room for a thread."""
        life = _Life()
        self._life = weakref.ref(life)
        self._ended.acquire()
        try:
            _thread.start_new_thread(self._run, (life,))
        except (RuntimeError, MemoryError):
            self._life = None
            return False
        return True

    def _run(self, life: _Life) -> None:
        # What fails here has nobody to tell: `work` hands on its own exceptions as long as there is memory for that.
        with contextlib.suppress(BaseException):
            self._work()
        self._has_ended = True
        self._ended.release()

    @property
    def is_alive(self) -> bool:
        return not self._has_ended and self._life is not None and self._life() is not None

    def join(self, seconds: float | None = None) -> None:
        """Waits until it has ended, or so long."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.is_alive and (deadline is None or time.monotonic() < deadline):
            if self._ended.acquire(timeout=_POLL_SECONDS):
                return


class ReadAhead(Generic[Item]):
    """`with ReadAhead(iterator) as items:` gives an iterator that is at most `depth` items ahead.

    At the end of the block the iterator's methods stop() (from another thread) and close() are called, if it has them.
    """

    def __init__(self, items: Iterator[Item], depth: int = 1) -> None:
        self._items = items
        self._ready: queue.Queue[Item | _End | BaseException] = queue.Queue(depth)
        self._stop = threading.Event()
        self._thread = _Thread(self._work)
        self._is_started = False

    def __enter__(self) -> Iterator[Item]:
        self._is_started = self._thread.start()
        return self._taken() if self._is_started else self._items

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        self._call("stop")
        if self._is_started:
            self._thread.join(_patience(kind))
        if not self._thread.is_alive:
            self._call("close")

    def _call(self, method: str) -> None:
        function: Any = getattr(self._items, method, None)
        if function is not None:
            function()

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
                self._ready.put(item, timeout=_POLL_SECONDS)
                return True
        return False

    def _taken(self) -> Iterator[Item]:
        while True:
            # Asked first: what it handed over before it ended is in the queue by then.
            is_alive = self._thread.is_alive
            try:
                item = self._ready.get(timeout=_POLL_SECONDS if is_alive else 0)
            except queue.Empty:
                if not is_alive:
                    raise MemoryError(_DIED) from None
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
        self._drop = threading.Event()
        self._thread = _Thread(self._work)
        self._is_started = False
        self._is_finished = False
        self._n_put = self._n_done = 0
        # Notified after each item.
        self._progress = threading.Condition()

    def __enter__(self) -> Callable[[Item], None]:
        self._is_started = self._thread.start()
        return self._put if self._is_started else self._write

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._is_started:
            return
        if kind is not None and not (self._always and issubclass(kind, Exception)):
            self._drop.set()
        patience = _patience(kind)
        deadline = None if patience is None else time.monotonic() + patience
        while self._thread.is_alive and (deadline is None or time.monotonic() < deadline):
            with contextlib.suppress(queue.Full):
                self._waiting.put(_End(), timeout=_POLL_SECONDS)
                break
        self._thread.join(patience)
        if kind is None:
            self._raise()
            if not self._is_finished:
                raise MemoryError(_DIED)

    @property
    def is_at_work(self) -> bool:
        """Whether something may still be written: an interruption can end the block before all is."""
        return self._thread.is_alive

    def drain(self) -> None:
        """Waits until all items that were put are written; raises an exception of `write`."""
        with self._progress:
            while self._n_done < self._n_put and self._failure is None:
                if not self._thread.is_alive:
                    raise MemoryError(_DIED)
                self._progress.wait(_POLL_SECONDS)
        self._raise()

    def _put(self, item: Item) -> None:
        while True:
            self._raise()
            is_alive = self._thread.is_alive
            with contextlib.suppress(queue.Full):
                self._waiting.put(item, timeout=_POLL_SECONDS)
                self._n_put += 1
                return
            if not is_alive:
                raise MemoryError(_DIED)

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while True:
            try:
                item = self._waiting.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                # After an interruption nobody may have waited to put the end.
                if self._drop.is_set():
                    return
                continue
            if isinstance(item, _End):
                break
            # Items are taken even when they are not written any more, so that nobody waits for ever to put one.
            if self._failure is None and not self._drop.is_set():
                try:
                    self._write(item)
                except BaseException as error:
                    self._failure = error
            # The memory of an item is wanted for the next.
            del item
            with self._progress:
                self._n_done += 1
                self._progress.notify()
        self._is_finished = True


def _patience(kind: type[BaseException] | None) -> float | None:
    """How long the end of a block waits for its thread: an interruption does not wait for a slow disk."""
    is_interruption = kind is not None and not issubclass(kind, Exception)
    return _MOST_SECONDS_AFTER_INTERRUPTION if is_interruption else None
