"""Publishes written shards: syncs and digests their files, gives them their names, records them in a manifest.

`Publisher` does so in the folder itself, and saves the manifest after each shard. What a task of `ShardJob` writes is
published in two phases: into a hidden folder, and when the job is committed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pairloom._internal.atomic import sync_directory
from pairloom._internal.background_io import WriteBehind
from pairloom.shards.manifest import Manifest
from pairloom.shards.shards import Shard, Shards, clear, file_names

__all__ = ["PublishedShard", "Publisher", "ShardSink", "publishing", "renamed", "sealed"]

_HASH_BYTES = 1 << 18


class PublishedShard(NamedTuple):
    """What a manifest says of a shard, in plain values.

    entry: its entry without names and digests. files: {"file": name, "sha256": digest} of each, the ids first.
    """

    entry: dict[str, Any]
    files: list[dict[str, Any]]

    def added_to(self, manifest: Manifest) -> dict[str, Any]:
        """The fields of the manifest that change when the shard is added."""
        ids, *others = self.files
        return {"shards": [*manifest.shards, ids | self.entry], "indexes": [*manifest.indexes, *others]}


class ShardSink(Protocol):
    """Where shards are published."""

    def publish(self, shard: Shard) -> None:
        """Publishes the next shard."""

    def close(self) -> None:
        """Stops publishing; waits for files that are being renamed."""


@contextlib.contextmanager
def publishing(folder: Path, manifest: Manifest, tokens: Sequence[str], sink: ShardSink) -> Iterator[Shards]:
    """Shards that are written into `folder` and published in a thread, the last at the end of the block.

    tokens: as for `Shards`. On error, published shards remain and partial files are removed.
    """
    shards: Shards | None = None
    try:
        # always: shards that wait to be published are kept when reading fails.
        with WriteBehind(sink.publish, depth=1, always=True) as publish:
            shards = Shards(folder, manifest, manifest.config["shard_tokens"], tokens, publish)
            yield shards
            shards.finish()
    except BaseException:
        sink.close()
        if shards is not None:
            shards.abandon()
        with contextlib.suppress(OSError):
            clear(folder, len(manifest.shards))
        raise


class Publisher:
    """Publishes into the folder: sync the files, rename them, then name them in the manifest."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self._lock = threading.Lock()
        self._is_closed = False

    def publish(self, shard: Shard) -> None:
        """Publishes the next shard."""
        published = sealed(self._folder, self._manifest.format, shard)
        with self._lock:
            if self._is_closed:
                return
            renamed(self._folder, self._manifest.format, shard.number)
            sync_directory(self._folder)
            published.entry["next"] = dataclasses.asdict(shard.point)
            self._manifest.replace(
                self._folder,
                **published.added_to(self._manifest),
                skipped=shard.point.source_skipped,
                skipped_files=list(shard.skipped_files),
                next=shard.point,
            )

    def close(self) -> None:
        """Stops publishing; waits for a shard that is being published."""
        with self._lock:
            self._is_closed = True


def sealed(folder: Path, format: str, shard: Shard) -> PublishedShard:
    """Syncs the files of a shard, which still have their partial names."""
    files = [
        {"file": name, "sha256": synced_digest(folder / partial)} for partial, name in file_names(format, shard.number)
    ]
    entry: dict[str, Any] = {"tokens": shard.n_tokens, "documents": shard.n_documents, "bytes": shard.n_bytes}
    if shard.special_literals:
        entry["special_literals"] = shard.special_literals
    return PublishedShard(entry, files)


def renamed(folder: Path, format: str, number: int) -> list[Path]:
    """The files of a shard, once they have their names."""
    # The ids last, so that they never exist without their index.
    names = file_names(format, number)[::-1]
    return [(folder / partial).replace(folder / name) for partial, name in names]


def synced_digest(path: Path) -> str:
    """The SHA-256 of a file; syncs the file to disk."""
    # Windows syncs only what is open for writing. The disk works while the processor does.
    with path.open("r+b", buffering=0) as file, WriteBehind(os.fsync) as sync:
        sync(file.fileno())
        digest = hashlib.sha256()
        # One buffer: where malloc gives memory back at once, as in Dask's workers, each new one costs page faults.
        buffer = memoryview(bytearray(_HASH_BYTES))
        while n_read := file.readinto(buffer):
            digest.update(buffer[:n_read])
    return digest.hexdigest()
