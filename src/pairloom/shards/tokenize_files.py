"""tokenize_files: encodes a corpus into a folder of shards; a killed run can be resumed.

Reading, encoding and writing run at the same time; memory is a few blocks, independent of the size of the corpus.
Output order is input order. The same input, model and options give the same bytes for any number of threads and
interruptions. docs/shards.md specifies the folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import check_choice, check_int, resolve_threads
from pairloom._internal.background_io import ReadAhead, WriteBehind
from pairloom._internal.folder_lock import locked_new_folder
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus, Position
from pairloom.errors import ResumeError
from pairloom.shards import manifest as manifest_file
from pairloom.shards.manifest import Manifest
from pairloom.shards.resume import check_same_documents, plan_resume
from pairloom.shards.shards import FORMATS, Batch, Publisher, Shards, clear, dtype_of, is_run_file
from pairloom.tokenizer import Tokenizer

__all__ = ["SHARD_TOKENS", "TokenizedFiles", "new_manifest", "special_named", "tokenize_files"]

SHARD_TOKENS = 100_000_000
"""Default number of tokens after which a shard ends."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_MOST_LISTED = 20


class TokenizedFiles:
    """The result of `tokenize_files`: the folder, its totals, and whether an earlier run had already finished it.

    n_documents, n_tokens, n_bytes (of text), n_skipped (records), skipped_files (paths). special_literals: how often
    the literal of each special token occurs as plain text. files: the shards.
    """

    def __init__(self, folder: Path, manifest: Manifest, was_complete: bool) -> None:
        self.folder = folder
        self.n_documents = manifest.documents
        self.n_tokens = manifest.tokens
        self.n_bytes = manifest.text_bytes
        self.n_skipped = manifest.skipped
        self.skipped_files = [file.path for file in manifest.skipped_files]
        self.special_literals = manifest.special_literals
        self.files = [folder / shard["file"] for shard in manifest.shards]
        self.was_complete = was_complete

    def __repr__(self) -> str:
        return (
            f"TokenizedFiles({str(self.folder)!r}, {len(self.files)} shards, {self.n_documents} documents, "
            f"{self.n_tokens} tokens)"
        )


def tokenize_files(
    model: Tokenizer | str | os.PathLike[str],
    inputs: Any,
    output: str | os.PathLike[str],
    *,
    format: str = "npy",
    eot: str | bool | None = None,
    bos: str | bool | None = None,
    specials: str = "ordinary",
    shard_tokens: int = SHARD_TOKENS,
    threads: int = 0,
    resume: bool = False,
    rewrite: bool = False,
    overwrite: bool = False,
    progress: Progress = None,
    **options: Any,
) -> TokenizedFiles:
    """Encodes every document of a corpus and writes shards of ids into a folder.

    model: a tokenizer or its file. inputs: paths, or a `Corpus`; `options` are those of `Corpus`.
    output: a folder, new or empty. overwrite: replace the shards in it. resume: continue an interrupted run, or start
    one; inputs after the point where it stopped may have changed, and new ones may follow; a finished run without new
    inputs is left unchanged. rewrite: also write finished shards again if their inputs changed.
    format: "npy", "bin", "parquet" or "megatron"; see docs/shards.md. shard_tokens: a shard holds whole documents and
    ends once it has this many tokens.
    eot, bos: the special token whose id is put after, or before, each document; True if the tokenizer has only one.
    specials: literals of special tokens in the text are "ordinary" text (counted, with a warning), become the tokens'
    ids ("recognise"), or are an "error".

    Raises OSError, CorpusError (with file and point), SpecialTokenError (specials="error"), FileExistsError for a
    folder that is not empty, ResumeError when it was made by another model or other options, or when inputs changed
    whose documents are in finished shards. Complete shards are kept and can be resumed after any failure.
    """
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    check_choice("format", format, FORMATS)
    check_choice("specials", specials, ("ordinary", "recognise", "error"))
    check_int("shard_tokens", shard_tokens, least=1)
    if rewrite and not resume:
        raise ValueError("rewrite belongs to resume=True; to replace all shards pass overwrite=True")
    if isinstance(inputs, Corpus):
        if options:
            raise TypeError(f"{next(iter(options))} belongs to the Corpus; give it there")
        corpus = inputs
    else:
        corpus = Corpus(inputs, **options)
    chosen = {
        "eot": special_named("eot", eot, tokenizer),
        "bos": special_named("bos", bos, tokenizer),
        "specials": specials,
    }
    fresh = _manifest(tokenizer, corpus, format, chosen, shard_tokens)
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "is not a folder; name a new one, or an empty one", str(folder))
    run = _Run(tokenizer, corpus, folder, resolve_threads(threads))
    with locked_new_folder(folder, parents=True), reporter(progress) as report:
        manifest = run.prepare(fresh, resume=resume, rewrite=rewrite, overwrite=overwrite)
        if manifest.complete:
            return TokenizedFiles(folder, manifest, was_complete=True)
        try:
            run.execute(manifest, report)
        except OSError as error:
            if error.errno in _FULL:
                raise _no_space(error, folder, len(manifest.shards)) from error
            raise
        finally:
            if not manifest.shards and not manifest.complete:
                manifest_file.remove(folder)
        return TokenizedFiles(folder, manifest, was_complete=False)


def special_named(name: str, token: Any, tokenizer: Tokenizer) -> str | None:
    """The special token that `eot` or `bos` names."""
    specials = list(tokenizer.special_tokens)
    shown = ", ".join(map(repr, specials[:_MOST_LISTED]))
    if len(specials) > _MOST_LISTED:
        shown += f" and {len(specials) - _MOST_LISTED} more"
    if token is None or token is False:
        return None
    if not specials:
        raise ValueError(f"{name} asks for a special token, but the tokenizer has none; add one to it")
    if token is True:
        if len(specials) > 1:
            raise ValueError(f"{name} must name one of the tokenizer's {len(specials)} special tokens: {shown}")
        return specials[0]
    if not isinstance(token, str):
        raise TypeError(f"{name} must be a special token as str, or a bool, not {type(token).__name__}")
    if token not in tokenizer.special_tokens:
        raise ValueError(f"{name} must be a special token of the tokenizer, which has {shown}; not {token!r}")
    return token


class _Run:
    """One call of `tokenize_files` after its arguments are checked."""

    def __init__(self, tokenizer: Tokenizer, corpus: Corpus, folder: Path, threads: int) -> None:
        self._tokenizer = tokenizer
        self._corpus = corpus
        self._folder = folder
        self._threads = threads

    def prepare(self, fresh: Manifest, *, resume: bool, rewrite: bool, overwrite: bool) -> Manifest:
        """The manifest to continue from: the folder's, or the fresh one after saving it."""
        folder = self._folder
        names = sorted(path.name for path in folder.iterdir())
        has_manifest = manifest_file.exists(folder)
        if has_manifest and resume:
            return self._resumed(fresh, names, rewrite)
        others = [name for name in names if not is_run_file(name)]
        if others or (has_manifest and not overwrite):
            if has_manifest and not overwrite:
                remedy = "holds a run already; resume it (resume=True), or replace it (overwrite=True)"
            else:
                remedy = f"is not empty: it holds {others[0]}; name a new folder"
            raise FileExistsError(errno.EEXIST, remedy, str(folder))
        if names and not (resume or overwrite):
            raise FileExistsError(errno.EEXIST, "holds files of a killed run; resume it (resume=True)", str(folder))
        manifest_file.remove(folder)
        clear(folder, 0)
        fresh.save(folder)
        return fresh

    def _resumed(self, fresh: Manifest, names: list[str], rewrite: bool) -> Manifest:
        """The manifest of the folder, updated to today's inputs."""
        folder = self._folder
        found = Manifest.load(folder)
        manifest, is_changed, notes = plan_resume(folder, found, fresh, rewrite=rewrite)
        missing = [shard["file"] for shard in [*manifest.shards, *manifest.indexes] if shard["file"] not in names]
        if missing:
            raise ResumeError(f"{folder}: {missing[0]} is in the manifest, but not there; start again in a new folder")
        if is_changed:
            point = manifest.next
            check_same_documents(self._tokenizer, self._corpus, folder, manifest, self._encoder_options(manifest))
            notes.append(
                f"{manifest.inputs[point.source]['path']} has changed since the run stopped; its {point.documents} "
                "documents in finished shards were read again and are the same"
            )
        if not manifest.complete:
            # Shards are removed only when no manifest names them.
            manifest.save(folder)
            clear(folder, len(manifest.shards))
        for note in notes:
            warn(note)
        return manifest

    def _encoder_options(self, manifest: Manifest) -> dict[str, Any]:
        config = manifest.config
        return {
            "begin_id": config["bos_id"],
            "end_id": config["eot_id"],
            "specials": config["specials"],
            "threads": self._threads,
        }

    def execute(self, manifest: Manifest, report: Any) -> None:
        """Reads, encodes and writes from the manifest's resume point to the end of the corpus."""
        point = manifest.next
        reading = self._corpus.read(Position(point.source, point.documents, point.source_bytes, point.source_skipped))
        reading.skipped_files.extend(manifest.skipped_files)
        encoder = self._tokenizer.block_encoder(**self._encoder_options(manifest))
        names = self._corpus.names
        n_bytes, n_tokens, n_open_bytes = manifest.text_bytes, manifest.tokens, 0
        source, source_bytes = point.source, point.source_bytes
        skipped_files = tuple(manifest.skipped_files)
        last_report = (0, 0)
        with self._publishing(manifest) as shards:
            # always: documents encoded before an input turns out to be damaged are still written.
            with ReadAhead(reading) as blocks, WriteBehind(shards.add, always=True) as write:
                if report is not None:
                    report("encode", 0, reading.total)
                for block in blocks:
                    if block.source != source:
                        source, source_bytes = block.source, n_bytes
                        skipped_files = tuple(file for file in reading.skipped_files if file.input < source)
                    if block.withdraws:
                        encoder.withdraw()
                        n_bytes, n_open_bytes = n_bytes - n_open_bytes, 0
                    documents = block.documents
                    ids, ends, literals = encoder.push(documents, name=names[source], first=block.first)
                    byte_ends = documents.ends() + n_bytes
                    write(
                        Batch(
                            ids,
                            ends,
                            byte_ends,
                            literals,
                            source,
                            block.first,
                            source_bytes,
                            block.n_skipped_before,
                            skipped_files,
                            block.withdraws,
                        )
                    )
                    n_bytes += documents.n_bytes
                    n_open_bytes = documents.n_open_bytes + (0 if len(documents) else n_open_bytes)
                    n_tokens += len(ids)
                    # Frees their memory before the next block is encoded.
                    del ids, ends, byte_ends, documents
                    if report is not None:
                        last_report = (block.done, max(reading.total, block.done))
                        report("encode", *last_report, f"{n_tokens:,} tokens")
            shards.finish()
        manifest.replace(
            self._folder,
            skipped=reading.n_skipped,
            skipped_files=list(reading.skipped_files),
            complete=True,
        )
        if report is not None and last_report[0] != last_report[1]:
            report("encode", last_report[0], last_report[0], f"{n_tokens:,} tokens")
        reading.warn()
        _warn_of_literals(manifest.special_literals)

    @contextlib.contextmanager
    def _publishing(self, manifest: Manifest) -> Iterator[Shards]:
        """Shards published in a thread. On error, completed shards remain and partial files are removed."""
        publisher = Publisher(self._folder, manifest)
        tokens = list(self._tokenizer.special_tokens)
        shards: Shards | None = None
        try:
            with WriteBehind(publisher.publish, depth=1, always=True) as publish:
                shards = Shards(self._folder, manifest, manifest.config["shard_tokens"], tokens, publish)
                yield shards
        except BaseException:
            publisher.close()
            if shards is not None:
                shards.abandon()
            with contextlib.suppress(OSError):
                clear(self._folder, len(manifest.shards))
            raise


def _warn_of_literals(literals: dict[str, int]) -> None:
    """Warns if literals of special tokens were encoded as plain text."""
    if not literals:
        return
    some = sorted(literals, key=lambda token: -literals[token])[:_MOST_LISTED]
    shown = ", ".join(f"{token!r} {literals[token]:,}" for token in some)
    more = f" and {len(literals) - len(some)} others" if len(literals) > len(some) else ""
    warn(
        f"the text holds {sum(literals.values()):,} literals of special tokens, which are plain text in the shards "
        f'({shown}{more}); to make them ids pass specials="recognise"'
    )


def _manifest(
    tokenizer: Tokenizer, corpus: Corpus, format: str, chosen: dict[str, str | None], shard_tokens: int
) -> Manifest:
    """The manifest of a run that has written nothing."""
    ids = tokenizer.special_tokens
    config = {
        "format": format,
        **chosen,
        "eot_id": None if chosen["eot"] is None else ids[chosen["eot"]],
        "bos_id": None if chosen["bos"] is None else ids[chosen["bos"]],
        "shard_tokens": shard_tokens,
        **corpus.options,
    }
    return new_manifest(tokenizer, config, corpus.listing)


def new_manifest(tokenizer: Tokenizer, config: dict[str, Any], inputs: list[dict[str, Any]]) -> Manifest:
    """The manifest of a folder without shards."""
    format = config["format"]
    return Manifest(
        model=hashlib.sha256(tokenizer.native_file()).hexdigest(),
        config=config,
        config_sha256=hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        inputs=inputs,
        format=format,
        dtype=dtype_of(format, tokenizer.n_vocab).str,
        n_vocab=tokenizer.n_vocab,
    )


def _no_space(error: OSError, folder: Path, n_shards: int) -> OSError:
    message = f"no space left; {n_shards} shards are complete: make space, then resume (resume=True)"
    return OSError(error.errno, message, str(folder))
