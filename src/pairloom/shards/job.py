"""ShardJob: many workers write the shards of one folder in two phases, so that a rerun neither loses nor doubles any.

Phase one: a worker encodes its documents into shards under names of its own, in a hidden folder of the job, and returns
a receipt. Phase two: the driver commits the receipts it wants, once: their shards get their final names, then the
manifest, which alone makes them count, appears; all other files of the job are removed. So a worker may die, run twice
or be repeated. A driver that dies before the manifest appears leaves nothing that counts, and the next job removes it.

Folders are local paths or, with the extra [remote], URLs of fsspec. The result is that of docs/shards.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import (
    check_bool,
    check_path,
    check_several,
    check_str,
    resolve_threads,
    shown,
)
from pairloom.corpus import Corpus, SkippedFile
from pairloom.corpus.compression import PIECE_BYTES
from pairloom.corpus.text_batches import is_arrow
from pairloom.errors import CorpusError, ResumeError
from pairloom.shards.config import SHARD_TOKENS, new_manifest, run_config
from pairloom.shards.encoding import block_encoder, encode_corpus
from pairloom.shards.files import MANIFESTS, check_is_folder, file_names, is_run_file, not_empty
from pairloom.shards.manifest import Manifest, ResumePoint, digested
from pairloom.shards.memory import memory_plan
from pairloom.shards.publishing import PublishedShard, publishing, renamed, sealed
from pairloom.shards.shards import Batch, Shard, Shards
from pairloom.shards.storage import Storage, storage_of
from pairloom.tokenizer import Tokenizer, check_tokenizer

__all__ = ["Receipt", "ShardJob", "ShardTask"]

_HIDDEN = ".pairloom-job"
_OWNER = f"{_HIDDEN}.json"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker wrote: plain values, which pickle and go through JSON.

    run: the job. task: the caller's name for the task. attempt: this writing of it. shards: the manifest's entry of
    each shard, and its files' names and digests. inputs: what a corpus was read from. skipped_files: of these, by
    their index among `inputs`.
    """

    run: str
    task: str
    attempt: str
    shards: tuple[PublishedShard, ...]
    n_skipped: int
    inputs: tuple[dict[str, Any], ...] = ()
    skipped_files: tuple[SkippedFile, ...] = ()


class _Attempt:
    """Publishes the shards of an attempt: under their names in its hidden folder."""

    def __init__(self, storage: Storage, name: str) -> None:
        self.shards: list[PublishedShard] = []
        self._storage, self._name = storage, name
        self._is_closed = False

    def publish(self, shard: Shard) -> None:
        """Brings the files to where they wait for the commit."""
        published = sealed(shard)
        if self._is_closed:
            return
        for path in renamed(shard):
            self._storage.upload(path, f"{self._name}/{path.name}")
        self.shards.append(published)

    def close(self) -> None:
        """Publishes nothing any more; what is under way is removed with the hidden folder."""
        self._is_closed = True


@dataclass(frozen=True)
class ShardTask:
    """What workers need; it pickles. Made by `ShardJob.task`."""

    folder: str
    run: str
    tokenizer: Tokenizer
    config: dict[str, Any]
    text_field: str | None
    skip_bad: bool
    threads: int

    def write(self, batches: Iterable[Any], task: str | int = "") -> Receipt:
        """Encodes the documents of `batches` into shards of this attempt; they count once the receipt is committed.

        batches: lists of str, Arrow columns of text, or Arrow tables and record batches with the column `text_field`.
        task: the name of the task, in which order shards are committed; of two receipts with one name, one counts.
        Raises CorpusError for a null, or bytes that are not UTF-8, unless skip_bad, OSError.
        """
        check_several("batches", "batches of documents", batches)
        name = _checked_name(task)
        with self._attempt() as (attempt, number, shards, _):
            n_skipped = self._encode(batches, shards)
        return Receipt(self.run, name, number, tuple(attempt.shards), n_skipped)

    def write_corpus(
        self, corpus: Corpus, task: str | int = "", *, report: Any = None, max_memory: int | None = None
    ) -> Receipt:
        """Encodes the documents of a corpus, without a Python object for each, as `write` does batches.

        report: called as `tokenize_files` calls `progress`, with the parts of an event. max_memory: as there.
        """
        name = _checked_name(task)
        plan = memory_plan(max_memory, self.config["format"])
        with self._attempt() as (attempt, number, shards, manifest):
            reading = encode_corpus(self.tokenizer, corpus, manifest, shards, self.threads, report, plan)
        reading.warn()
        inputs, skipped = tuple(digested(corpus.listing, manifest.digests)), tuple(reading.skipped_files)
        return Receipt(self.run, name, number, tuple(attempt.shards), reading.n_skipped, inputs, skipped)

    @contextlib.contextmanager
    def _attempt(self) -> Iterator[tuple[_Attempt, str, Shards, Manifest]]:
        """A new attempt, its number, its shards, and their manifest, which stays empty; on error nothing is left."""
        storage, number = storage_of(self.folder), secrets.token_hex(8)
        run = f"{_HIDDEN}-{self.run}"
        manifest = new_manifest(self.tokenizer, self.config, [])
        with tempfile.TemporaryDirectory(prefix="pairloom-") as local:
            folder = storage.staged(run, number, Path(local))
            attempt = _Attempt(storage, f"{run}/{number}")
            try:
                with publishing(folder, manifest, list(self.tokenizer.special_tokens), attempt) as shards:
                    yield attempt, number, shards, manifest
            except BaseException:
                with contextlib.suppress(OSError):
                    storage.remove_folder(f"{run}/{number}")
                raise

    def _encode(self, batches: Iterable[Any], shards: Shards) -> int:
        encoder = block_encoder(self.tokenizer, self.config, self.threads)
        columns = _core.TextColumns("texts", replace=False, skip=self.skip_bad)
        n_documents = n_bytes = n_skipped = 0
        for batch in itertools.chain.from_iterable(map(_parts, batches)):
            documents, n_left_out = self._documents(columns, batch, n_documents + n_skipped)
            ids, ends, literals = encoder.push(documents, name=str(self.folder), first=n_documents)
            shards.add(Batch(ids, ends, documents.ends() + n_bytes, literals, 0, n_documents, 0, 0))
            n_documents += len(ends)
            n_bytes += documents.n_bytes
            n_skipped += n_left_out
        return n_skipped

    def _documents(self, columns: _core.TextColumns, batch: Any, first: int) -> tuple[_core.Documents, int]:
        if not is_arrow(batch):
            return _core.Documents.from_texts(batch, first=first), 0
        if self.text_field is not None:
            try:
                batch = batch[self.text_field]
            except (KeyError, IndexError, TypeError):
                names = getattr(getattr(batch, "schema", None), "names", None) or getattr(batch, "columns", "unknown")
                raise CorpusError(
                    f"no column {self.text_field!r}; the columns are {names}; name one with text_field"
                ) from None
        return columns.read_arrow(batch, first)


def _shown(names: Iterable[str]) -> list[str]:
    """The names but those that jobs hide, sorted."""
    return sorted(name for name in names if not name.startswith(_HIDDEN))


def _parts(batch: Any) -> Iterator[Any]:
    """The batch, a table of pyarrow some megabytes at a time: engines give tables of any size."""
    n_rows, n_bytes = getattr(batch, "num_rows", None), getattr(batch, "nbytes", None)
    if not isinstance(n_rows, int) or not isinstance(n_bytes, int) or n_bytes <= PIECE_BYTES:
        yield batch
        return
    at_once = max(n_rows * PIECE_BYTES // n_bytes, 1)
    for start in range(0, n_rows, at_once):
        yield batch.slice(start, at_once)


def _checked_name(task: str | int) -> str:
    if not isinstance(task, (str, int)):
        raise TypeError(f"task must be a str or an int, not {type(task).__name__}")
    return str(task)


class ShardJob:
    """The driver's side of a folder of shards that workers write; a context manager that aborts unless it committed.

    ShardJob(folder, tokenizer, *, format="npy", eot=None, bos=None, specials="ordinary", shard_tokens=100_000_000,
    text_field=None, skip_bad=False, threads=1, overwrite=False, takeover=False): folder is new or empty, threads are
    those of one worker, the other arguments those of `tokenize_files`. overwrite: remove the shards in it at once.
    takeover: remove what a dead job left in a remote folder, which has no lock that ends with its process.
    Raises ValueError and TypeError for arguments; `with` raises FileExistsError for a folder in use or not empty,
    `commit` ResumeError for receipts of another job and for lost files.

    >>> with ShardJob("shards", tokenizer) as job:  # doctest: +SKIP
    ...     manifest = job.commit([job.task.write(part, number) for number, part in enumerate(parts)])
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        tokenizer: Tokenizer,
        *,
        format: str = "npy",
        eot: str | bool | None = None,
        bos: str | bool | None = None,
        specials: str = "ordinary",
        shard_tokens: int = SHARD_TOKENS,
        text_field: str | None = None,
        skip_bad: bool = False,
        threads: int = 1,
        overwrite: bool = False,
        takeover: bool = False,
    ) -> None:
        check_tokenizer("tokenizer", tokenizer)
        check_bool("skip_bad", skip_bad)
        check_bool("overwrite", overwrite)
        check_bool("takeover", takeover)
        if text_field is not None:
            check_str("text_field", text_field)
        config = run_config(tokenizer, format=format, eot=eot, bos=bos, specials=specials, shard_tokens=shard_tokens)
        self._storage = storage_of(check_path("folder", folder))
        self._overwrite = overwrite
        self._takeover = takeover
        self._is_open = False
        self._was_missing = False
        self._stack = contextlib.ExitStack()
        self.task = ShardTask(
            str(self._storage.url),
            secrets.token_hex(8),
            tokenizer,
            config,
            text_field,
            skip_bad,
            resolve_threads(threads),
        )
        """What workers get."""

    def __enter__(self) -> ShardJob:
        """Claims the folder; FileExistsError where another job has it, or where it is not empty."""
        storage = self._storage
        with contextlib.ExitStack() as stack:
            stack.enter_context(storage.claimed())
            names = storage.names()
            if _OWNER in names and storage.local is None and not self._takeover:
                raise FileExistsError(
                    errno.EEXIST,
                    "another job writes here; wait until it ends, or pass takeover=True if its driver is dead",
                    storage.url,
                )
            own = f"{_HIDDEN}-{self.task.run}"
            in_the_way = self._in_the_way(names)
            if not in_the_way and self._overwrite:
                # The manifest first, so that no shard counts that is removed.
                for name in sorted(_shown(names), key=lambda name: name not in MANIFESTS):
                    storage.remove(name)
            elif _OWNER in names and set(MANIFESTS).intersection(names):
                # Killed after its manifest appeared: the shards count, what it left hidden does not.
                self._clean(names, kept=own)
            if in_the_way:
                raise not_empty(storage.url, in_the_way[0])
            # Engines that have no driver of ours claim the folder after the tasks have written.
            self._clean(storage.names(), kept=own)
            storage.create(_OWNER, json.dumps({"run": self.task.run}).encode())
            self._is_open = True
            self._stack = stack.pop_all()
        return self

    def check_folder(self) -> None:
        """Raises FileExistsError for a folder that `with` would refuse, for drivers that claim it at the end only."""
        storage = self._storage
        if storage.local is not None:
            check_is_folder(storage.local)
            self._was_missing = not storage.local.exists()
            if self._was_missing:
                return
        in_the_way = self._in_the_way(storage.names())
        if in_the_way:
            raise not_empty(storage.url, in_the_way[0])

    def _in_the_way(self, names: list[str]) -> list[str]:
        """The files for which the folder cannot be claimed: what no job wrote, and shards that count or may."""
        others = _shown(names)
        was_killed = _OWNER in names and not set(MANIFESTS).intersection(names)
        # A job that was killed while it gave shards their names leaves some that do not count.
        return [name for name in others if not is_run_file(name)] if self._overwrite or was_killed else others

    def commit(self, receipts: Iterable[Receipt]) -> Manifest:
        """Gives the shards of `receipts` their names, in the order of the receipts, and writes the manifest.

        Files of other attempts are removed. Raises ResumeError for receipts of another job or lost files, RuntimeError
        the second time.
        """
        if not self._is_open:
            raise RuntimeError("the job has ended; a job is committed once, within its with block")
        task, storage = self.task, self._storage
        chosen: dict[str, Receipt] = {}
        check_several("receipts", "receipts", receipts)
        for number, receipt in enumerate(receipts):
            if not isinstance(receipt, Receipt):
                raise TypeError(f"a receipt is what ShardTask.write returns, not {shown(receipt)}")
            if receipt.run != task.run:
                raise ResumeError(f"receipt {number} is of another job ({receipt.run}); run its task again in this one")
            chosen.setdefault(receipt.task or f"\0{number}", receipt)
        manifest = new_manifest(task.tokenizer, task.config, [])
        for receipt in chosen.values():
            for shard in map(PublishedShard._make, receipt.shards):
                names = file_names(manifest.format, len(manifest.shards))
                for file, name in zip(shard.files, names, strict=True):
                    place = f"{_HIDDEN}-{task.run}/{receipt.attempt}/{file['file']}"
                    try:
                        storage.move(place, name)
                    except FileNotFoundError as error:
                        raise ResumeError(f"{storage.url}/{place} is lost; run task {receipt.task!r} again") from error
                files = [file | {"file": name} for file, name in zip(shard.files, names, strict=True)]
                # No job can be resumed.
                entry = shard.entry | {"next": dataclasses.asdict(ResumePoint())}
                manifest = dataclasses.replace(manifest, **PublishedShard(entry, files).added_to(manifest))
            manifest.skipped += receipt.n_skipped
            manifest.skipped_files += [
                file._replace(input=file.input + len(manifest.inputs))
                for file in map(SkippedFile._make, receipt.skipped_files)
            ]
            manifest.inputs += receipt.inputs
        manifest.complete = True
        storage.write_manifest(manifest)
        self._close()
        return manifest

    def abort(self) -> None:
        """Removes all that the job wrote, and the folder if it made it and it is empty; nothing if it has ended."""
        if self._is_open:
            self._close()

    def discard(self) -> None:
        """Removes what tasks wrote for a job that was never entered; a folder that `check_folder` missed, if empty."""
        self._storage.remove_folder(f"{_HIDDEN}-{self.task.run}")
        self._remove_own_folder()

    def _remove_own_folder(self) -> None:
        # Made by a task, before the driver claimed it.
        if self._was_missing:
            self._storage.remove_if_empty()

    def _close(self) -> None:
        self._is_open = False
        try:
            self._clean(self._storage.names())
        finally:
            self._stack.close()
            self._remove_own_folder()

    def _clean(self, names: Iterable[str], kept: str = "") -> None:
        """Removes what jobs left: hidden folders but `kept`, and shards that no manifest names; the claim last."""
        names = list(names)
        has_manifest = bool(set(MANIFESTS).intersection(names))
        for name in names:
            if name.startswith(f"{_HIDDEN}-") and name != kept:
                self._storage.remove_folder(name)
            elif is_run_file(name) and not has_manifest:
                self._storage.remove(name)
        if _OWNER in names:
            self._storage.remove(_OWNER)

    def __exit__(self, *_: object) -> None:
        self.abort()
