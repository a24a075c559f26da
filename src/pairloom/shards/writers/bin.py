"""Flat binary: `shard-00000.bin`, little-endian ids without a header, and `shard-00000.offsets.npy`.

ids: uint16 if every id of the vocabulary fits, else uint32: `numpy.memmap(path, dtype, mode="r")`; the manifest names
the dtype. offsets: as in `pairloom.shards.writers.npy`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.shards.writers.npy import FlatWriter as Writer
from pairloom.shards.writers.npy import dtype, read_flat

__all__ = ["SUFFIXES", "Writer", "dtype", "read"]

SUFFIXES = (".bin", ".offsets.npy")


def read(paths: list[Path], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(ids, offsets) of one shard."""
    return read_flat(paths[0], dtype), np.load(paths[1])
