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
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import (
    check_bool,
    check_choice,
    check_int,
    check_path,
    check_several,
    check_str,
    resolve_threads,
    shown,
)
from pairloom._internal.background_io import ReadAhead
from pairloom._internal.folder_lock import locked_folder
from pairloom.corpus import Corpus
from pairloom.errors import CorpusError, ResumeError
from pairloom.shards import manifest as manifest_file
from pairloom.shards.manifest import Manifest, ResumePoint
from pairloom.shards.shards import FORMATS, Batch, Shard, Shards, file_names, is_run_file, synced_digest
from pairloom.shards.storage import storage_of
from pairloom.shards.tokenize_files import SHARD_TOKENS, new_manifest, special_named
from pairloom.tokenizer import Tokenizer, check_tokenizer

__all__ = ["Receipt", "ShardJob", "ShardTask"]

_HIDDEN = ".pairloom-job"
_OWNER = f"{_HIDDEN}.json"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker wrote: plain values, which pickle and go through JSON.

    run: the job. task: the caller's name for the task. attempt: this writing of it. shards: the manifest's entry of
    each shard, and its files' names and digests.
    """

    run: str
    task: str
    attempt: str
    shards: tuple[dict[str, Any], ...]
    n_skipped: int


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
        Raises CorpusError for a null unless skip_bad, OSError.
        """
        check_several("batches", "batches of documents", batches)
        if not isinstance(task, (str, int)):
            raise TypeError(f"task must be a str or an int, not {type(task).__name__}")
        storage = storage_of(self.folder)
        attempt = secrets.token_hex(8)
        manifest = new_manifest(self.tokenizer, self.config, [])
        written: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="pairloom-") as local:
            place = storage.staged(f"{_HIDDEN}-{self.run}", attempt, Path(local))

            def publish(shard: Shard) -> None:
                files = []
                for partial, name in file_names(manifest.format, shard.number):
                    files.append({"file": name, "sha256": synced_digest(place / partial)})
                    (place / partial).rename(place / name)
                    storage.upload(place / name, f"{_HIDDEN}-{self.run}/{attempt}/{name}")
                entry: dict[str, Any] = {
                    "tokens": shard.n_tokens,
                    "documents": shard.n_documents,
                    "bytes": shard.n_bytes,
                }
                if shard.special_literals:
                    entry["special_literals"] = shard.special_literals
                written.append({"entry": entry, "files": files})

            tokens = list(self.tokenizer.special_tokens)
            shards = Shards(place, manifest, self.config["shard_tokens"], tokens, publish)
            try:
                n_skipped = self._encode(batches, shards)
                shards.finish()
            except BaseException:
                shards.abandon()
                with contextlib.suppress(OSError):
                    storage.remove_folder(f"{_HIDDEN}-{self.run}/{attempt}")
                raise
        return Receipt(self.run, str(task), attempt, tuple(written), n_skipped)

    def write_corpus(self, corpus: Corpus, task: str | int = "") -> Receipt:
        """Encodes the documents of a corpus, without a Python object for each, as `write` does batches."""
        reading = corpus.read()

        def blocks() -> Iterator[_core.Documents]:
            with ReadAhead(reading) as found:
                for block in found:
                    if block.withdraws:
                        raise CorpusError("skip_bad_files cannot be used here; leave out such files before")
                    yield block.documents

        receipt = self.write(blocks(), task)
        reading.warn()
        return replace(receipt, n_skipped=reading.n_skipped)

    def _encode(self, batches: Iterable[Any], shards: Shards) -> int:
        encoder = self.tokenizer.block_encoder(
            begin_id=self.config["bos_id"],
            end_id=self.config["eot_id"],
            specials=self.config["specials"],
            threads=self.threads,
        )
        n_documents = n_bytes = n_skipped = 0
        for batch in batches:
            documents, n_nulls = self._documents(batch, n_documents)
            ids, ends, literals = encoder.push(documents, name=str(self.folder), first=n_documents)
            shards.add(Batch(ids, ends, documents.ends() + n_bytes, literals, 0, n_documents, 0, 0))
            n_documents, n_bytes, n_skipped = n_documents + len(ends), n_bytes + documents.n_bytes, n_skipped + n_nulls
        return n_skipped

    def _documents(self, batch: Any, first: int) -> tuple[_core.Documents, int]:
        if isinstance(batch, _core.Documents):
            return batch, 0
        if not hasattr(batch, "__arrow_c_array__") and not hasattr(batch, "__arrow_c_stream__"):
            return _core.Documents.from_texts(batch, first=first), 0
        if self.text_field is not None:
            try:
                batch = batch[self.text_field]
            except (KeyError, IndexError, TypeError) as error:
                names = getattr(getattr(batch, "schema", None), "names", None) or getattr(batch, "columns", "unknown")
                raise CorpusError(
                    f"no column {self.text_field!r}; the columns are {names}; name one with text_field"
                ) from error
        return _core.Documents.from_arrow(batch, skip=self.skip_bad)


class ShardJob:
    """The driver's side of a folder of shards that workers write; a context manager that aborts unless it committed.

    ShardJob(folder, tokenizer, *, format="npy", eot=None, bos=None, specials="ordinary", shard_tokens=100_000_000,
    text_field=None, skip_bad=False, threads=1, overwrite=False, takeover=False): folder is new or empty, threads are
    those of one worker, the other arguments those of `tokenize_files`. overwrite: remove the shards in it at once.
    takeover: remove what a dead job left in a remote folder, which has no lock that ends with its process.

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
        check_choice("format", format, FORMATS)
        check_bool("skip_bad", skip_bad)
        check_bool("overwrite", overwrite)
        check_bool("takeover", takeover)
        if text_field is not None:
            check_str("text_field", text_field)
        check_choice("specials", specials, ("ordinary", "recognise", "error"))
        check_int("shard_tokens", shard_tokens, least=1)
        chosen = {"eot": special_named("eot", eot, tokenizer), "bos": special_named("bos", bos, tokenizer)}
        ids = tokenizer.special_tokens
        config = {"format": format, **chosen, "specials": specials, "shard_tokens": shard_tokens}
        config |= {f"{name}_id": None if token is None else ids[token] for name, token in chosen.items()}
        self._storage = storage_of(check_path("folder", folder))
        self._overwrite = overwrite
        self._takeover = takeover
        self._is_open = False
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
        storage.make_folder()
        with contextlib.ExitStack() as stack:
            if storage.local is not None:
                # Ends with the process, so that a job whose driver died is known to be dead.
                stack.enter_context(locked_folder(storage.local))
            names = storage.names()
            if _OWNER in names and storage.local is None and not self._takeover:
                raise FileExistsError(
                    errno.EEXIST,
                    "another job writes here; wait until it ends, or pass takeover=True if its driver is dead",
                    storage.url,
                )
            own = f"{_HIDDEN}-{self.task.run}"
            others = sorted(name for name in names if not name.startswith(_HIDDEN))
            has_manifest = bool(set(manifest_file.NAMES).intersection(names))
            foreign = [name for name in others if not is_run_file(name)]
            if self._overwrite and not foreign:
                # The manifest first, so that no shard counts that is removed.
                for name in sorted(others, key=lambda name: name not in manifest_file.NAMES):
                    storage.remove(name)
                others = []
            elif _OWNER in names and not has_manifest:
                # Killed while it gave shards their names.
                others = foreign
            elif _OWNER in names:
                # Killed after its manifest appeared: the shards count, what it left hidden does not.
                self._clean(names, kept=own)
            if others:
                raise FileExistsError(
                    errno.EEXIST, f"is not empty: it holds {others[0]}; name a new folder", storage.url
                )
            # Engines that have no driver of ours claim the folder after the tasks have written.
            self._clean(storage.names(), kept=own)
            storage.create(_OWNER, json.dumps({"run": self.task.run}).encode())
            self._is_open = True
            self._stack = stack.pop_all()
        return self

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
            for shard in receipt.shards:
                names = [name for _, name in file_names(manifest.format, len(manifest.shards))]
                for file, name in zip(shard["files"], names, strict=True):
                    place = f"{_HIDDEN}-{task.run}/{receipt.attempt}/{file['file']}"
                    try:
                        storage.move(place, name)
                    except FileNotFoundError as error:
                        raise ResumeError(f"{storage.url}/{place} is lost; run task {receipt.task!r} again") from error
                digests = [file["sha256"] for file in shard["files"]]
                # Every shard ends a task, so none can be resumed into.
                entry = {"file": names[0], "sha256": digests[0], "next": dataclasses.asdict(ResumePoint())}
                manifest.shards.append(shard["entry"] | entry)
                manifest.indexes += [
                    {"file": name, "sha256": digest} for name, digest in zip(names[1:], digests[1:], strict=True)
                ]
            manifest.skipped += receipt.n_skipped
        manifest.complete = True
        storage.write_manifest(manifest)
        self._close()
        return manifest

    def abort(self) -> None:
        """Removes everything that the job wrote; nothing if it has ended."""
        if self._is_open:
            self._close()

    def discard(self) -> None:
        """Removes what tasks wrote for a job that was never entered."""
        self._storage.remove_folder(f"{_HIDDEN}-{self.task.run}")

    def _close(self) -> None:
        self._is_open = False
        try:
            self._clean(self._storage.names())
        finally:
            self._stack.close()

    def _clean(self, names: Iterable[str], kept: str = "") -> None:
        """Removes what jobs left: hidden folders but `kept`, and shards that no manifest names; the claim last."""
        names = list(names)
        has_manifest = bool(set(manifest_file.NAMES).intersection(names))
        for name in names:
            if name.startswith(f"{_HIDDEN}-") and name != kept:
                self._storage.remove_folder(name)
            elif is_run_file(name) and not has_manifest:
                self._storage.remove(name)
        if _OWNER in names:
            self._storage.remove(_OWNER)

    def __exit__(self, *_: object) -> None:
        self.abort()
