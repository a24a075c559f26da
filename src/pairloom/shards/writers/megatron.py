"""Megatron-LM: `shard-00000.bin` and `shard-00000.idx`, an indexed dataset of one sequence a document.

.bin: the ids of all documents, little-endian: uint16, or int32 where the vocabulary needs it (the format has no
uint32). .idx: 9 bytes b"MMIDIDX\\0\\0"; u64 version 1; u8 code of the dtype (8 is uint16, 4 is int32); u64 number of
sequences; u64 number of document indices (sequences + 1); int32 [sequences] lengths in tokens; int64 [sequences]
offsets in bytes; int64 [sequences + 1] document indices 0, 1, ..., n.
Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.errors import FormatError
from pairloom.shards.writers.npy import FlatWriter, read_flat

__all__ = ["SUFFIXES", "Writer", "dtype", "read"]

SUFFIXES = (".bin", ".idx")

MAGIC = b"MMIDIDX\x00\x00"
_CODES = {"<u2": 8, "<i4": 4}
_LARGEST = np.iinfo(np.int32).max


def dtype(n_vocab: int) -> np.dtype[Any]:
    """The type of ids below `n_vocab`; FormatError where Megatron has none."""
    if n_vocab - 1 > _LARGEST:
        raise FormatError(f"format megatron holds ids up to {_LARGEST}, but this tokenizer has {n_vocab - 1}; use npy")
    return np.dtype("<u2" if n_vocab <= 1 << 16 else "<i4")


class Writer(FlatWriter):
    """Writes one shard."""

    def finish(self) -> None:
        """Completes the files."""
        self._file.close()
        offsets = self._offsets.array
        lengths = np.diff(offsets)
        if len(lengths) and int(lengths.max()) > _LARGEST:
            raise FormatError(
                f"a document has {int(lengths.max())} tokens, but format megatron holds documents of up to {_LARGEST}; "
                "name a separator, or use npy"
            )
        n = len(lengths)
        parts = [
            MAGIC,
            struct.pack("<QBQQ", 1, _CODES[self._dtype.str], n, n + 1),
            lengths.astype("<i4").tobytes(),
            (offsets[:-1] * self._dtype.itemsize).astype("<i8").tobytes(),
            np.arange(n + 1, dtype="<i8").tobytes(),
        ]
        self._index_path.write_bytes(b"".join(parts))


def read(paths: list[Path], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(ids, offsets) of one shard."""
    index = paths[1].read_bytes()
    head = len(MAGIC) + struct.calcsize("<QBQQ")
    n = struct.unpack_from("<Q", index, len(MAGIC) + struct.calcsize("<QB"))[0]
    lengths = np.frombuffer(index, "<i4", n, head)
    return read_flat(paths[0], dtype), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
