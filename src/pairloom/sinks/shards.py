"""Shards: a stream of ids, cut into files that hold whole documents, each complete or absent.

Enters: ids and where documents end in them. Leaves: shards in a folder and its manifest. A shard is closed by the first
document that brings it to `shard_tokens` tokens, so that it depends on nothing but the documents. It is written under
a partial name, synced, renamed, and only then named by the manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pairloom.formats.atomic import sync_directory
from pairloom.sinks import bin, megatron, npy, parquet
from pairloom.sinks import manifest as manifest_file
from pairloom.sinks.manifest import Manifest, Place

__all__ = ["FORMATS", "Batch", "Shards", "clear", "is_ours"]

_MODULES: dict[str, Any] = {"npy": npy, "bin": bin, "parquet": parquet, "megatron": megatron}

FORMATS = tuple(_MODULES)
"""What shards can be written as."""

_OURS = re.compile(r"\.?shard-(\d{5,})\.(npy|offsets\.npy|bin|idx|parquet)(\.partial)?")
_HASH_BYTES = 1 << 18


class Batch(NamedTuple):
    """Some ids of one source.

    ends: where documents end in `ids`; byte_ends: where they end in the text of the whole run; first: how many
    documents of the source ended before. source_bytes and source_skipped: as in `Place`.
    """

    ids: npt.NDArray[Any]
    ends: npt.NDArray[np.int64]
    byte_ends: npt.NDArray[np.int64]
    source: int
    first: int
    source_bytes: int
    source_skipped: int


class _Writer(Protocol):
    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


def dtype_of(format: str, n_vocab: int) -> np.dtype[Any]:
    """The type that ids are written as."""
    dtype: np.dtype[Any] = _MODULES[format].dtype(n_vocab)
    return dtype


def is_ours(name: str) -> bool:
    """Whether a run may have left a file of this name."""
    return bool(_OURS.fullmatch(name)) or name in (manifest_file.NAME, manifest_file.PARTIAL)


def clear(folder: Path, n_kept: int) -> None:
    """Removes what runs left in `folder`, but for the manifest and the first `n_kept` shards."""
    for path in folder.iterdir():
        found = _OURS.fullmatch(path.name)
        if path.name == manifest_file.PARTIAL or (found and (found[3] or int(found[1]) >= n_kept)):
            path.unlink()


class Shards:
    """Writes shards into `folder`, going on after those that the manifest names."""

    def __init__(self, folder: Path, manifest: Manifest, shard_tokens: int) -> None:
        self._folder = folder
        self._manifest = manifest
        self._shard_tokens = shard_tokens
        self._module = _MODULES[manifest.format]
        self._writer: _Writer | None = None
        self._n_tokens = 0
        self._n_documents = 0
        self._n_bytes = manifest.text_bytes
        self._place = manifest.next

    def add(self, batch: Batch) -> None:
        """Writes ids, closing shards on the way."""
        ids, ends = batch.ids, batch.ends
        position, first = 0, 0
        while first < len(ends):
            # The first document that fills the shard, or all that are there.
            wanted = position + self._shard_tokens - self._n_tokens
            last = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
            stop = int(ends[last])
            self._write(ids[position:stop], ends[first : last + 1] - position)
            self._n_bytes = int(batch.byte_ends[last])
            self._place = Place(batch.source, batch.first + last + 1, batch.source_bytes, batch.source_skipped)
            position, first = stop, last + 1
            if self._n_tokens >= self._shard_tokens:
                self._close()
        if position < len(ids):
            self._write(ids[position:], ends[:0])

    def finish(self, n_skipped: int) -> None:
        """Closes the last shard and says in the manifest that the run is complete."""
        if self._n_documents:
            self._close()
        self._manifest.skipped = n_skipped
        self._manifest.complete = True
        self._manifest.save(self._folder)

    def abandon(self) -> None:
        """Removes the shard that is not complete."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.abandon()
            for path in self._partial_paths():
                path.unlink(missing_ok=True)
            self._writer = None

    def _write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        if self._writer is None:
            writer: _Writer = self._module.Writer(self._partial_paths(), np.dtype(self._manifest.dtype))
            self._writer = writer
        self._writer.write(ids, ends)
        self._n_tokens += len(ids)
        self._n_documents += len(ends)

    def _close(self) -> None:
        """Completes the shard: its files first, then the manifest."""
        assert self._writer is not None
        self._writer.finish()
        names = [f"{self._stem()}{suffix}" for suffix in self._module.SUFFIXES]
        digests = [_digest(path) for path in self._partial_paths()]
        # The ids last, so that they never stand without their index.
        for path, name in reversed(list(zip(self._partial_paths(), names, strict=True))):
            path.replace(self._folder / name)
        sync_directory(self._folder)
        self._writer = None
        manifest = self._manifest
        shard = {"file": names[0], "tokens": self._n_tokens, "documents": self._n_documents, "sha256": digests[0]}
        manifest.shards.append(shard)
        manifest.indexes.extend(
            {"file": name, "sha256": digest} for name, digest in zip(names[1:], digests[1:], strict=True)
        )
        manifest.tokens += self._n_tokens
        manifest.documents += self._n_documents
        manifest.text_bytes = self._n_bytes
        manifest.skipped = self._place.source_skipped
        manifest.next = self._place
        self._n_tokens = self._n_documents = 0
        manifest.save(self._folder)

    def _stem(self) -> str:
        return f"shard-{len(self._manifest.shards):05d}"

    def _partial_paths(self) -> list[Path]:
        return [self._folder / f".{self._stem()}{suffix}.partial" for suffix in self._module.SUFFIXES]


def _digest(path: Path) -> str:
    """The SHA-256 of a file, which is safe on the disk when this returns."""
    with path.open("rb", buffering=0) as file:
        digest = hashlib.sha256()
        while data := file.read(_HASH_BYTES):
            digest.update(data)
        os.fsync(file.fileno())
    return digest.hexdigest()
