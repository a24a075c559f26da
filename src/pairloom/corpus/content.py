"""Digests of file content, XXH3 of 128 bits, by which a run notices that an input has changed."""

from typing import Any, BinaryIO

from pairloom import _core

_CHUNK_BYTES = 1 << 20


class DigestedFile:
    """A file that is read once from its beginning, and digested meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = _core.ContentDigest()

    def read(self, size: int) -> bytes:
        """Returns the next bytes, as the file does."""
        data = self._file.read(size)
        self._digest.push(data)
        return data

    def hex(self) -> str:
        """Returns the digest of what was read."""
        return self._digest.hex()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def digest_of(file: BinaryIO) -> str:
    """Returns the digest of the rest of a file."""
    digested = DigestedFile(file)
    while digested.read(_CHUNK_BYTES):
        pass
    return digested.hex()


def content_digest(path: str) -> str:
    """Returns the digest of the file at `path`; OSError."""
    with open(path, "rb", buffering=0) as file:
        return digest_of(file)
