"""Divides the stream of ids into shards of whole documents; each shard is complete or absent.

A shard ends with the first document that brings it to `shard_tokens` tokens, so its content depends only on the
documents. It is written under a partial name, and publishing.py renames it.
"""

import contextlib
import dataclasses
import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from io import BufferedReader
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom._internal.atomic import naming, open_regular
from pairloom.corpus import Position, SkippedFile
from pairloom.errors import FormatError
from pairloom.shards import provenance
from pairloom.shards.files import MODULES, damage_reported, file_names, partial_path, refuse_symlink
from pairloom.shards.manifest import Manifest
from pairloom.shards.provenance import ProvenanceRows, ProvenanceWriter

REMEDY = "repair it (pairloom verify --repair), or write the shards again"


class Batch(NamedTuple):
    """Ids of consecutive documents.

    ends: where documents end in `ids`. byte_ends: where they end in the text of the whole run. literals: int64 [n, 3]
    of (document, special token, count), in document order, for literals that are plain text; a document's number is how
    many ends come before it. points: for each input, how many documents of the batch come before it, and where a run
    resumes there; empty if the documents belong to no input. skipped_files: inputs that were left out. provenance: of
    the documents that end in the batch, if wanted.
    """

    ids: npt.NDArray[Any]
    ends: npt.NDArray[np.int64]
    byte_ends: npt.NDArray[np.int64]
    literals: npt.NDArray[np.int64]
    points: Sequence[tuple[int, Position]] = ()
    skipped_files: Sequence[SkippedFile] = ()
    provenance: ProvenanceRows | None = None


def open_file(folder: Path, manifest: Manifest, name: str) -> BufferedReader:
    """Opens a file that the manifest names; FormatError if it is missing or not a regular file."""
    for place in [refuse_symlink(folder / manifest.hidden_folder), folder] if manifest.hidden_folder else [folder]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return open_regular(place / name)
    raise FormatError(f"{folder / name}: is in the manifest, but does not exist; {REMEDY}")


def check_file(folder: Path, manifest: Manifest, entry: dict[str, Any], *, deep: bool = False) -> None:
    """Raises FormatError unless a file of the manifest is there with its size and, if `deep`, its digest."""
    with open_file(folder, manifest, entry["file"]) as file:
        size = os.fstat(file.fileno()).st_size
        if size != entry["size"]:
            raise FormatError(
                f"{folder / entry['file']}: has {size:,} bytes, not {entry['size']:,} as the manifest says; {REMEDY}"
            )
        if deep and hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
            raise FormatError(f"{folder / entry['file']}: its content differs from the manifest; {REMEDY}")


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raises FormatError if a file's size, or a shard's header or length, differs from the manifest.

    For Parquet, checks sizes only.
    """
    for entry in manifest.files:
        check_file(folder, manifest, entry)
    for number in range(len(manifest.shards) if manifest.format != "parquet" else 0):
        read_shard(folder, manifest, number)


def read_shard(folder: Path, manifest: Manifest, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns (ids, offsets) of a shard, mapped if the format allows; document i is ids[offsets[i]:offsets[i + 1]].

    Their types and lengths match the manifest; the offsets begin with 0 and end with the number of ids, but may be out
    of order in between (`check_order`). Raises FormatError naming the file, MemoryError, OSError.
    """
    entry = manifest.shards[number]
    path = folder / entry["file"]
    with contextlib.ExitStack() as stack:
        names = file_names(manifest.format, number)
        files = [stack.enter_context(open_file(folder, manifest, name)) for name in names]
        with damage_reported(path, "not readable" + "".join(f", or {name} is not" for name in names[1:]), REMEDY):
            ids, offsets = MODULES[manifest.format].read(files, np.dtype(manifest.dtype))
    if offsets.dtype.kind not in "iu" or not ids.ndim == offsets.ndim == 1:
        raise FormatError(f"{path}: its offsets are {offsets.dtype}, not integers, or not one-dimensional; {REMEDY}")
    sound = len(ids) == entry["tokens"] and len(offsets) == entry["documents"] + 1 and ids.dtype == manifest.dtype
    if not sound or offsets[0] != 0 or offsets[-1] != len(ids):
        raise FormatError(
            f"{path}: {len(ids)} ids of {ids.dtype} in {len(offsets) - 1} documents, but the manifest says "
            f"{entry['tokens']} of {manifest.dtype} in {entry['documents']}; {REMEDY}"
        )
    return ids, offsets


def read_provenance(folder: Path, manifest: Manifest, number: int) -> Any:
    """Returns the provenance table of a shard, a pyarrow table; FormatError naming the file, OSError."""
    name = manifest.names_of(number)[-1]
    check_file(folder, manifest, manifest.entries_of(number)[-1])
    with damage_reported(folder / name, "not readable", REMEDY), open_file(folder, manifest, name) as file:
        return provenance.read(file, len(manifest.inputs))


def check_order(path: Path, offsets: npt.NDArray[Any]) -> None:
    """Raises FormatError unless the offsets of the shard at `path` ascend."""
    # Compare instead of subtracting: differences of hostile offsets overflow.
    if not (offsets[1:] >= offsets[:-1]).all():
        raise FormatError(f"{path}: the boundaries of its documents are not in order; {REMEDY}")


def check_ids(path: Path, ids: npt.NDArray[Any], n_vocab: int) -> None:
    """Raises FormatError for an id that is not in the vocabulary of the shards at `path`."""
    # As unsigned numbers, negative ids are large.
    largest = int(ids.view(f"<u{ids.itemsize}").max(initial=0))
    if largest >= n_vocab:
        raise FormatError(f"{path}: contains id {largest}, but the vocabulary has {n_vocab}; {REMEDY}")


class Shard(NamedTuple):
    """A shard that is written under partial names and not yet published.

    files: (partial path, name) of each file, the ids first. entry: what the manifest records of it, without the names
    and digests of its files. point: where the run resumes after it. skipped_files: inputs before that point that were
    left out.
    """

    files: list[tuple[Path, str]]
    entry: dict[str, Any]
    point: Position
    skipped_files: Sequence[SkippedFile]


class Shards:
    """Writes shards into `folder` after those that the manifest names, and passes each one to `publish`.

    `publish` waits for the disk, so it should hand the work to a thread. tokens: the special tokens, in the order of
    their indices in `Batch.literals`.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        tokens: Sequence[str],
        publish: Callable[[Shard], None],
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._provenance: ProvenanceWriter | None = None
        self._shard_tokens = manifest.config["shard_tokens"]
        self._tokens = tokens
        self._publish = publish
        self._writer: Any = None
        self._number = len(manifest.shards)
        self._files: list[tuple[Path, str]] = []
        self._n_tokens = self._n_open_tokens = 0
        self._n_documents = 0
        # Counted over the whole run.
        self._n_bytes = self._begin_bytes = manifest.text_bytes
        self._literals: Counter[int] = Counter()
        # (number of the input, its documents in the shard, their tokens) for each input.
        self._inputs: list[tuple[int, int, int]] = []
        self._point = manifest.next
        self._skipped_files: Sequence[SkippedFile] = manifest.skipped_files
        self._is_abandoned = False

    def add(self, batch: Batch) -> None:
        """Writes the ids of a batch, and closes each shard that is full."""
        ids, ends = batch.ids, batch.ends
        position, first, literal = 0, 0, 0
        while first < len(ends):
            # Up to and including the first document that fills the shard, or all of them.
            wanted = position + self._shard_tokens - self._n_tokens - self._n_open_tokens
            last = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
            stop = int(ends[last])
            self._note_inputs(batch, first, last + 1)
            shift = self._n_tokens + self._n_open_tokens - position
            self._write(ids[position:stop], ends[first : last + 1] - position)
            if self._provenance is not None and batch.provenance is not None:
                self._provenance.write(batch.provenance, first, last + 1, shift)
            n_literals = int(np.searchsorted(batch.literals[:, 0], last, side="right"))
            self._count(batch.literals[literal:n_literals])
            self._n_bytes = int(batch.byte_ends[last])
            position, first, literal = stop, last + 1, n_literals
            if self._n_tokens >= self._shard_tokens:
                self._close()
        if position < len(ids):
            self._write(ids[position:], ends[:0])
        # Those of a document that has not ended, which will end in the shard that is open now.
        self._count(batch.literals[literal:])

    def add_empty(self) -> None:
        """Writes a shard without documents."""
        self._write(np.zeros(0, self._manifest.dtype), np.zeros(0, np.int64))
        self._close()

    def finish(self) -> None:
        """Closes the last shard."""
        if self._n_documents:
            self._close()

    def abandon(self) -> None:
        """Closes the files of the incomplete shard without removing them; nothing is written afterwards."""
        self._is_abandoned = True
        for writer in filter(None, (self._writer, self._provenance)):
            with contextlib.suppress(OSError):
                writer.abandon()
        self._writer = self._provenance = None

    def _note_inputs(self, batch: Batch, first: int, stop: int) -> None:
        """Notes which inputs the documents from `first` to `stop` belong to, before they are written."""
        points, ends = batch.points, batch.ends
        for number in range(max(bisect_right(points, first, key=itemgetter(0)) - 1, 0), len(points)):
            begin, point = points[number]
            start = max(begin, first)
            end = min(points[number + 1][0], stop) if number + 1 < len(points) else stop
            if start >= end:
                continue
            n_documents = end - start
            n_tokens = int(ends[end - 1]) - (int(ends[start - 1]) if start else -self._n_open_tokens)
            if self._inputs and self._inputs[-1][0] == point.source:
                _, documents_before, tokens_before = self._inputs.pop()
                n_documents, n_tokens = n_documents + documents_before, n_tokens + tokens_before
            self._inputs.append((point.source, n_documents, n_tokens))
            self._point = dataclasses.replace(point, documents=point.documents + end - begin)
        self._skipped_files = batch.skipped_files

    def _count(self, literals: npt.NDArray[np.int64]) -> None:
        for _, token, n in literals.tolist():
            self._literals[token] += n

    def _write(self, ids: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> None:
        if self._is_abandoned:
            raise RuntimeError("the shards are abandoned")
        if self._writer is None:
            self._files = [(partial_path(self._folder / name), name) for name in self._manifest.names_of(self._number)]
            partials = [partial for partial, _ in self._files]
            if self._manifest.has_provenance:
                self._provenance = ProvenanceWriter(partials.pop())
            self._writer = MODULES[self._manifest.format].Writer(partials, np.dtype(self._manifest.dtype))
        with naming(self._folder):
            self._writer.write(ids, ends)
        if len(ends):
            self._n_tokens += self._n_open_tokens + int(ends[-1])
            self._n_open_tokens = len(ids) - int(ends[-1])
        else:
            self._n_open_tokens += len(ids)
        self._n_documents += len(ends)

    def _close(self) -> None:
        with naming(self._folder):
            self._writer.finish()
            if self._provenance is not None:
                self._provenance.finish()
        self._writer = self._provenance = None
        n_bytes = self._n_bytes - self._begin_bytes
        entry: dict[str, Any] = {"tokens": self._n_tokens, "documents": self._n_documents, "bytes": n_bytes}
        if self._literals:
            entry["special_literals"] = {self._tokens[token]: n for token, n in sorted(self._literals.items())}
        if self._inputs:
            entry["inputs"] = self._inputs
        skipped = [file for file in self._skipped_files if file.input < self._point.source]
        self._publish(Shard(self._files, entry, self._point, skipped))
        self._number += 1
        self._n_tokens = self._n_documents = 0
        self._begin_bytes = self._n_bytes
        self._literals.clear()
        self._inputs = []
