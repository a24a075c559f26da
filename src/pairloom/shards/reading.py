"""open_shards: a folder of shards as a sequence of documents and as batches for a training loop.

Shards are memory-mapped, so opening a folder reads only manifests and headers, and processes share the memory they
read. Parquet cannot be mapped; the two Parquet shards used last are held in memory.

Batches follow one definition, so that a resumed loop and every rank compute the same ones: an epoch is all tokens, in
an order defined by `seed` and the epoch number; epochs follow each other without a gap; this stream is cut into rows.
docs/shards.md specifies it.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_bool, check_choice, check_int, check_path, check_str
from pairloom._internal.urls import is_url, public_url
from pairloom.errors import FormatError
from pairloom.shards.batches import Batches, FolderRows, by_block, by_document, padded_rows
from pairloom.shards.cache import CACHE_BYTES, ShardCache
from pairloom.shards.manifest import Manifest, exists
from pairloom.shards.mixing import MixedShards, Weights
from pairloom.shards.shards import check_ids, check_order, read_provenance, read_shard
from pairloom.shards.where import Origin, find_origins

Ids = npt.NDArray[Any]
Places = npt.NDArray[np.int64]


@overload
def open_shards(
    folder: str | os.PathLike[str],
    *,
    incomplete: bool = False,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> OpenShards: ...
@overload
def open_shards(
    folder: Mapping[str, str | os.PathLike[str] | OpenShards],
    *,
    weights: Weights,
    incomplete: bool = False,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> MixedShards: ...
def open_shards(
    folder: Any,
    *,
    weights: Weights | None = None,
    incomplete: bool = False,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> OpenShards | MixedShards:
    """Opens a folder that `tokenize_files` wrote, or a mixture of several, for reading.

    folder: a path or an fsspec URL; for a mixture, a dict from names to paths, URLs or `OpenShards`, all written with
    one tokenizer. weights: for a mixture, each folder's share of the tokens, by name, in any unit. If they change, pass
    a list of (first step, weights); the first entry starts at step 0.
    incomplete: accept a folder whose run has not ended, and read its finished shards.
    cache: for a URL, the local folder for fetched shards; a shard is fetched whole when any of it is read. None means
    `pairloom/shards` in the user's cache folder. Processes share it. cache_bytes: its size, at least two shards.

    Raises FileNotFoundError for a folder without a manifest, OSError, ValueError for different tokenizers or weights
    that do not fit the folders, FormatError for a folder that is damaged, or unfinished without `incomplete`.
    """
    check_bool("incomplete", incomplete)
    if isinstance(folder, Mapping):
        opened = {
            check_str("the name of a folder", name): value
            if isinstance(value, OpenShards)
            else open_shards(value, incomplete=incomplete, cache=cache, cache_bytes=cache_bytes)
            for name, value in folder.items()
        }
        return MixedShards(opened, weights)
    if weights is not None:
        raise ValueError("weights need several folders; pass the folders as a dict by name")
    remote = ShardCache(folder, cache, cache_bytes) if isinstance(folder, str) and is_url(folder) else None
    path = shard_folder(folder) if remote is None else Path(public_url(remote.url))
    manifest = Manifest.load(path) if remote is None else remote.manifest
    if not manifest.complete and not incomplete:
        shown_path = path if remote is None else public_url(remote.url)
        remedy = "resume it, or read the finished shards: open_shards(folder, incomplete=True)"
        raise FormatError(f"{shown_path}: the run that writes it has not finished; {remedy}")
    # Shards are opened again later, by workers too, where the working directory may be another.
    return OpenShards(path.absolute() if remote is None else path, manifest, remote)


def shard_folder(folder: str | os.PathLike[str]) -> Path:
    """Returns the path of a folder with a manifest; FileNotFoundError, ValueError for a URL."""
    path = Path(check_path("folder", folder))
    if not path.is_dir() or not exists(path):
        parts = sorted(part.name for part in path.iterdir() if exists(part)) if path.is_dir() else []
        if parts:
            raise FileNotFoundError(
                errno.ENOENT, f"is not a folder of shards, but contains {', '.join(parts)}; pass one of them", str(path)
            )
        raise FileNotFoundError(
            errno.ENOENT,
            "is not a folder of shards, because it has no manifest; pass one that pairloom tokenize wrote",
            str(path),
        )
    return path


class OpenShards(Sequence[Ids]):
    """The documents of a folder of shards, in input order; made by `open_shards`.

    `shards[i]` is document i: a read-only array [n] of `dtype`, a view of the mapped file. Pickles its path and
    manifest.
    """

    def __init__(self, folder: Path, manifest: Manifest, remote: ShardCache | None = None) -> None:
        self.folder = folder
        self.manifest = manifest
        self._remote = remote
        self.dtype = np.dtype(manifest.dtype)
        tokens = [int(shard["tokens"]) for shard in manifest.shards]
        documents = [int(shard["documents"]) for shard in manifest.shards]
        self._first_token = np.cumsum([0, *tokens], dtype=np.int64)
        self._first_document = np.cumsum([0, *documents], dtype=np.int64)
        read = partial(read_shard, folder, manifest) if remote is None else remote.read
        read_table = partial(read_provenance, folder, manifest) if remote is None else remote.provenance
        self._provenance = lru_cache(2)(read_table)
        # Shards of a URL are mapped too, but as long as they are, they take up disk space, so only two are held.
        self._holds_all = manifest.format != "parquet" and remote is None
        self._shard = lru_cache(None if self._holds_all else 2)(read)
        if self._holds_all:
            for number in range(len(tokens)):
                self._shard(number)

    def __len__(self) -> int:
        """The number of documents."""
        return int(self._first_document[-1])

    @property
    def n_tokens(self) -> int:
        """The number of ids of all documents."""
        return int(self._first_token[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = check_int("index", int(index) if isinstance(index, np.integer) else index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"document {number} of {len(self)}")
        number %= len(self)
        shard = int(np.searchsorted(self._first_document, number, side="right")) - 1
        ids, offsets = self._shard(shard)
        at = number - int(self._first_document[shard])
        start, end = int(offsets[at]), int(offsets[at + 1])
        if not 0 <= start <= end <= len(ids):
            check_order(self._path(shard), offsets)
        return self._checked(ids[start:end])

    def __iter__(self) -> Iterator[Ids]:
        for number in range(len(self.manifest.shards)):
            ids, offsets = self._shard(number)
            self._lengths(number)
            self._checked(ids)
            for start, end in itertools.pairwise(offsets.tolist()):
                yield ids[start:end]

    def lengths(self) -> npt.NDArray[np.int64]:
        """Returns the number of ids of each document: int64 [documents]."""
        parts = [self._lengths(number) for number in range(len(self.manifest.shards))]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _lengths(self, number: int) -> npt.NDArray[np.int64]:
        """Returns the lengths of a shard's documents; FormatError if its offsets are not in order."""
        offsets = self._shard(number)[1]
        check_order(self._path(number), offsets)
        lengths: npt.NDArray[np.int64] = np.diff(offsets.astype(np.int64, copy=False))
        return lengths

    @cached_property
    def document_bounds(self) -> Places:
        """Where each document begins in all ids joined, then the total number of ids: int64 [documents + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths())])

    def where(
        self,
        *,
        shard: int | None = None,
        token: int | None = None,
        id: str | None = None,
        document: int | None = None,
    ) -> list[Origin]:
        """Returns where tokens come from: a token's document, all documents with an id, or the document of an index.

        For packed shards, returns document parts instead. Raises ValueError for arguments that name nothing, and for an
        id if the shards were written without ids.
        """
        return find_origins(self, shard, token, id, document)

    def offsets(self, shard: int) -> Places:
        """Returns where each document of a shard begins in its ids, then the number of ids: [documents + 1]."""
        self._lengths(shard)
        offsets: Places = self._shard(shard)[1]
        return offsets

    def ids(self, shard: int) -> Ids:
        """Returns all ids of a shard."""
        return self._checked(self._shard(shard)[0])

    def provenance(self, shard: int) -> Any:
        """Returns the provenance table of a shard, a pyarrow table; docs/shards.md names its columns."""
        if not self.manifest.has_provenance:
            raise ValueError(f"{self.folder}: was written without provenance; tokenize with provenance=True")
        return self._provenance(shard)

    def _path(self, number: int) -> Path:
        return self.folder / str(self.manifest.shards[number]["file"])

    def _checked(self, ids: Ids) -> Ids:
        """Returns the ids; FormatError if one is not in the vocabulary."""
        check_ids(self.folder, ids, self.manifest.n_vocab)
        return ids

    def tokens(self, start: int, stop: int) -> Ids:
        """Returns ids `start` to `stop` of all documents joined: a view if they lie in one shard, else a copy."""
        check_int("start", start, least=0, most=self.n_tokens)
        check_int("stop", stop, least=start, most=self.n_tokens)
        parts = list(self._pieces(start, stop))
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, self.dtype), *parts])

    def _pieces(self, start: int, stop: int) -> Iterator[Ids]:
        shard = int(np.searchsorted(self._first_token, start, side="right")) - 1
        while start < stop:
            first, end = int(self._first_token[shard]), min(stop, int(self._first_token[shard + 1]))
            if end > start:
                yield self._checked(self._shard(shard)[0][start - first : end - first])
                start = end
            shard += 1

    def copy_pieces(self, starts: Places, stops: Places, ids: Ids, places: Places) -> None:
        """Copies ranges of all ids joined to their places in `ids`; FormatError if an id is not in the vocabulary.

        starts, stops, places: int64 [n]. ids: of the shards' dtype, 0 where nothing is copied; all of it is checked.
        """
        shards = np.searchsorted(self._first_token, starts, side="right") - 1
        if not self._holds_all:
            # Only two shards are held, so visit the shards in order.
            order = np.argsort(shards, kind="stable")
            shards, starts, stops, places = shards[order], starts[order], stops[order], places[order]
        firsts, ends = self._first_token[shards], self._first_token[shards + 1]
        pieces = zip(shards.tolist(), firsts.tolist(), ends.tolist(), starts.tolist(), stops.tolist(), places.tolist())
        for shard, first, end, start, stop, at in pieces:
            if stop <= end:
                ids[at : at + stop - start] = self._shard(shard)[0][start - first : stop - first]
                continue
            for part in self._pieces(start, stop):
                ids[at : at + len(part)] = part
                at += len(part)
        self._checked(ids)

    def batches(
        self,
        *,
        seq_len: int,
        batch: int,
        seed: int | None = None,
        shuffle: str = "block",
        mode: str = "packed",
        rank: int = 0,
        world_size: int = 1,
        step: int = 0,
        epoch: int = 0,
        row: int = 0,
        epochs: int | None = None,
        pad_id: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> Batches:
        """Returns an iterator of batches of ids: arrays [batch, seq_len] of `dtype` (None: that of the shards).

        mode: "packed" rows hold the tokens of one document after another, cut wherever a row is full; "padded" rows
        hold one document, or a part of a longer one, followed by `pad_id`.
        seed: None keeps the order of the documents; with a seed, each epoch has its own order, the same on every
        machine. shuffle: "block" moves blocks of seq_len tokens (rows, when padded); "document" moves whole documents,
        and holds 16 bytes per document in memory.
        rank, world_size: each step has world_size * batch rows; rank r gets rows r * batch to (r + 1) * batch.
        step: where to begin; `Batches.step` is the next one, which a checkpoint should store.
        epoch: the epoch of the first row. row: the first row of step 0, counted over all ranks; pass `Batches.row` of a
        run that had another batch or world_size to continue it.
        epochs: None never ends: epochs follow each other without a gap, so every batch is full. With a number, `pad_id`
        fills the rows and tokens that the last step lacks. Every token occurs once per epoch.

        Raises ValueError for wrong numbers, if there are no tokens, and if padding is needed without pad_id.
        """
        order: dict[str, Any] = {"seq_len": seq_len, "seed": seed, "shuffle": shuffle, "mode": mode}
        rows = self.rows(**order, epochs=epochs, pad_id=pad_id, dtype=dtype)
        return Batches(rows, batch, rank, world_size, step, epoch, row, {"tokens": self.n_tokens, **order})

    def rows(
        self,
        seq_len: int,
        *,
        seed: int | None,
        shuffle: str,
        mode: str,
        epochs: int | None,
        pad_id: int | None,
        dtype: npt.DTypeLike | None,
    ) -> FolderRows:
        """Returns the rows that `batches` divides into steps and ranks; raises the same errors."""
        check_int("seq_len", seq_len, least=1)
        check_choice("mode", mode, ("packed", "padded"))
        check_choice("shuffle", shuffle, ("block", "document"))
        if seed is not None:
            check_int("seed", seed, least=0, most=(1 << 64) - 1)
        if epochs is not None:
            check_int("epochs", epochs, least=1)
        if isinstance(dtype, (list, tuple, dict)):
            raise TypeError("dtype must be one integer type, such as numpy.int64")
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if wanted.kind not in "iu" or self.manifest.n_vocab - 1 > np.iinfo(wanted).max:
            raise ValueError(f"dtype {wanted} cannot hold ids up to {self.manifest.n_vocab - 1}; pass int64")
        if pad_id is not None:
            check_int("pad_id", pad_id, least=int(np.iinfo(wanted).min), most=int(np.iinfo(wanted).max))
        if not self.n_tokens:
            raise ValueError(f"{self.folder} contains no tokens, so there are no batches")
        if mode == "padded":
            order = padded_rows(self.lengths(), seq_len, seed, shuffle)
        elif seed is None or shuffle == "block":
            order = by_block(self.n_tokens, seq_len, seed)
        else:
            order = by_document(self.lengths(), seed)
        return FolderRows(self, order, seq_len, epochs, pad_id, wanted)

    def __reduce__(self) -> tuple[Any, ...]:
        # With the manifest: a folder that is still being written has more shards later.
        return OpenShards, (self.folder, self.manifest, self._remote)

    def __repr__(self) -> str:
        name = str(self.folder) if self._remote is None else public_url(self._remote.url)
        return f"OpenShards({name!r}, {len(self)} documents, {self.n_tokens} tokens)"
