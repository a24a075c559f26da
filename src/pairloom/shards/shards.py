"""Divides the stream of ids into shards of whole documents; each shard is complete or absent.

A shard ends with the first document that brings it to `shard_tokens` tokens, so its content depends only on the
documents. It is written under a partial name; publishing.py gives it its name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pairloom.corpus import SkippedFile
from pairloom.errors import FormatError
from pairloom.shards import manifest as manifest_file
from pairloom.shards.manifest import Manifest, ResumePoint
from pairloom.shards.writers import bin, megatron, npy, parquet

__all__ = [
    "FORMATS",
    "Batch",
    "Shard",
    "Shards",
    "check_is_folder",
    "clear",
    "dtype_of",
    "file_names",
    "is_run_file",
    "map_shard",
    "not_empty",
    "read_shard",
]

_MODULES: dict[str, Any] = {"npy": npy, "bin": bin, "parquet": parquet, "megatron": megatron}

FORMATS = tuple(_MODULES)
"""The formats that shards can be written in."""

_SHARD_FILE = re.compile(r"\.?shard-(\d{5,})\.(npy|offsets\.npy|bin|idx|parquet)(\.partial)?")


class Batch(NamedTuple):
    """Ids of consecutive documents of one source.

    ends: where documents end in `ids`; byte_ends: where they end in the text of the whole run; first: number of
    documents of the source that ended before. literals: int64 [n, 3] of (document, special token, count), literals that
    are plain text, in the order of the documents; a document is numbered by the ends before it. source_bytes and
    source_skipped: as in `ResumePoint`. skipped_files: earlier inputs of which the rest was skipped.
    withdraws: the batch holds no ids; the open document must be discarded.
    """

    ids: npt.NDArray[Any]
    ends: npt.NDArray[np.int64]
    byte_ends: npt.NDArray[np.int64]
    literals: npt.NDArray[np.int64]
    source: int
    first: int
    source_bytes: int
    source_skipped: int
    skipped_files: Sequence[SkippedFile] = ()
    withdraws: bool = False


class _Writer(Protocol):
    @property
    def n_held_bytes(self) -> int: ...
    def write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None: ...
    def withdraw(self) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


def dtype_of(format: str, n_vocab: int) -> np.dtype[Any]:
    """The dtype of the ids in the files."""
    dtype: np.dtype[Any] = _MODULES[format].dtype(n_vocab)
    return dtype


def is_run_file(name: str) -> bool:
    """Whether the name is one that a run writes."""
    return bool(_SHARD_FILE.fullmatch(name)) or name in (*manifest_file.NAMES, *manifest_file.PARTIALS)


def check_is_folder(folder: Path) -> None:
    """Raises FileExistsError for what exists and is no folder."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "is not a folder; name a new one, or an empty one", str(folder))


def not_empty(folder: str | os.PathLike[str], name: str) -> FileExistsError:
    """The error for a folder that holds `name`, which a run must not remove."""
    return FileExistsError(errno.EEXIST, f"is not empty: it holds {name}; name a new folder", str(folder))


def clear(folder: Path, n_kept: int) -> None:
    """Removes partial files and all shards after the first `n_kept` from `folder`."""
    for path in folder.iterdir():
        found = _SHARD_FILE.fullmatch(path.name)
        if path.name in manifest_file.PARTIALS or (found and (found[3] or int(found[1]) >= n_kept)):
            path.unlink()


def read_shard(folder: Path, manifest: Manifest, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(ids, offsets) of a shard: document i is ids[offsets[i]:offsets[i + 1]]."""
    return _read(folder, manifest, number)


def map_shard(folder: Path, manifest: Manifest, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """As `read_shard`, the offsets mapped too where the format can."""
    return _read(folder, manifest, number, maps=True)


def _read(
    folder: Path, manifest: Manifest, number: int, *, maps: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """(ids, offsets) of a shard; FormatError for one that is damaged or not there, or what the system says."""
    paths = [path for _, path in _paths(folder, manifest.format, number)]
    try:
        with manifest_file.damage_reported(paths[0], "not readable", "write the shards again"):
            ids, offsets = _MODULES[manifest.format].read(paths, np.dtype(manifest.dtype))
            if maps and paths[-1].suffix == ".npy":
                offsets = np.load(paths[-1], mmap_mode="r")
    except FileNotFoundError as error:
        raise FormatError(f"{error.filename}: is in the manifest, but not there; write the shards again") from error
    return ids, offsets


class Shard(NamedTuple):
    """A shard that is written under partial names and not yet published.

    n_bytes: bytes of its text. point: where the run resumes after it; skipped_files: inputs before that point of which
    the rest was skipped.
    """

    number: int
    n_tokens: int
    n_documents: int
    n_bytes: int
    special_literals: dict[str, int]
    point: ResumePoint
    skipped_files: Sequence[SkippedFile]


class Shards:
    """Writes shards into `folder` after those that the manifest names, and passes each to `publish`.

    `publish` waits for the disk, so it should hand over to a thread. tokens: the special tokens, in
    the order of the indices in `Batch.literals`.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        shard_tokens: int,
        tokens: Sequence[str],
        publish: Callable[[Shard], None],
    ) -> None:
        self._folder = folder
        self._format = manifest.format
        self._dtype = np.dtype(manifest.dtype)
        self._shard_tokens = shard_tokens
        self._tokens = tokens
        self._publish = publish
        self._writer: _Writer | None = None
        self._number = len(manifest.shards)
        self._n_tokens = self._n_open_tokens = 0
        self._n_documents = 0
        # Of the whole run.
        self._n_bytes = self._begin_bytes = manifest.text_bytes
        self._literals: Counter[int] = Counter()
        self._open_literals: Counter[int] = Counter()
        self._point = manifest.next
        self._skipped_files: Sequence[SkippedFile] = manifest.skipped_files
        self._is_abandoned = False

    def add(self, batch: Batch) -> None:
        """Writes ids, ending shards on the way."""
        if batch.withdraws:
            self._withdraw()
            return
        ids, ends = batch.ids, batch.ends
        position, first, literal = 0, 0, 0
        while first < len(ends):
            # Up to the first document that fills the shard, or all of them.
            wanted = position + self._shard_tokens - self._n_tokens - self._n_open_tokens
            last = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
            stop = int(ends[last])
            self._write(ids[position:stop], ends[first : last + 1] - position)
            n_literals = int(np.searchsorted(batch.literals[:, 0], last, side="right"))
            self._count(self._literals, batch.literals[literal:n_literals])
            self._literals.update(self._open_literals)
            self._open_literals.clear()
            self._n_bytes = int(batch.byte_ends[last])
            self._point = ResumePoint(batch.source, batch.first + last + 1, batch.source_bytes, batch.source_skipped)
            self._skipped_files = batch.skipped_files
            position, first, literal = stop, last + 1, n_literals
            if self._n_tokens >= self._shard_tokens:
                self._close()
        if position < len(ids):
            self._write(ids[position:], ends[:0])
        self._count(self._open_literals, batch.literals[literal:])

    @property
    def n_held_bytes(self) -> int:
        """About how many bytes the shard takes that are not written yet; may be asked by any thread."""
        writer = self._writer
        return 0 if writer is None else writer.n_held_bytes

    def finish(self) -> None:
        """Closes the last shard."""
        if self._n_documents:
            self._close()
        elif self._writer is not None:
            # It held nothing but a document that was withdrawn.
            self._writer.abandon()
            self._writer = None
            clear(self._folder, self._number)

    def abandon(self) -> None:
        """Closes the files of the incomplete shard without removing them; nothing is written afterwards."""
        self._is_abandoned = True
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.abandon()
            self._writer = None

    def _withdraw(self) -> None:
        """Discards the open document."""
        if self._writer is not None and self._n_open_tokens:
            self._writer.withdraw()
        self._n_open_tokens = 0
        self._open_literals.clear()

    def _count(self, counts: Counter[int], literals: npt.NDArray[np.int64]) -> None:
        for _, token, n in literals.tolist():
            counts[token] += n

    def _write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        if self._is_abandoned:
            raise RuntimeError("the shards are abandoned")
        if self._writer is None:
            paths = [partial for partial, _ in _paths(self._folder, self._format, self._number)]
            writer: _Writer = _MODULES[self._format].Writer(paths, self._dtype)
            self._writer = writer
        self._writer.write(ids, ends)
        if len(ends):
            self._n_tokens += self._n_open_tokens + int(ends[-1])
            self._n_open_tokens = len(ids) - int(ends[-1])
        else:
            self._n_open_tokens += len(ids)
        self._n_documents += len(ends)

    def _close(self) -> None:
        assert self._writer is not None
        self._writer.finish()
        self._writer = None
        literals = {self._tokens[token]: n for token, n in sorted(self._literals.items())}
        self._publish(
            Shard(
                self._number,
                self._n_tokens,
                self._n_documents,
                self._n_bytes - self._begin_bytes,
                literals,
                self._point,
                self._skipped_files,
            )
        )
        self._number += 1
        self._n_tokens = self._n_documents = 0
        self._begin_bytes = self._n_bytes
        self._literals.clear()


def file_names(format: str, number: int) -> list[tuple[str, str]]:
    """(partial name, name) of each file of a shard, the ids first."""
    names = [f"shard-{number:05d}{suffix}" for suffix in _MODULES[format].SUFFIXES]
    return [(f".{name}.partial", name) for name in names]


def _paths(folder: Path, format: str, number: int) -> list[tuple[Path, Path]]:
    return [(folder / partial, folder / name) for partial, name in file_names(format, number)]
