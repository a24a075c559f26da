"""Compressed bytes to bytes, in pieces, whole or with an error.

Enters: an open file. Leaves: pieces of about PIECE_BYTES. Cost: that of the decoder, which runs without the
interpreter lock. Every decoder is driven in the same way, member after member, so that a file that breaks off
within one is always told from a file that ends: some of the ready-made readers end quietly there.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol

from pairloom.errors import CorpusError
from pairloom.extras import extra

__all__ = ["COMPRESSIONS", "PIECE_BYTES", "pieces_of", "sniffed"]

PIECE_BYTES = 4 << 20
"""How much text a block holds, about."""

_READ_BYTES = 256 << 10


class _Decoder(Protocol):
    """What zlib, bz2, lzma and zstandard have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> Any:
    return extra("zstandard", "reading .zst").ZstdDecompressor(max_window_size=1 << 31).decompressobj()


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zstd": _zstd,
}

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
"""The compression that a suffix means."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def sniffed(begin: bytes) -> str | None:
    """The compression that bytes begin like, for what has no name."""
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)


def pieces_of(file: BinaryIO, compression: str | None, name: str) -> Iterator[bytes]:
    """The bytes of `file`, decompressed, in pieces; CorpusError naming `name` where they break off or are damaged."""
    if compression is None:
        while piece := file.read(PIECE_BYTES):
            yield piece
        return
    parts: list[bytes] = []
    size = 0
    for part in _decompressed(file, compression, name):
        parts.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _decompressed(file: BinaryIO, compression: str, name: str) -> Iterator[bytes]:
    make = _DECODERS[compression]
    decoder = make()
    is_new = True
    try:
        while data := file.read(_READ_BYTES):
            while data:
                if decoder.eof:
                    # Members may follow one another, and zeros may fill up the last block of a tape.
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    decoder = make()
                part = decoder.decompress(data)
                is_new = False
                data = decoder.unused_data if decoder.eof else b""
                if part:
                    yield part
    except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CorpusError(f"{name}: not readable as {compression}: {error}; the file is damaged") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("zstd", "zstandard"):
            raise CorpusError(f"{name}: not readable as {compression}: {error}; the file is damaged") from error
        raise
    if not decoder.eof and not is_new:
        raise CorpusError(f"{name}: the {compression} data break off; the file was cut short, copy it again")
