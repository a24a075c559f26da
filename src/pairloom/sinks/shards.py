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
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pairloom.formats.atomic import sync_directory
from pairloom.sinks import bin, megatron, npy, parquet
from pairloom.sinks import manifest as manifest_file
from pairloom.sinks.manifest import Manifest, Place

__all__ = ["FORMATS", "Batch", "Shard", "Shards", "clear", "is_ours", "publish_shard"]

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


class Shard(NamedTuple):
    """A shard that is written, under its partial names, but not yet published.

    text_bytes: text of the whole run up to its end; place: where the run goes on after it.
    """

    number: int
    n_tokens: int
    n_documents: int
    text_bytes: int
    place: Place


class Shards:
    """Writes shards into `folder`, going on after those that the manifest names; each goes to `publish` when written.

    What `publish` does (see `publish_shard`) takes as long as the disk does: it is for a thread of its own.
    """

    def __init__(self, folder: Path, manifest: Manifest, shard_tokens: int, publish: Callable[[Shard], None]) -> None:
        self._folder = folder
        self._format = manifest.format
        self._dtype = np.dtype(manifest.dtype)
        self._shard_tokens = shard_tokens
        self._publish = publish
        self._writer: _Writer | None = None
        self._number = len(manifest.shards)
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

    def finish(self) -> None:
        """Closes the last shard."""
        if self._n_documents:
            self._close()

    def abandon(self) -> None:
        """Closes the files of the shard that is not complete, and leaves them."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.abandon()
            self._writer = None

    def _write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        if self._writer is None:
            paths = [partial for partial, _ in _paths(self._folder, self._format, self._number)]
            writer: _Writer = _MODULES[self._format].Writer(paths, self._dtype)
            self._writer = writer
        self._writer.write(ids, ends)
        self._n_tokens += len(ids)
        self._n_documents += len(ends)

    def _close(self) -> None:
        assert self._writer is not None
        self._writer.finish()
        self._writer = None
        self._publish(Shard(self._number, self._n_tokens, self._n_documents, self._n_bytes, self._place))
        self._number += 1
        self._n_tokens = self._n_documents = 0


def publish_shard(folder: Path, manifest: Manifest, shard: Shard) -> None:
    """Makes a written shard count: its files safe on the disk and under their names, then the manifest."""
    paths = _paths(folder, manifest.format, shard.number)
    digests = [_digest(partial) for partial, _ in paths]
    # The ids last, so that they never stand without their index.
    for partial, path in reversed(paths):
        partial.replace(path)
    sync_directory(folder)
    (ids, digest), *others = ((path.name, digest) for (_, path), digest in zip(paths, digests, strict=True))
    entry = {"file": ids, "tokens": shard.n_tokens, "documents": shard.n_documents, "sha256": digest}
    manifest.replace(
        folder,
        shards=[*manifest.shards, entry],
        indexes=[*manifest.indexes, *({"file": name, "sha256": digest} for name, digest in others)],
        tokens=manifest.tokens + shard.n_tokens,
        documents=manifest.documents + shard.n_documents,
        text_bytes=shard.text_bytes,
        skipped=shard.place.source_skipped,
        next=shard.place,
    )


def _paths(folder: Path, format: str, number: int) -> list[tuple[Path, Path]]:
    """Of each file of a shard, the ids first: its partial name, and its name."""
    names = [f"shard-{number:05d}{suffix}" for suffix in _MODULES[format].SUFFIXES]
    return [(folder / f".{name}.partial", folder / name) for name in names]


def _digest(path: Path) -> str:
    """The SHA-256 of a file, which is safe on the disk when this returns."""
    with path.open("rb", buffering=0) as file:
        digest = hashlib.sha256()
        while data := file.read(_HASH_BYTES):
            digest.update(data)
        os.fsync(file.fileno())
    return digest.hexdigest()
