"""ShardJob: many workers write the shards of one folder in two phases, so that a rerun neither loses nor doubles any.

Phase one: a worker encodes its documents into shards with names of its own, in a hidden folder of the job, and returns
a receipt. Phase two: the driver commits the receipts it wants, once. It stores a list of which file gets which name,
removes the manifest of the shards that are replaced, renames the files, and finally adds the manifest, which alone
makes them count. All other files of the job are removed.

So a worker can die, run twice or be repeated. If the driver dies before its list of names is stored, nothing counts and
earlier shards stay; if it dies later, the next job finishes the commit.

Folders are local paths or, with the extra [remote], fsspec URLs. docs/shards.md specifies the result.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import (
    check_bool,
    check_choice,
    check_path,
    check_str,
    check_texts,
    resolve_threads,
    shown,
)
from pairloom._internal.urls import public_url
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus, Position
from pairloom.corpus.compression import PIECE_BYTES
from pairloom.corpus.text_batches import is_arrow
from pairloom.errors import ResumeError
from pairloom.shards.config import SHARD_TOKENS, new_manifest, run_config
from pairloom.shards.encoding import block_encoder, encode_corpus
from pairloom.shards.files import HIDDEN_FOLDER, MANIFESTS, check_is_folder, file_names, is_run_file, not_empty_error
from pairloom.shards.manifest import Manifest, digested, with_inputs
from pairloom.shards.publishing import Files, publishing, rename_to_final
from pairloom.shards.shards import Batch, Shard, Shards
from pairloom.shards.storage import HIDDEN, storage_of
from pairloom.tokenizer import Tokenizer, check_tokenizer

_MOVES_SUFFIX = ".moves"
"""Suffix of the list that a job writes when it commits: pairs of (file in its hidden folder, its name)."""
_HIDDEN = (HIDDEN, f".{HIDDEN}")
"""Prefixes of what jobs write; the one with the extra dot is of a list that a killed job was writing."""

_ATTEMPT = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a worker wrote: plain values that can be pickled or sent as JSON.

    run: the job. task: the caller's name for the task. attempt: this run of the task. manifest: the JSON object of the
    manifest of its shards.
    """

    run: str
    task: str
    attempt: str
    manifest: dict[str, Any]


@dataclass(frozen=True)
class ShardTask:
    """What workers need; can be pickled. Made by `ShardJob.task`."""

    # Not shown: a URL can contain secrets.
    folder: str = dataclasses.field(repr=False)
    run: str
    tokenizer: Tokenizer
    config: dict[str, Any]
    text_field: str | None
    input_errors: str
    skip_bad: bool
    threads: int

    def write(self, batches: Iterable[Any], task: str | int = "") -> Receipt:
        """Encodes the documents of `batches` into shards of this attempt; they count once the receipt is committed.

        batches: lists of str, Arrow text columns, or Arrow tables and record batches with the column `text_field`.
        task: the name of the task; of several receipts with the same name, only the first counts ("" names none).
        Raises OSError, and CorpusError for a null or bytes that are not UTF-8, unless skip_bad or input_errors allow
        them.
        """
        name = _checked_name(task)
        with self._attempt() as (number, shards, manifest):
            manifest.skipped = self._encode(batches, shards)
        return Receipt(self.run, name, number, manifest.content())

    def write_corpus(self, corpus: Corpus, task: str | int = "", *, report: Any = None) -> Receipt:
        """Encodes the documents of a corpus without a Python object for each; otherwise like `write`.

        report: called like `progress` of `tokenize_files`, but with the fields of an event as arguments. Raises
        ValueError if the job has options of reading, which belong to the corpus.
        """
        if self.text_field is not None or self.skip_bad or self.input_errors != "strict":
            raise ValueError("text_field, input_errors and skip_bad belong to the Corpus; pass them there")
        name = _checked_name(task)
        with self._attempt() as (number, shards, manifest):
            reading, _ = encode_corpus(self.tokenizer, corpus, [(manifest, shards)], self.threads, report)
        reading.warn()
        manifest.inputs = digested(corpus.listing, manifest.digests)
        manifest.skipped, manifest.skipped_files = reading.n_skipped, reading.skipped_files
        return Receipt(self.run, name, number, manifest.content())

    @contextlib.contextmanager
    def _attempt(self) -> Iterator[tuple[str, Shards, Manifest]]:
        """Yields the id of a new attempt, its shards and the manifest of those that are published.

        Shards are published under their names in the attempt's hidden folder. On error, leaves nothing.
        """
        storage, number = storage_of(self.folder), secrets.token_hex(8)
        run = f"{HIDDEN}{self.run}"
        manifest = new_manifest(self.tokenizer, self.config, [])

        def publish(shard: Shard, files: Files) -> None:
            for path in rename_to_final(shard):
                storage.upload(path, f"{run}/{number}/{path.name}")
            ids, *others = files
            # A job cannot be resumed, so its shards have no resume points.
            manifest.shards.append(ids | shard.entry | {"next": dataclasses.asdict(Position())})
            manifest.indexes += others

        with tempfile.TemporaryDirectory(prefix="pairloom-") as local:
            folder = storage.staged(run, number, Path(local))
            try:
                with publishing(folder, manifest, list(self.tokenizer.special_tokens), publish) as shards:
                    yield number, shards, manifest
            except BaseException:
                with contextlib.suppress(OSError):
                    storage.remove_folder(f"{run}/{number}")
                raise

    def _encode(self, batches: Iterable[Any], shards: Shards) -> int:
        encoder = block_encoder(self.tokenizer, self.config, self.threads)
        columns = _core.TextColumns("texts", replace=self.input_errors == "replace", skip=self.skip_bad)
        n_documents = n_bytes = n_skipped = 0
        for batch in itertools.chain.from_iterable(map(_parts, batches)):
            documents, n_left_out = self._documents(columns, batch, n_documents + n_skipped)
            ids, ends, literals = encoder.push(documents, name=public_url(self.folder), first=n_documents)
            shards.add(Batch(ids, ends, documents.ends() + n_bytes, literals))
            n_documents += len(ends)
            n_bytes += documents.n_bytes
            n_skipped += n_left_out
        return n_skipped

    def _documents(self, columns: _core.TextColumns, batch: Any, first: int) -> tuple[_core.Documents, int]:
        if not is_arrow(batch):
            check_texts("batch", batch)
            return _core.Documents.from_texts(batch, first=first), 0
        if self.text_field is not None:
            batch = batch[self.text_field]
        found, left_out = columns.read(batch, first)
        return found, len(left_out)


def _parts(batch: Any) -> Iterator[Any]:
    """Yields the batch, but a pyarrow table some megabytes at a time, since engines pass tables of any size."""
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
    text_field=None, input_errors="strict", skip_bad=False, threads=1, overwrite=False, takeover=False): the folder must
    be new or empty, threads is the number for one worker, and the other arguments are those of `tokenize_files`.
    overwrite: replace the shards in the folder, which stay until the job is committed. takeover: remove the lock that a
    dead job left at a URL; local locks end with their process.
    Raises ValueError and TypeError for bad arguments. `with` raises FileExistsError if the folder is in use or not
    empty; `commit` raises ResumeError for receipts of another job, lost files and receipts that no task wrote.

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
        input_errors: str = "strict",
        skip_bad: bool = False,
        threads: int = 1,
        overwrite: bool = False,
        takeover: bool = False,
    ) -> None:
        check_tokenizer("tokenizer", tokenizer)
        check_choice("input_errors", input_errors, ("strict", "replace"))
        check_bool("skip_bad", skip_bad)
        check_bool("overwrite", overwrite)
        check_bool("takeover", takeover)
        if text_field is not None:
            check_str("text_field", text_field)
        config = run_config(tokenizer, format=format, eot=eot, bos=bos, specials=specials, shard_tokens=shard_tokens)
        self._storage = storage_of(check_path("folder", folder, may_be_url=True))
        self._overwrite = overwrite
        self._takeover = takeover
        self._is_open = False
        self._stack = contextlib.ExitStack()
        self.task = ShardTask(
            self._storage.address,
            secrets.token_hex(8),
            tokenizer,
            config,
            text_field,
            input_errors,
            skip_bad,
            resolve_threads(threads),
        )
        """What to send to the workers."""

    def __enter__(self) -> "ShardJob":
        """Claims the folder; FileExistsError if another job holds it or it is not empty."""
        storage = self._storage
        with contextlib.ExitStack() as stack:
            stack.enter_context(storage.claimed(self.task.run, self._takeover))
            hidden = [name for name in storage.names() if name.startswith(_HIDDEN)]
            for name in hidden:
                if name.endswith(_MOVES_SUFFIX):
                    self._finish(name.removesuffix(_MOVES_SUFFIX), _checked_moves(storage.url, storage.read(name)))
                    warn(f"{storage.url}: finished the interrupted commit of an earlier job")
            self._check_room()
            for name in hidden:
                # Keep this job's own folder: a driver that claims late does so after its tasks have written.
                if not name.startswith(self._hidden_name):
                    storage.remove_folder(name)
            self._is_open = True
            self._stack = stack.pop_all()
        return self

    def check_folder(self) -> None:
        """Raises FileExistsError if `with` would refuse the folder; for drivers that claim it only at the end."""
        if self._storage.local is not None:
            check_is_folder(self._storage.local)
        self._check_room()

    def _check_room(self) -> None:
        """Raises FileExistsError if the folder has a file that no run wrote, or a shard that is not replaced."""
        for name in sorted(self._storage.names()):
            if not name.startswith(_HIDDEN) and not (self._overwrite and is_run_file(name)):
                raise not_empty_error(self._storage.url, name)

    def commit(self, receipts: Iterable[Receipt]) -> Manifest:
        """Renames the shards of `receipts`, in the order of the receipts, and writes the manifest.

        Removes files of other attempts and shards that are replaced. Raises ResumeError for receipts of another job,
        lost files and receipts that no task wrote; FileExistsError if another job took over; RuntimeError the second
        time.
        """
        if not self._is_open:
            raise RuntimeError("the job has ended; commit it once, inside its with block")
        storage, manifest = self._storage, new_manifest(self.task.tokenizer, self.task.config, [])
        moves: list[tuple[str, str]] = []
        for receipt, part in self._first_receipts(receipts):
            place, first = f"{self._hidden_name}/{receipt.attempt}", len(manifest.shards)
            names = {
                old: new
                for number in range(len(part.shards))
                for old, new in zip(
                    file_names(part.format, number), file_names(part.format, first + number), strict=True
                )
            }
            sizes = storage.sizes(place)
            for file in part.files:
                name = file["file"]
                if sizes.get(name) != file["size"]:
                    what = "not whole" if name in sizes else "lost"
                    raise ResumeError(f"{storage.url}/{place}/{name} is {what}; run task {receipt.task!r} again")
                moves.append((f"{receipt.attempt}/{name}", names[name]))
            manifest.shards += [
                entry | {"file": names[entry["file"]]} | with_inputs(entry, lambda n: n + len(manifest.inputs))
                for entry in part.shards
            ]
            manifest.indexes += [entry | {"file": names[entry["file"]]} for entry in part.indexes]
            manifest.skipped += part.skipped
            manifest.skipped_files += [
                file._replace(input=file.input + len(manifest.inputs)) for file in part.skipped_files
            ]
            manifest.inputs += part.inputs
        manifest.complete = True
        name, data = manifest.file()
        storage.check_claim(self.task.run)
        storage.write(f"{self._hidden_name}/{name}", data)
        moves.append((name, name))
        storage.write(f"{self._hidden_name}{_MOVES_SUFFIX}", json.dumps(moves).encode())
        # From here on the commit will be finished: if not by this job, then by the next one.
        self._is_open = False
        with self._stack:
            self._finish(self._hidden_name, moves)
        return manifest

    def _first_receipts(self, receipts: Iterable[Receipt]) -> list[tuple[Receipt, Manifest]]:
        """Returns the first receipt of each task, with the manifest of its shards."""
        empty = new_manifest(self.task.tokenizer, self.task.config, [])
        chosen: dict[str, tuple[Receipt, Manifest]] = {}
        for number, receipt in enumerate(receipts):
            if not isinstance(receipt, Receipt):
                raise TypeError(f"a receipt must be the value that ShardTask.write returned, not {shown(receipt)}")
            if receipt.run != self.task.run:
                raise ResumeError(
                    f"receipt {number} is from another job ({shown(receipt.run)}); run its task again in this one"
                )
            try:
                part = _checked(receipt, empty)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ResumeError(
                    f"receipt {number} is not from a task: {error}; pass the value that ShardTask.write returned"
                ) from error
            chosen.setdefault(receipt.task or f"\0{number}", (receipt, part))
        if len({receipt.attempt for receipt, _ in chosen.values()}) < len(chosen):
            raise ResumeError("two receipts have the same attempt; pass each value that ShardTask.write returned once")
        return list(chosen.values())

    def _finish(self, hidden: str, moves: Sequence[tuple[str, str]]) -> None:
        """Moves files out of a hidden folder to their names; skips moves that were already made."""
        storage, manifest, names = self._storage, moves[-1][0], {name for _, name in moves}
        # The manifest is moved last: if it is gone, all moves were made.
        if manifest in storage.sizes(hidden):
            # Remove the manifest of the replaced shards first, so that no manifest ever describes other files.
            for name in sorted(filter(is_run_file, storage.names()), key=lambda name: name not in MANIFESTS):
                if HIDDEN_FOLDER.fullmatch(name):
                    storage.remove_folder(name)
                elif name in MANIFESTS or name not in names:
                    storage.remove(name)
            storage.move([(f"{hidden}/{place}", name) for place, name in moves])
        storage.remove_folder(hidden)
        storage.remove(hidden + _MOVES_SUFFIX)

    def abort(self) -> None:
        """Removes all that the job wrote, and its folder if new and empty; does nothing if the job has ended."""
        if self._is_open:
            self._is_open = False
            with self._stack:
                self._storage.remove_folder(self._hidden_name)

    def discard(self) -> None:
        """Removes what tasks wrote for a job that was never entered."""
        self._storage.remove_folder(self._hidden_name)

    @property
    def _hidden_name(self) -> str:
        """The name of the job's hidden folder."""
        return f"{HIDDEN}{self.task.run}"

    def __exit__(self, *_: object) -> None:
        self.abort()


def _checked(receipt: Receipt, empty: Manifest) -> Manifest:
    """Returns the manifest of the shards of one receipt, which is checked, since it may have come through JSON.

    Raises ValueError, TypeError, KeyError or AttributeError if no task can have written it.
    """
    if not _ATTEMPT.fullmatch(receipt.attempt):
        raise ValueError(f"attempt is {shown(receipt.attempt)}")
    part = Manifest.from_content(receipt.manifest)
    if (part.model, part.config, part.format, part.n_vocab) != (empty.model, empty.config, empty.format, empty.n_vocab):
        raise ValueError("it has another model, or other options")
    return part


def _checked_moves(folder: str, data: bytes) -> list[tuple[str, str]]:
    """Returns (place in the hidden folder, name) of each file that a commit renames, the manifest last."""
    try:
        moves = [(place, name) for place, name in json.loads(data)]
        for place, name in moves:
            attempt, _, file = place.rpartition("/")
            if not (is_run_file(name) and is_run_file(file) and (not attempt or _ATTEMPT.fullmatch(attempt))):
                raise ValueError(f"{place!r} to {name!r}")
        if moves[-1][1] not in MANIFESTS:
            raise ValueError("no manifest")
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ResumeError(
            f"{folder}: the list of an interrupted commit is damaged: {error}; remove the folder"
        ) from error
    return moves
