"""Streaming decompression in bounded memory, with detection of damage.

Every decoder is called with an upper bound for its output, so a decompression bomb needs no more memory than another
file. A file can hold several streams in a row; the end of each is checked here, because some library readers accept a
truncated stream as complete.
"""

import bz2
import contextlib
import functools
import importlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

from pairloom import _core
from pairloom._internal.optional_deps import import_optional
from pairloom.corpus.first_bytes import BEGIN_BYTES
from pairloom.errors import CorpusError

PIECE_BYTES = 4 << 20
"""About how much text a block holds."""

_READ_BYTES = 256 << 10
# The most that a decoder returns at a time.
_PART_BYTES: Final = 1 << 20
# Windows of zstd beyond 2 GiB exist only in theory.
_MAX_WINDOW_LOG: Final = 31


class _Gzip:
    """zlib.decompressobj with the interface of the other decompressors of the standard library."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        part = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        # After a full part there may be more, since zlib also holds back some of its output.
        self.needs_input = len(part) < max_length and not self._decoder.unconsumed_tail
        return part


@functools.cache
def _zstd_library() -> Any:
    """Returns the module of the standard library (from Python 3.14 on) or its backport.

    Cached, since looking for a missing module takes 0.1 ms, too much for each file of a large folder.
    """
    with contextlib.suppress(ImportError):
        return importlib.import_module("compression.zstd")
    return import_optional("backports.zstd", "reading .zst")


def _zstd() -> Any:
    library = _zstd_library()
    options = {library.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
    return library.ZstdDecompressor(options=options)


_MAKERS: Final[dict[str, Callable[[], Any]]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "zstd": _zstd,
}

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
"""The compression that a suffix means."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def sniffed(begin: bytes) -> str | None:
    """Returns the compression that these first bytes indicate, for input without a name."""
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)


def pieces_of(
    file: BinaryIO,
    compression: str | None,
    name: str,
    *,
    n_bytes: int | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[bytes]:
    """Yields the bytes of `file`, decompressed, in pieces of about `piece_bytes`.

    n_bytes: the size of the file. Raises CorpusError naming `name` if the data break off or are damaged, which may only
    show at their end.
    """
    if compression is None:
        at_once = _read_size(piece_bytes, n_bytes)
        at = file.tell() if n_bytes is not None and file.seekable() else 0
        while piece := file.read(at_once):
            at += len(piece)
            yield piece
        if n_bytes is not None and at < n_bytes:
            raise CorpusError(
                f"{name}: the file was truncated while it was read, at byte {at} of {n_bytes}; start again, and "
                "do not change it meanwhile"
            )
        return
    parts: list[bytes] = []
    size = 0
    at_once, most = _read_size(min(_READ_BYTES, piece_bytes), n_bytes), min(_PART_BYTES, piece_bytes)
    for part in _decompressed(file, compression, name, at_once, most):
        parts.append(part)
        size += len(part)
        if size >= piece_bytes:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _read_size(most: int, n_bytes: int | None) -> int:
    """Returns how many bytes to read at once: Python allocates all that is requested, 0.1 ms for each small file."""
    return most if n_bytes is None else min(most, max(n_bytes + 1, 1 << 12))


def _decompressed(file: BinaryIO, compression: str, name: str, at_once: int, most: int) -> Iterator[bytes]:
    """Yields parts of at most `most` bytes; reads `at_once` bytes of the file at a time."""
    make = _MAKERS[compression]
    decoder = make()
    begin = b""
    while data := file.read(at_once):
        begin = begin or data[:BEGIN_BYTES]
        while data or not decoder.needs_input:
            if decoder.eof:
                # Streams can follow one another, and zeros can fill the last block of a tape.
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = make()
            try:
                part = decoder.decompress(data, most)
            except Exception as error:
                raise _error_of(error, compression, name, begin) from error
            data = decoder.unused_data if decoder.eof else b""
            if part:
                yield part
    if not begin:
        raise CorpusError(f"{name}: the file is empty, so it is not {compression}; copy it again")
    if not decoder.eof:
        raise CorpusError(f"{name}: the {compression} data end too early; the file is truncated, so copy it again")


def _error_of(error: Exception, compression: str, name: str, begin: bytes) -> Exception:
    """Returns the exception to raise for one of a decoder."""
    if isinstance(error, MemoryError) or "allocation error" in str(error).lower():
        return MemoryError(f"{name}: out of memory while decompressing")
    kind: str | None = "the file is damaged"
    if sniffed(begin) != compression:
        kind = _core.not_text(begin) or f"it does not begin as {compression} does: if it is not compressed, rename it"
    return CorpusError(f"{name}: not readable as {compression}: {error}; {kind}")
