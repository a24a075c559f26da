"""NumPy: `shard-00000.npy`, all ids in one flat array, and `shard-00000.offsets.npy`, where documents begin and end.

ids: uint16 [n] if every id of the vocabulary fits, else uint32 [n]. offsets: int64 [documents + 1]; document i is
ids[offsets[i]:offsets[i + 1]]. Both open with `numpy.load(path, mmap_mode="r")`. The header (format 1.0, 128 bytes)
is written last, when the length is known; ids and offsets are written as they come.
Source: numpy.lib.format.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

SUFFIXES = (".npy", ".offsets.npy")

_HEADER_BYTES = 128
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(rb"\{'descr': '([<>|][iu][1248])', 'fortran_order': False, 'shape': \(([0-9]+),\), \} *\n")
_OFFSETS = np.dtype("<i8")


def dtype(n_vocab: int) -> np.dtype[Any]:
    """Returns the type for ids below `n_vocab`."""
    return np.dtype("<u2" if n_vocab <= 1 << 16 else "<u4")


def _header(dtype: np.dtype[Any], length: int) -> bytes:
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({length},), }}"
    return _MAGIC + (_HEADER_BYTES - 10).to_bytes(2, "little") + text.ljust(_HEADER_BYTES - 11).encode() + b"\n"


class FlatWriter:
    """Writes a shard's ids as a flat array, and its offsets as .npy; subclasses add headers or another index."""

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        self._path, self._index_path = paths
        self._dtype = dtype
        self._n_tokens = self._n_documents = 0
        # Where the last finished document ends.
        self._end = 0
        self._file = self._path.open("xb", buffering=0)
        self._index = self._open_index()

    def _open_index(self) -> Any:
        """Opens the file that `_write_ends` appends to."""
        index = self._index_path.open("xb", buffering=0)
        write_all(index, np.frombuffer(_header(_OFFSETS, 1), np.uint8))
        write_all(index, np.zeros(1, _OFFSETS))
        return index

    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        """Appends ids; ends: where documents end in them."""
        write_all(self._file, ids.astype(self._dtype, copy=False))
        if len(ends):
            ends = ends + self._n_tokens
            self._write_ends(ends)
            self._n_documents += len(ends)
            self._end = int(ends[-1])
        self._n_tokens += len(ids)

    def _write_ends(self, ends: npt.NDArray[np.int64]) -> None:
        write_all(self._index, ends.astype(_OFFSETS, copy=False))

    def finish(self) -> None:
        """Completes the files."""
        self._file.close()
        self._finish_index()
        self._index.close()

    def _finish_index(self) -> None:
        self._index.seek(0)
        self._index.write(_header(_OFFSETS, self._n_documents + 1))

    def abandon(self) -> None:
        """Closes the open files."""
        self._file.close()
        self._index.close()


class Writer(FlatWriter):
    """Writes one shard."""

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        super().__init__(paths, dtype)
        self._file.write(_header(dtype, 0))

    def finish(self) -> None:
        """Completes the files."""
        self._file.seek(0)
        self._file.write(_header(self._dtype, self._n_tokens))
        super().finish()


def read(files: list[BinaryIO], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (ids, offsets) of one shard, mapped into memory."""
    return map_array(files[0]), map_array(files[1])


def map_array(file: BinaryIO) -> npt.NDArray[Any]:
    """Maps the integer array [n] in an open .npy file into memory; ValueError for any other file."""
    # NumPy's own reader calls Python's parser, which sometimes fails in two threads at once (CPython 3.11, 3.12).
    begin = file.read(10)
    text = file.read(int.from_bytes(begin[8:], "little"))
    found = _HEADER.fullmatch(text) if begin[:8] == _MAGIC else None
    if found is None:
        raise ValueError(f"expected the header of a one-dimensional integer array, found {(begin + text)[:80]!r}")
    return np.frombuffer(_map(file), found[1].decode(), int(found[2]), file.tell())


def map_flat(file: BinaryIO, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Maps the ids of an open file that holds nothing else into memory."""
    # An empty file cannot be mapped.
    return np.frombuffer(_map(file), dtype) if os.fstat(file.fileno()).st_size else np.zeros(0, dtype)


def _map(file: BinaryIO) -> npt.NDArray[np.uint8]:
    """The bytes of an open file, mapped into memory."""
    if sys.platform == "win32":
        return np.memmap(file, np.uint8, "r")
    from pairloom._core import map_file

    # np.memmap keeps a descriptor for each file, of which a process may have 1,024 on many machines.
    return map_file(file.fileno())


def write_all(file: Any, array: npt.NDArray[Any]) -> None:
    """Writes an array to an unbuffered file, whose `write` may take only a part of it."""
    if len(array):
        data = array.data.cast("B")
        while data:
            data = data[file.write(data) :]
