"""Publishes written shards: syncs and digests their files, renames them, and records them in a manifest.

`publish_shard` does so in the folder itself, and saves the manifest after each shard. Tasks of `ShardJob` publish in
two phases: into a hidden folder, and into the real one when the job is committed.

A run that replaces another is written into a hidden folder inside that folder (`replacement`). When it is complete, one
rename makes it count: that of a manifest that names the files by their paths in the hidden folder. Then they replace
the old files one by one. A file that has left the hidden folder is already in its place, so readers find every file
even if this is interrupted; the next run finishes it (`finish_replacement`).
"""

import contextlib
import dataclasses
import errno
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pairloom._internal.atomic import naming, sync_directory
from pairloom._internal.background_io import WriteBehind
from pairloom.errors import FormatError
from pairloom.shards import manifest as manifest_file
from pairloom.shards.files import MANIFESTS, clear, hidden_folder, is_run_file, refuse_symlink
from pairloom.shards.manifest import Manifest
from pairloom.shards.shards import Shard, Shards
from pairloom.shards.storage import Storage

_HASH_BYTES = 1 << 18
_MAX_WAIT_SECONDS = 1.0

Files = list[dict[str, Any]]
"""What a manifest records of each file of a shard, the ids first: its name, size and SHA-256."""


@contextlib.contextmanager
def publishing(
    folder: Path, manifest: Manifest, tokens: Sequence[str], publish: Callable[[Shard, Files], None]
) -> Iterator[Shards]:
    """Yields shards that are written into `folder` and published in a thread, the last one at the end of the block.

    tokens: as for `Shards`. publish: gets each shard once its files are synced. On error, published shards remain and
    partial files are removed.
    """
    shards: Shards | None = None
    lock, is_open = threading.Lock(), True

    def publish_synced(shard: Shard) -> None:
        files = sync_and_digest(shard)
        with lock:
            if is_open:
                publish(shard, files)

    try:
        # always: shards that wait to be published are kept even if reading fails.
        with WriteBehind(publish_synced, depth=1, always=True) as put:
            shards = Shards(folder, manifest, tokens, put)
            yield shards
            shards.finish()
    except BaseException:
        # Wait for files that are being renamed, but not for a long upload.
        lock.acquire(timeout=_MAX_WAIT_SECONDS)
        is_open = False
        if shards is not None:
            shards.abandon()
        with contextlib.suppress(OSError):
            clear(folder, manifest.file_names)
        raise


class Mirror:
    """A folder at a URL; a local folder holds the run's manifest, and files that are not uploaded yet."""

    def __init__(self, storage: Storage, run: str) -> None:
        self.storage = storage
        self._run = run

    def bring(self, paths: Iterable[Path], manifest: Manifest) -> None:
        """Uploads files, then the manifest that names them; FileExistsError if another run has taken over."""
        self.storage.check_claim(self._run)
        for path in paths:
            self.storage.upload(path, path.name)
        self.storage.write(*manifest.file())

    def fetch(self, folder: Path, *, resume: bool) -> None:
        """Downloads the manifest into the local folder; FileExistsError if there is a run and it is not resumed."""
        names = sorted(filter(is_run_file, self.storage.names()))
        if names and not resume:
            remedy = "already contains a run; resume it (resume=True), or replace it (overwrite=True)"
            raise FileExistsError(errno.EEXIST, remedy, self.storage.url)
        for name in MANIFESTS:
            if name in names:
                (folder / name).write_bytes(self.storage.read(name))

    def check(self, manifest: Manifest) -> None:
        """Raises FormatError if a file that the manifest names is missing or has another size."""
        sizes = self.storage.sizes("")
        for entry in manifest.files:
            if sizes.get(entry["file"]) != entry["size"]:
                raise FormatError(
                    f"{self.storage.url}/{entry['file']}: is missing, or does not have the {entry['size']:,} bytes of "
                    "the manifest; write the shards again (overwrite=True)"
                )

    def clear(self, manifest: Manifest) -> None:
        """Removes the shards that the manifest does not name."""
        for name in set(self.storage.names()) - manifest.file_names - set(MANIFESTS):
            if is_run_file(name):
                self.storage.remove(name)


def publish_shard(folder: Path, manifest: Manifest, mirror: Mirror | None, shard: Shard, files: Files) -> None:
    """Publishes the next shard into the folder: renames the files, then names them in the manifest."""
    paths = rename_to_final(shard)
    sync_directory(folder)
    ids, *others = files
    manifest.replace(
        folder,
        shards=[*manifest.shards, ids | shard.entry | {"next": dataclasses.asdict(shard.point)}],
        indexes=[*manifest.indexes, *others],
        skipped=shard.point.source_skipped,
        skipped_files=list(shard.skipped_files),
    )
    if mirror is not None:
        mirror.bring(paths, manifest)


def sync_and_digest(shard: Shard) -> Files:
    """Syncs and digests the files of a shard, which still have their partial names."""
    return [
        {"file": name, "size": partial.stat().st_size, "sha256": synced_digest(partial)}
        for partial, name in shard.files
    ]


def rename_to_final(shard: Shard) -> list[Path]:
    """Renames the files of a shard from their partial names; returns their paths."""
    # Ids last, so that they never exist without their index.
    return [partial.replace(partial.with_name(name)) for partial, name in reversed(shard.files)]


@contextlib.contextmanager
def replacement(folder: Path) -> Iterator[Path]:
    """Yields a hidden folder in `folder`; at the end of the block, the finished run in it replaces what is there.

    The caller holds the lock. On error the hidden folder is removed, and the old files stay.
    """
    with contextlib.suppress(FormatError):
        finish_replacement(folder)
    with hidden_folder(folder) as new:
        yield new
        manifest = Manifest.load(new)
    manifest.hidden_folder = new.name
    manifest.save(folder)
    put_in_place(folder, manifest)


def finish_replacement(folder: Path) -> None:
    """Completes an interrupted replacement, and removes what killed runs left; the caller holds the lock."""
    if manifest_file.exists(folder):
        put_in_place(folder, Manifest.load(folder))


def put_in_place(folder: Path, manifest: Manifest) -> None:
    """Moves a manifest's files out of its hidden folder, if there is one, and removes all other files of runs."""
    hidden = manifest.hidden_folder
    if hidden:
        if not refuse_symlink(folder / hidden).is_dir():
            raise FormatError(f"{folder / hidden}: is missing, but the manifest lists it; write the shards again")
        for name in manifest.file_names:
            with contextlib.suppress(FileNotFoundError):
                (folder / hidden / name).replace(folder / name)
        manifest.hidden_folder = ""
        sync_directory(folder)
    # A run of another format that was killed while saving its manifest leaves two.
    if hidden or all(os.path.lexists(folder / name) for name in MANIFESTS):
        manifest.save(folder)
    clear(folder, manifest.file_names)


def synced_digest(path: Path) -> str:
    """Syncs a file to disk and returns its SHA-256."""
    # Windows syncs only files that are open for writing. The disk syncs while the processor hashes.
    with naming(path), path.open("r+b", buffering=0) as file, WriteBehind(os.fsync) as sync:
        sync(file.fileno())
        digest = hashlib.sha256()
        # Reuse one buffer: if malloc returns memory at once, as in Dask's workers, each new one costs page faults.
        buffer = memoryview(bytearray(_HASH_BYTES))
        while n_read := file.readinto(buffer):
            digest.update(buffer[:n_read])
    return digest.hexdigest()
