"""Reads files of remote stores (S3, Google Cloud, Azure, HTTP, Hugging Face) in ranges, with read-ahead and retries.

A range is requested by its place in the file, so after a broken connection the same bytes are requested again: none is
lost and none comes twice. While one range is used, the next one is fetched. Ranges grow as long as reading is
sequential, so that a few bytes at the end of a Parquet file do not cost megabytes.
"""

import contextlib
import datetime
import email.utils
import errno
import hashlib
import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pairloom._internal.atomic import naming
from pairloom._internal.background_io import ReadAhead
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.urls import errors_of_store, public_url, without_secrets

_FIRST_BYTES: Final = 256 << 10
_MAX_BYTES: Final = 8 << 20
# For files that are copied whole: a store needs time for each request before it sends the first byte.
_COPIED_BYTES: Final = 32 << 20
_MAX_TRIES: Final = 6
_FIRST_WAIT_SECONDS: Final = 0.25
# Errors that another try cannot mend.
_FINAL_ERRORS = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    ImportError,
    MemoryError,
    NotImplementedError,
    TypeError,
    AttributeError,
)
_RETRIED_STATUS: Final = {408, 425, 429}
# Keys in what stores say about an object, the best first.
_TIME_KEYS: Final = ("mtime", "Last-Modified", "LastModified", "last_modified", "created")
_VERSION_KEYS: Final = ("ETag", "etag", "generation", "blob_id", *_TIME_KEYS)


class _NoRanges(Exception):
    """The store returns whole files only."""


def version_of(info: dict[str, Any]) -> str:
    """Returns what distinguishes an object from others that had its name, from what its store says about it."""
    known = next((info[name] for name in _VERSION_KEYS if info.get(name)), "")
    return f"{info.get('size')} {known}"


def modified_ns(info: dict[str, Any]) -> int | None:
    """Returns when an object was last modified, if its store says so."""
    time = next((info[name] for name in _TIME_KEYS if info.get(name)), None)
    with contextlib.suppress(ValueError):
        if isinstance(time, str):
            time = email.utils.parsedate_to_datetime(time)
        if isinstance(time, datetime.datetime):
            time = time.timestamp()
    return int(time * 1e9) if isinstance(time, (int, float)) else None


@contextlib.contextmanager
def open_remote(url: str, name: str, n_bytes: int | None, first_bytes: int | None = None) -> Iterator[Any]:
    """Opens an fsspec URL for reading bytes; yields a RangesFile if its store supports ranges.

    name: the URL as messages show it. first_bytes: the size of the first range; later ones are at least as long.
    """
    fsspec: Any = import_optional("fsspec", "reading URLs")
    files, path = fsspec.core.url_to_fs(url)
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    if n_bytes and (getattr(files, "async_impl", False) or "hf" in protocols):
        # Without compression on the way, which would change the length of a range.
        options = {"headers": {"Accept-Encoding": "identity"}} if "http" in protocols else {}
        file = RangesFile(lambda start, end: files.cat_file(path, start=start, end=end, **options), n_bytes, name)
        try:
            file.begin(first_bytes or _FIRST_BYTES)
        except _NoRanges:
            pass
        else:
            with file:
                yield file
            return
    # Not `open().open()`: an archive (zip://) is closed with the object that opened it.
    with fsspec.open(url, "rb") as whole:
        yield whole


def copy_remote(url: str, to: Path, n_bytes: int | None = None) -> str:
    """Copies the object at an fsspec URL into a new local file; returns the SHA-256 of what was copied.

    n_bytes: its size; None takes what the store says. Raises OSError with the URL, EIO if another number of bytes came.
    """
    name, digest, n_copied = public_url(url), hashlib.sha256(), 0
    with errors_of_store(name):
        if n_bytes is None:
            files, path = import_optional("fsspec", "reading URLs").core.url_to_fs(url)
            files.invalidate_cache()
            n_bytes = files.info(path)["size"]
        with to.open("wb") as target, open_remote(url, name, n_bytes, _COPIED_BYTES) as source:
            while piece := source.read(_COPIED_BYTES):
                with naming(to):
                    target.write(piece)
                digest.update(piece)
                n_copied += len(piece)
    if n_bytes is not None and n_copied != n_bytes:
        raise OSError(errno.EIO, f"{n_copied} bytes arrived instead of {n_bytes}; run again", name)
    return digest.hexdigest()


def check_version(url: str, name: str, n_bytes: int | None, version: str | None) -> None:
    """Raises OSError (ESTALE) if a URL has another version now, so that ranges of two may have been mixed."""
    if not n_bytes or n_bytes <= _FIRST_BYTES:
        return
    with errors_of_store(name):
        files, path = import_optional("fsspec", "reading URLs").core.url_to_fs(url)
        files.invalidate_cache()
        found = version_of(files.info(path))
    if found != version:
        raise OSError(errno.ESTALE, "has changed while it was read; read it again, or copy it first", name)


class RangesFile(io.RawIOBase):
    """A file of `n_bytes` bytes, whose ranges `fetch(start, end)` returns.

    Raises OSError (EIO) with the name and the place once a range has failed six times, over eight seconds.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], n_bytes: int, name: str) -> None:
        self._fetch, self._n_bytes, self._name = fetch, n_bytes, name
        self._first_bytes = _FIRST_BYTES
        self._position = self._start = 0
        self._loaded = b""
        self._ahead: ReadAhead[bytes] | None = None
        self._ranges: Iterator[bytes] = iter(())

    def begin(self, n_bytes: int) -> None:
        """Fetches the first range; later ones are at least as long."""
        self._first_bytes = n_bytes
        self._loaded = self._range(0, min(n_bytes, self._n_bytes))

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def tell(self) -> int:
        """Returns the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a position; fetches nothing."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._n_bytes}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Returns the next `size` bytes, fewer only at the end of the file."""
        left = max(self._n_bytes - self._position, 0)
        size = left if size is None or size < 0 else min(size, left)
        parts = []
        while size:
            offset = self._position - self._start
            if not 0 <= offset < len(self._loaded):
                self._load(size)
                offset = 0
            part = self._loaded[offset : offset + size]
            parts.append(part)
            self._position += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Ends the read-ahead without waiting for a range that is being fetched."""
        self._end_read_ahead()
        self._loaded = b""
        super().close()

    def _load(self, wanted: int) -> None:
        """Loads the range at the position; once reading is sequential, the following ones are fetched meanwhile."""
        start = self._position
        is_straight = start == self._start + len(self._loaded) and start > 0
        if not is_straight:
            self._end_read_ahead()
            self._loaded = self._range(start, min(start + max(_FIRST_BYTES, min(wanted, _MAX_BYTES)), self._n_bytes))
        else:
            if self._ahead is None:
                self._ahead = ReadAhead(self._next_ranges(start))
                self._ranges = self._ahead.__enter__()
            self._loaded = next(self._ranges)
        self._start = start

    def _next_ranges(self, start: int) -> Iterator[bytes]:
        size = self._first_bytes
        while start < self._n_bytes:
            size = max(size, min(2 * size, _MAX_BYTES))
            yield self._range(start, min(start + size, self._n_bytes))
            start += size

    def _end_read_ahead(self) -> None:
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            ahead.__exit__(None, None, None)

    def _range(self, start: int, end: int) -> bytes:
        """Returns the bytes from `start` to `end`; requests them again if the connection breaks."""
        wait = _FIRST_WAIT_SECONDS
        for left in reversed(range(_MAX_TRIES)):
            try:
                data = self._fetch(start, end)
                if len(data) == end - start:
                    return data
                if len(data) == self._n_bytes:
                    raise _NoRanges
                problem = f"{len(data)} bytes arrived instead of {end - start}"
            except (_NoRanges, *_FINAL_ERRORS):
                raise
            except Exception as error:
                status = getattr(error, "status", None)
                if isinstance(status, int) and 400 <= status < 500 and status not in _RETRIED_STATUS:
                    raise
                problem = without_secrets(str(error)) or type(error).__name__
            if left:
                time.sleep(wait)
                wait *= 2
        message = (
            f"the connection failed {_MAX_TRIES} times at byte {start}: {problem}; run again, or copy the file first"
        )
        raise OSError(errno.EIO, message, self._name)
