"""Checkpoint: what a killed training leaves behind, so that the same call goes on where it stopped.

Enters: the counts, once, and merges as they come. Leaves: both again. A checkpoint is a folder of three files:
`training.json` says which training it belongs to, `counts` appears whole once counting is done, `merges` grows by
records. Invariant: whatever moment a kill hits, what can be read back is true; a torn last record is dropped.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.counts import PretokenCounts
from pairloom.errors import PairloomError
from pairloom.formats.atomic import write_file

__all__ = ["Checkpoint", "CheckpointError"]

# A record of the merges file: number of pairs, CRC-32 of the pairs' bytes, then the pairs as little-endian uint32.
_RECORD = struct.Struct("<II")


class CheckpointError(PairloomError, ValueError):
    """A checkpoint that belongs to another training."""


class Checkpoint:
    """The folder at `path`; `identity` is everything that decides the merges, and must be the same on resuming.

    Raises CheckpointError where the folder holds the checkpoint of another training, or other files.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        self.folder = Path(path)
        self.folder.mkdir(exist_ok=True)
        written = json.dumps(identity, sort_keys=True, indent=1).encode()
        described = self.folder / "training.json"
        if described.exists():
            found = described.read_bytes()
            if found != written:
                raise CheckpointError(f"{self.folder}: {_difference(found, identity)}; name another checkpoint path")
            return
        if strangers := sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith(".")):
            raise CheckpointError(f"{self.folder}: holds {strangers[0]!r}, which is no checkpoint; name another path")
        write_file(described, written, overwrite=False)

    def counts(self) -> PretokenCounts | None:
        """The counts, where counting was finished."""
        file = self.folder / "counts"
        return PretokenCounts.load(file) if file.exists() else None

    def keep_counts(self, counts: PretokenCounts) -> None:
        """Writes the counts, whole or not at all."""
        counts.save(self.folder / "counts", overwrite=True)

    def merges(self) -> npt.NDArray[np.uint32]:
        """The merges so far: uint32 [m, 2] of symbols; cuts off a torn last record."""
        file = self.folder / "merges"
        if not file.exists():
            return np.empty((0, 2), dtype=np.uint32)
        data = file.read_bytes()
        records = list(_records(data))
        n_whole = sum(_RECORD.size + len(record) for record in records)
        if n_whole < len(data):
            os.truncate(file, n_whole)
        return np.frombuffer(b"".join(records), dtype="<u4").astype(np.uint32).reshape(-1, 2)

    def append_merges(self, pairs: npt.NDArray[np.uint32]) -> None:
        """Appends merges as one record that is on the disk when this returns."""
        if not len(pairs):
            return
        payload = np.ascontiguousarray(pairs, dtype="<u4").tobytes()
        with (self.folder / "merges").open("ab") as file:
            file.write(_RECORD.pack(len(pairs), zlib.crc32(payload)) + payload)
            file.flush()
            os.fsync(file.fileno())


def _records(data: bytes) -> Iterator[bytes]:
    """The payloads of the whole records, up to the first that is torn."""
    start = 0
    while start + _RECORD.size <= len(data):
        n_pairs, checksum = _RECORD.unpack_from(data, start)
        payload = data[start + _RECORD.size : start + _RECORD.size + 8 * n_pairs]
        if not n_pairs or len(payload) < 8 * n_pairs or zlib.crc32(payload) != checksum:
            return
        yield payload
        start += _RECORD.size + len(payload)


def _difference(found: bytes, identity: dict[str, Any]) -> str:
    """Says in which point the checkpoint's training differs."""
    try:
        theirs = json.loads(found)
        names = sorted(name for name in {*theirs, *identity} if theirs.get(name) != identity.get(name))
        return f"is the checkpoint of a training with another {names[0]} ({theirs.get(names[0])!r})"
    except (ValueError, AttributeError, TypeError, IndexError):
        return "training.json is damaged"
