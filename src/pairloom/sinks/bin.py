"""Flat binary: `shard-00000.bin`, the ids and nothing else, little-endian, and `shard-00000.offsets.npy`.

ids: uint16 when every id of the vocabulary fits, else uint32: `numpy.memmap(path, dtype, mode="r")`, with the dtype
that the manifest names. offsets: as in `pairloom.sinks.npy`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.sinks.npy import Offsets, dtype, write_all

__all__ = ["SUFFIXES", "Writer", "dtype"]

SUFFIXES = (".bin", ".offsets.npy")


class Writer:
    """Writes one shard."""

    def __init__(self, paths: list[Path], dtype: np.dtype[Any]) -> None:
        self._path, self._offsets_path = paths
        self._dtype = dtype
        self._offsets = Offsets()
        self._file = self._path.open("wb", buffering=0)

    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        """Appends ids, and where documents end in them."""
        write_all(self._file, ids.astype(self._dtype, copy=False))
        self._offsets.add(len(ids), ends)

    def finish(self) -> None:
        """Completes the files."""
        self._file.close()
        self._offsets.write(self._offsets_path)

    def abandon(self) -> None:
        """Closes what is open."""
        self._file.close()
