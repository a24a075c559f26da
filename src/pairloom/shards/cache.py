"""ShardCache: shards of a URL as local files, in a folder of bounded size that processes share.

A shard is fetched whole, in ranges that are requested again if a connection breaks, and counts once its files have the
digests that the manifest records. Its folder is named after these digests, so several URLs can share a cache, and
replaced shards are never mistaken for the new ones. To make room, the least recently used shards are removed. Each
shard has a lock, so that only one process fetches it and none removes it while it is being opened; a shard that is
already mapped can be removed.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import check_int, check_path
from pairloom._internal.folder_lock import locked_file
from pairloom._internal.urls import public_url
from pairloom.corpus.remote import copy_remote
from pairloom.errors import FormatError
from pairloom.shards.files import MANIFESTS, remove_any
from pairloom.shards.manifest import Manifest
from pairloom.shards.shards import read_provenance, read_shard

CACHE_BYTES = 50_000_000_000
"""Default size of the cache in bytes."""

_PARTIAL = ".partial"
_KEY_LENGTH = 32


class ShardCache:
    """The shards of an fsspec URL, fetched into `folder` when they are needed.

    folder: None means `pairloom/shards` in the user's cache folder. max_bytes: ValueError unless two shards fit.
    manifest: None fetches it.
    Raises FileNotFoundError for a URL without a manifest, OSError, FormatError.
    """

    def __init__(
        self, url: str, folder: str | os.PathLike[str] | None, max_bytes: int, manifest: Manifest | None = None
    ) -> None:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self.folder = Path(caches, "pairloom", "shards") if folder is None else Path(check_path("cache", folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.max_bytes = check_int("cache_bytes", max_bytes, least=1)
        self.url = url.rstrip("/")
        self.manifest = manifest or self._fetched_manifest()
        shards = map(self.manifest.entries_of, range(len(self.manifest.shards)))
        self._sizes = [sum(file["size"] for file in files) for files in shards]
        if self.max_bytes < 2 * max(self._sizes, default=0):
            raise ValueError(
                f"cache_bytes is {max_bytes:,}, but the cache must have space for two shards, "
                f"{2 * max(self._sizes):,} bytes"
            )
        self._last = -1
        self._ahead: threading.Thread | None = None

    def read(self, number: int) -> tuple[Any, Any]:
        """Returns (ids, offsets) of a shard, like `read_shard`; reads in turn fetch the next one ahead."""
        found: tuple[Any, Any] = self._read_cached(number)
        is_in_turn, self._last = number == self._last + 1, number
        is_idle = self._ahead is None or not self._ahead.is_alive()
        if is_in_turn and is_idle and number + 1 < len(self._sizes) and self.max_bytes >= 3 * max(self._sizes):
            self._ahead = threading.Thread(target=self._fetch_ahead, args=(number + 1,), daemon=True)
            # If no thread can start, the shard is fetched when it is needed.
            with contextlib.suppress(RuntimeError, MemoryError):
                self._ahead.start()
        return found

    def _fetch_ahead(self, number: int) -> None:
        # Errors are raised when the shard is needed.
        with contextlib.suppress(Exception):
            self._read_cached(number)

    def provenance(self, number: int) -> Any:
        """Returns the provenance table of a shard, like `read_provenance`."""
        return self._read_cached(number, read_provenance)

    def _read_cached(self, number: int, read: Callable[[Path, Manifest, int], Any] = read_shard) -> Any:
        """Fetches the shard unless it is there, and returns `read` of it."""
        known = "".join(file["file"] + file["sha256"] for file in self.manifest.entries_of(number))
        key = hashlib.sha256(known.encode()).hexdigest()[:_KEY_LENGTH]
        place = self.folder / key
        with locked_file(place.with_suffix(".lock")):
            if not place.is_dir():
                self._make_room(self._sizes[number])
                self._fetch(number, place)
            os.utime(place)
            return read(place, self.manifest, number)

    def _fetch(self, number: int, place: Path) -> None:
        """Fetches the files of a shard; the caller holds its lock."""
        partial = place.with_name(place.name + _PARTIAL)
        remove_any(partial)
        partial.mkdir()
        try:
            for file in self.manifest.entries_of(number):
                url = f"{self.url}/{file['file']}"
                # Try twice: a wrong answer need not be wrong the second time.
                if not any(copy_remote(url, partial / file["file"], file["size"]) == file["sha256"] for _ in range(2)):
                    raise FormatError(
                        f"{public_url(url)}: its content differs from the manifest; write the shards again, or copy "
                        "them there again"
                    )
            partial.rename(place)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise

    def _make_room(self, n_bytes: int) -> None:
        """Removes the least recently used shards until there is room for `n_bytes`."""
        found = []
        for place in self.folder.iterdir():
            # Files that other processes remove meanwhile take no room.
            with contextlib.suppress(OSError):
                if len(place.name.removesuffix(_PARTIAL)) == _KEY_LENGTH and place.is_dir():
                    size = sum(file.stat().st_size for file in place.iterdir())
                    found.append((place.stat().st_mtime_ns, size, place))
        n_used = sum(size for _, size, _ in found)
        for _, size, place in sorted(found):
            if n_used + n_bytes <= self.max_bytes:
                return
            with locked_file(place.with_suffix(".lock"), wait=False) as is_free:
                if is_free:
                    shutil.rmtree(place, ignore_errors=True)
                    n_used -= size

    def _fetched_manifest(self) -> Manifest:
        with tempfile.TemporaryDirectory(prefix="pairloom-") as local:
            folder = Path(local)
            for name in MANIFESTS:
                with contextlib.suppress(FileNotFoundError):
                    copy_remote(f"{self.url}/{name}", folder / name)
                    break
            else:
                message = "is not a folder of shards, because it has no manifest; pass one that pairloom tokenize wrote"
                raise FileNotFoundError(errno.ENOENT, message, public_url(self.url))
            try:
                return Manifest.load(folder)
            except FormatError as error:
                raise FormatError(str(error).replace(local, public_url(self.url))) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardCache, (self.url, self.folder, self.max_bytes, self.manifest)
