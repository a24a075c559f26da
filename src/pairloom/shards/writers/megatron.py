"""Megatron-LM: `shard-00000.bin` and `shard-00000.idx`, an indexed dataset with one sequence for each document.

.bin: the ids of all documents, little-endian: uint16, or int32 if the vocabulary needs it (the format has no
uint32). .idx: 9 bytes b"MMIDIDX\\0\\0"; u64 version 1; u8 code of the dtype (8 is uint16, 4 is int32); u64 number of
sequences; u64 number of document indices (sequences + 1); int32 [sequences] lengths in tokens; int64 [sequences]
offsets in bytes; int64 [sequences + 1] document indices 0, 1, ..., n.
Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

import struct
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pairloom.errors import FormatError
from pairloom.shards.writers.npy import FlatWriter, map_flat, write_all

SUFFIXES = (".bin", ".idx")

MAGIC = b"MMIDIDX\x00\x00"
_HEAD = "<QBQQ"
_CODES = {"<u2": 8, "<i4": 4}
_LARGEST = np.iinfo(np.int32).max


def dtype(n_vocab: int) -> np.dtype[Any]:
    """Returns the type for ids below `n_vocab`; FormatError if Megatron has none."""
    if n_vocab - 1 > _LARGEST:
        raise FormatError(
            f"format megatron supports ids up to {_LARGEST}, but this tokenizer has ids up to {n_vocab - 1}; use npy"
        )
    return np.dtype("<u2" if n_vocab <= 1 << 16 else "<i4")


class Writer(FlatWriter):
    """Writes one shard; holds four bytes for each document, since the index begins with their number."""

    def _open_index(self) -> Any:
        self._lengths: list[npt.NDArray[np.int32]] = []
        return self._index_path.open("xb", buffering=0)

    def _write_ends(self, ends: npt.NDArray[np.int64]) -> None:
        lengths = np.diff(ends, prepend=self._end)
        if int(lengths.max()) > _LARGEST:
            raise FormatError(
                f"a document has {int(lengths.max())} tokens, but format megatron supports at most {_LARGEST}; pass a "
                "separator to split it, or use npy"
            )
        self._lengths.append(lengths.astype("<i4"))

    def _finish_index(self) -> None:
        self._index.write(_head(self._dtype, self._n_documents))
        lengths = np.concatenate([np.zeros(0, "<i4"), *self._lengths])
        write_all(self._index, lengths)
        write_all(self._index, (np.cumsum(lengths, dtype="<i8") - lengths) * self._dtype.itemsize)
        write_all(self._index, np.arange(len(lengths) + 1, dtype="<i8"))


def read(files: list[BinaryIO], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Returns (ids, offsets) of one shard."""
    index = files[1].read()
    head = len(MAGIC) + struct.calcsize(_HEAD)
    n = struct.unpack_from(_HEAD, index, len(MAGIC))[2]
    if index[:head] != _head(dtype, n) or len(index) != head + 4 * n + 8 * n + 8 * (n + 1):
        raise ValueError(f"the file is not a Megatron-LM index of {dtype}")
    lengths = np.frombuffer(index, "<i4", n, head)
    return map_flat(files[0], dtype), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _head(dtype: np.dtype[Any], n: int) -> bytes:
    """Returns the first bytes of the index of n documents."""
    return MAGIC + struct.pack(_HEAD, 1, _CODES[dtype.str], n, n + 1)
