"""NumPy: `shard-00000.npy`, all ids in one flat array, and `shard-00000.offsets.npy`, the bounds of the documents.

ids: uint16 [n] if every id of the vocabulary fits, else uint32 [n]. offsets: int64 [documents + 1]; document i is
ids[offsets[i]:offsets[i + 1]]. Both open with `numpy.load(path, mmap_mode="r")`. The header (format 1.0, 128 bytes)
is written last, when the length is known; memory is that of the offsets.
Source: numpy.lib.format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SUFFIXES", "FlatWriter", "Writer", "dtype", "read", "read_flat"]

SUFFIXES = (".npy", ".offsets.npy")

_HEADER_BYTES = 128


def dtype(n_vocab: int) -> np.dtype[Any]:
    """The type of ids below `n_vocab`."""
    return np.dtype("<u2" if n_vocab <= 1 << 16 else "<u4")


def _header(dtype: np.dtype[Any], length: int) -> bytes:
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({length},), }}"
    return (
        b"\x93NUMPY\x01\x00"
        + (_HEADER_BYTES - 10).to_bytes(2, "little")
        + text.ljust(_HEADER_BYTES - 11).encode()
        + b"\n"
    )


class Offsets:
    """Where documents end, gathered until the shard is written."""

    def __init__(self) -> None:
        self._parts: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._end = 0
        self.n_tokens = 0

    def add(self, n_tokens: int, ends: npt.NDArray[np.int64]) -> None:
        """Notes `n_tokens` more ids and the `ends` of documents in them."""
        if len(ends):
            self._parts.append(ends + self.n_tokens)
            self._end = int(self._parts[-1][-1])
        self.n_tokens += n_tokens

    def withdraw(self) -> int:
        """Forgets the ids after the last end; gives how many are left."""
        self.n_tokens = self._end
        return self.n_tokens

    @property
    def array(self) -> npt.NDArray[np.int64]:
        """int64 [documents + 1]."""
        return np.concatenate(self._parts).astype("<i8")

    def write(self, path: Path) -> None:
        """Writes them as .npy."""
        offsets = self.array
        path.write_bytes(_header(offsets.dtype, len(offsets)) + offsets.tobytes())


class FlatWriter:
    """Writes the ids of one shard as a flat array; subclasses add headers and index files."""

    _n_header_bytes = 0

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        self._path, self._index_path = paths
        self._dtype = dtype
        self._offsets = Offsets()
        self._file = self._path.open("wb", buffering=0)

    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        """Appends ids, and where documents end in them."""
        write_all(self._file, ids.astype(self._dtype, copy=False))
        self._offsets.add(len(ids), ends)

    def withdraw(self) -> None:
        """Takes back the ids of the document that has not ended."""
        n_bytes = self._n_header_bytes + self._offsets.withdraw() * self._dtype.itemsize
        self._file.truncate(n_bytes)
        self._file.seek(n_bytes)

    def finish(self) -> None:
        """Completes the files."""
        self._file.close()
        self._offsets.write(self._index_path)

    def abandon(self) -> None:
        """Closes what is open."""
        self._file.close()


class Writer(FlatWriter):
    """Writes one shard."""

    _n_header_bytes = _HEADER_BYTES

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        super().__init__(paths, dtype)
        self._file.write(_header(dtype, 0))

    def finish(self) -> None:
        """Completes the files."""
        self._file.seek(0)
        self._file.write(_header(self._dtype, self._offsets.n_tokens))
        super().finish()


def read(paths: list[Path], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(ids, offsets) of one shard."""
    return np.load(paths[0], mmap_mode="r"), np.load(paths[1])


def read_flat(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The ids of a file that holds nothing else."""
    # An empty file cannot be mapped.
    return np.memmap(path, dtype, mode="r") if path.stat().st_size else np.zeros(0, dtype)


def write_all(file: Any, array: npt.NDArray[Any]) -> None:
    """Writes an array to an unbuffered file, which may take less than all at a time."""
    if len(array):
        data = array.data.cast("B")
        while data:
            data = data[file.write(data) :]
