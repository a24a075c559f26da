"""Flat binary: `shard-00000.bin`, the ids and nothing else, little-endian, and `shard-00000.offsets.npy`.

ids: uint16 when every id of the vocabulary fits, else uint32: `numpy.memmap(path, dtype, mode="r")`, with the dtype
that the manifest names. offsets: as in `pairloom.sinks.npy`.
"""

from __future__ import annotations

from pairloom.sinks.npy import FlatWriter as Writer
from pairloom.sinks.npy import dtype

__all__ = ["SUFFIXES", "Writer", "dtype"]

SUFFIXES = (".bin", ".offsets.npy")
