"""Flat binary: `shard-00000.bin`, little-endian ids without a header, and `shard-00000.offsets.npy`.

ids: uint16 if every id of the vocabulary fits, else uint32: `numpy.memmap(path, dtype, mode="r")`; the manifest names
the dtype. offsets: as in `pairloom.shards.writers.npy`.
"""

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pairloom.shards.writers.npy import FlatWriter as Writer
from pairloom.shards.writers.npy import dtype, map_array, map_flat

__all__ = ["SUFFIXES", "Writer", "dtype", "read"]

SUFFIXES = (".bin", ".offsets.npy")


def read(files: list[BinaryIO], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (ids, offsets) of one shard, mapped into memory."""
    return map_flat(files[0], dtype), map_array(files[1])
