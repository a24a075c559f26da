"""tokenize_files: a corpus to a folder of shards, at the speed of the encoder, and whole after a kill.

Enters: a tokenizer and a corpus. Leaves: shards of ids and a manifest (`pairloom.sinks`). Reading, encoding and writing
overlap; memory is a few blocks, whatever the size of the corpus. Output order is input order. The same input, model
and options give the same bytes, whatever the number of threads and however often the run was broken off and resumed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairloom import formats
from pairloom.arguments import check_choice, check_int, resolve_threads
from pairloom.corpus import Corpus, Position
from pairloom.errors import ResumeError
from pairloom.folder_lock import locked_folder
from pairloom.overlap import ReadAhead, WriteBehind
from pairloom.progress import Progress, reporter
from pairloom.sinks import FORMATS, Manifest, Shards
from pairloom.sinks.manifest import NAME as MANIFEST
from pairloom.sinks.shards import Batch, clear, dtype_of, is_ours, publish_shard
from pairloom.tokenizer import Tokenizer

__all__ = ["SHARD_TOKENS", "TokenizedFiles", "tokenize_files"]

SHARD_TOKENS = 100_000_000
"""Tokens after which a shard is closed, unless the caller says otherwise."""

_FULL = {errno.ENOSPC, errno.EDQUOT}


class TokenizedFiles:
    """What `tokenize_files` made: the folder, its manifest, and whether an earlier run had finished it already."""

    def __init__(self, folder: Path, manifest: Manifest, was_complete: bool) -> None:
        self.folder = folder
        self.n_documents = manifest.documents
        self.n_tokens = manifest.tokens
        self.n_bytes = manifest.text_bytes
        self.n_skipped = manifest.skipped
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
    eot: bool = False,
    shard_tokens: int = SHARD_TOKENS,
    threads: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = None,
    **options: Any,
) -> TokenizedFiles:
    """Encodes every document of a corpus, special tokens recognised, and writes shards of ids into a folder.

    model: a tokenizer or its file. inputs: paths, or a `Corpus`; `options` are those of `Corpus`.
    output: a folder, new or empty; `overwrite` replaces the shards in it, `resume` goes on with them (and starts anew
    where there are none). A finished run is left as it is.
    format: "npy", "bin", "parquet" or "megatron", described in `pairloom.sinks`. eot: put the id of the first special
    token after each document. shard_tokens: a shard holds whole documents, and is closed once it has so many tokens.

    Raises OSError, CorpusError (with file and place), FileExistsError for a folder that is not empty, ResumeError when
    it was made by another model, corpus or options. Complete shards are kept and can be resumed after any failure.
    """
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    check_choice("format", format, FORMATS)
    check_int("shard_tokens", shard_tokens, least=1)
    if isinstance(inputs, Corpus):
        if options:
            raise TypeError(f"{next(iter(options))} belongs to the Corpus; give it there")
        corpus = inputs
    else:
        corpus = Corpus(inputs, **options)
    fresh = _manifest(tokenizer, corpus, format, eot, shard_tokens)
    folder = Path(output)
    is_new = not folder.exists()
    if not is_new and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "is not a folder; name a new one, or an empty one", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked_folder(folder), reporter(progress) as report:
            manifest = _begun(folder, fresh, resume=resume, overwrite=overwrite)
            if manifest.complete:
                return TokenizedFiles(folder, manifest, was_complete=True)
            try:
                _run(tokenizer, corpus, folder, manifest, resolve_threads(threads), report)
            except OSError as error:
                if error.errno in _FULL:
                    raise _no_space(error, folder, len(manifest.shards)) from error
                raise
            finally:
                if not manifest.shards and not manifest.complete:
                    (folder / MANIFEST).unlink(missing_ok=True)
            return TokenizedFiles(folder, manifest, was_complete=False)
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _run(tokenizer: Tokenizer, corpus: Corpus, folder: Path, manifest: Manifest, threads: int, report: Any) -> None:
    """Reads, encodes and writes from where the manifest ends to the end of the corpus."""
    place = manifest.next
    reading = corpus.read(Position(place.source, place.documents, place.source_bytes, place.source_skipped))
    encoder = tokenizer.block_encoder(end_id=manifest.config["eot_id"], threads=threads)
    n_bytes, n_tokens = manifest.text_bytes, manifest.tokens
    source, source_bytes = place.source, place.source_bytes
    with _publishing(folder, manifest) as shards:
        with ReadAhead(iter(reading)) as blocks, WriteBehind(shards.add) as write:
            if report is not None:
                report("encode", 0, reading.total)
            for block in blocks:
                ids, ends = encoder.push(block.documents)
                if block.source != source:
                    source, source_bytes = block.source, n_bytes
                byte_ends = block.documents.ends() + n_bytes
                write(Batch(ids, ends, byte_ends, source, block.first, source_bytes, block.n_skipped_before))
                n_bytes += block.documents.n_bytes
                n_tokens += len(ids)
                # Their memory is wanted for the next.
                del ids, ends, byte_ends
                if report is not None:
                    report("encode", block.done, max(reading.total, block.done), f"{n_tokens:,} tokens")
        shards.finish()
    manifest.replace(folder, skipped=reading.n_skipped, complete=True)
    reading.warn()


@contextlib.contextmanager
def _publishing(folder: Path, manifest: Manifest) -> Iterator[Shards]:
    """Shards, each published while the next is written; after an exception, the whole ones are there and no others."""
    publishing = WriteBehind(functools.partial(publish_shard, folder, manifest), depth=1, always=True)
    try:
        with publishing as publish:
            shards = Shards(folder, manifest, manifest.config["shard_tokens"], publish)
            try:
                yield shards
            except BaseException:
                shards.abandon()
                raise
    except BaseException:
        if not publishing.is_at_work:
            with contextlib.suppress(OSError):
                clear(folder, len(manifest.shards))
        raise


def _manifest(tokenizer: Tokenizer, corpus: Corpus, format: str, eot: bool, shard_tokens: int) -> Manifest:
    """The manifest of a run that has written nothing."""
    specials = tokenizer.special_tokens
    if eot and not specials:
        raise ValueError("eot asks for the id of the first special token, but the tokenizer has none")
    config = {
        "format": format,
        "eot_id": next(iter(specials.values())) if eot else None,
        "shard_tokens": check_int("shard_tokens", shard_tokens, least=1),
        **corpus.options,
    }
    return Manifest(
        model=hashlib.sha256(formats.pairloom.write(tokenizer.model)).hexdigest(),
        config=config,
        config_sha256=hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        inputs=corpus.listing,
        format=format,
        dtype=dtype_of(format, tokenizer.n_vocab).str,
        n_vocab=tokenizer.n_vocab,
    )


def _begun(folder: Path, fresh: Manifest, *, resume: bool, overwrite: bool) -> Manifest:
    """The manifest to go on with: that of `folder`, or the fresh one, written there."""
    names = sorted(path.name for path in folder.iterdir())
    if MANIFEST in names and resume:
        found = Manifest.load(folder)
        _check_same(folder, found, fresh)
        missing = [shard["file"] for shard in [*found.shards, *found.indexes] if shard["file"] not in names]
        if missing:
            raise ResumeError(f"{folder}: {missing[0]} is in the manifest, but not there; start again in a new folder")
        if not found.complete:
            clear(folder, len(found.shards))
        return found
    strangers = [name for name in names if not is_ours(name)]
    if strangers or (MANIFEST in names and not overwrite):
        if MANIFEST in names and not overwrite:
            remedy = "holds a run already; resume it (resume=True), or replace it (overwrite=True)"
        else:
            remedy = f"is not empty: it holds {strangers[0]}; name a new folder"
        raise FileExistsError(errno.EEXIST, remedy, str(folder))
    if names and not (resume or overwrite):
        raise FileExistsError(errno.EEXIST, "holds what a killed run left; resume it (resume=True)", str(folder))
    (folder / MANIFEST).unlink(missing_ok=True)
    clear(folder, 0)
    fresh.save(folder)
    return fresh


def _check_same(folder: Path, found: Manifest, fresh: Manifest) -> None:
    """Raises ResumeError naming what differs between the run in `folder` and the one that is asked for."""

    def differs(what: str, there: Any, here: Any) -> ResumeError:
        return ResumeError(
            f"{folder}: was made with {what} {there!r}, not {here!r}; resume with the same, or start in a new folder"
        )

    if found.model != fresh.model:
        raise ResumeError(f"{folder}: was made with another model; resume with the same, or start in a new folder")
    for key, value in fresh.config.items():
        if found.config.get(key) != value:
            raise differs(key, found.config.get(key), value)
    if len(found.inputs) != len(fresh.inputs):
        raise differs("inputs", f"{len(found.inputs)} files", f"{len(fresh.inputs)} files")
    for there, here in zip(found.inputs, fresh.inputs, strict=True):
        if there != here:
            raise differs("input", there, here)


def _no_space(error: OSError, folder: Path, n_shards: int) -> OSError:
    message = f"no space left; {n_shards} shards are complete: make space, then resume (resume=True)"
    return OSError(error.errno, message, str(folder))
