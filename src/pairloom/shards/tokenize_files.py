"""tokenize_files: encodes a corpus into a folder of shards; a killed run can be resumed.

Reading, encoding and writing run at the same time; memory is a few blocks, independent of the size of the corpus.
Output order is input order. The same input, model and options give the same bytes for any number of threads and
interruptions. docs/shards.md specifies the folder.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import resolve_threads, shown
from pairloom._internal.folder_lock import locked_new_folder
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.urls import is_url, public_url
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus
from pairloom.corpus.fingerprint import of_first_texts
from pairloom.corpus.local_files import name_of
from pairloom.shards import manifest as manifest_file
from pairloom.shards.config import SHARD_TOKENS, new_manifest, run_config
from pairloom.shards.encoding import encode_corpus
from pairloom.shards.files import check_is_folder, clear, is_run_file, not_empty
from pairloom.shards.job import ShardJob
from pairloom.shards.manifest import Manifest
from pairloom.shards.memory import MemoryPlan, memory_plan
from pairloom.shards.publishing import Publisher, publishing, replacement, settle
from pairloom.shards.resume import plan_resume
from pairloom.shards.shards import check_files
from pairloom.tokenizer import Tokenizer

__all__ = ["TokenizedFiles", "tokenize_files", "without_run_files"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_MOST_LISTED = 20


class TokenizedFiles:
    """The result of `tokenize_files`: the folder, its totals, and whether an earlier run had already finished it.

    folder: a Path, or the URL. n_documents, n_tokens, n_bytes (of text), n_skipped (records), skipped_files (paths).
    special_literals: how often the literal of each special token occurs as plain text. files: the shards.
    """

    def __init__(self, folder: Path | str, manifest: Manifest, was_complete: bool) -> None:
        self.folder = folder
        self.n_documents = manifest.documents
        self.n_tokens = manifest.tokens
        self.n_bytes = manifest.text_bytes
        self.n_skipped = manifest.skipped
        self.skipped_files = [file.path for file in manifest.skipped_files]
        self.special_literals = manifest.special_literals
        names = [shard["file"] for shard in manifest.shards]
        self.files: Sequence[Path | str] = [
            f"{folder.rstrip('/')}/{name}" if isinstance(folder, str) else folder / name for name in names
        ]
        self.was_complete = was_complete

    def __repr__(self) -> str:
        return (
            f"TokenizedFiles({public_url(str(self.folder))!r}, {len(self.files)} shards, {self.n_documents} documents, "
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
    takeover: bool = False,
    progress: Progress = None,
    max_memory: int | None = None,
    **options: Any,
) -> TokenizedFiles:
    """Encodes every document of a corpus and writes shards of ids into a folder.

    model: a tokenizer or its file. inputs: paths, or a `Corpus`; `options` are those of `Corpus`.
    output: a folder, new or empty, or a URL of fsspec. At a URL the run is one task of a `ShardJob`: its shards count
    once all are written, and it cannot be resumed.
    overwrite: replace the shards in the folder. takeover: remove the lock of a dead run at a URL.
    resume: continue an interrupted run, or start one; inputs after the point where it stopped may have changed, and new
    ones may follow; if the input in which it stopped has changed, shards that hold its documents are written again; a
    finished run without new inputs is left unchanged. rewrite: also write finished shards again if
    their inputs changed.
    format: "npy", "bin", "parquet" or "megatron"; see docs/shards.md. shard_tokens: a shard holds whole documents and
    ends once it has this many tokens.
    eot, bos: the special token whose id is put after, or before, each document; True if the tokenizer has only one.
    specials: literals of special tokens in the text are "ordinary" text (counted, with a warning), become the tokens'
    ids ("recognise"), or are an "error".
    max_memory: bytes, beside the tokenizer and what the process has already. Blocks are smaller then, and the cache;
    the shards are the same. MemoryError where that is too low, or where a pretoken or a record takes more.

    Raises OSError, CorpusError (with file and point), SpecialTokenError (specials="error"), FileExistsError for a
    folder that is not empty, ResumeError when it was made by another model or other options, or when inputs changed
    whose documents are in finished shards, ValueError and TypeError for arguments. Complete shards are kept and can be
    resumed after any failure.
    """
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    config = run_config(tokenizer, format=format, eot=eot, bos=bos, specials=specials, shard_tokens=shard_tokens)
    plan = memory_plan(max_memory, format)
    if rewrite and not resume:
        raise ValueError("rewrite belongs to resume=True; to replace all shards pass overwrite=True")
    if isinstance(inputs, Corpus):
        if options:
            raise TypeError(f"{next(iter(options))} belongs to the Corpus; give it there")
        corpus = inputs
    else:
        corpus = Corpus(inputs, **options)
    if is_url(output):
        if resume:
            raise ValueError(
                f"resume needs a local folder; at {public_url(os.fspath(output))} pass overwrite=True to begin again"
            )
        claim = {"overwrite": overwrite, "takeover": takeover}
        return _tokenize_to_url(tokenizer, corpus, os.fspath(output), config, claim, threads, progress, max_memory)
    folder = Path(output)
    check_is_folder(folder)
    corpus = without_run_files(corpus, folder)
    if overwrite and not corpus.names and manifest_file.exists(folder):
        raise ValueError(
            f"inputs hold no file to read beside the shards in {shown(str(folder))}, the output; name the files of the "
            "corpus, or another output"
        )
    n_threads = resolve_threads(threads)
    with locked_new_folder(folder, parents=True), reporter(progress) as report:
        first_texts, corpus = of_first_texts(corpus)
        listing = [{**entry, "first_sha256": first_texts} if first_texts else entry for entry in corpus.listing]
        fresh = new_manifest(tokenizer, config | corpus.options, listing)
        _check_room(folder, resume=resume, overwrite=overwrite)
        resumes = resume and manifest_file.exists(folder)
        replaces = not resumes and manifest_file.exists(folder)
        with replacement(folder) if replaces else contextlib.nullcontext(folder) as target:
            run = _Run(tokenizer, corpus, target, n_threads, plan)
            manifest = run.resumed(fresh, rewrite) if resumes else run.begun(fresh)
            if manifest.complete:
                return TokenizedFiles(folder, manifest, was_complete=True)
            try:
                run.execute(manifest, report)
            except OSError as error:
                if error.errno in _FULL:
                    raise _no_space(error, folder, None if replaces else len(manifest.shards)) from error
                raise
            finally:
                if not manifest.shards and not manifest.complete:
                    manifest_file.remove(target)
        return TokenizedFiles(folder, manifest, was_complete=False)


def _check_room(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Raises FileExistsError for a folder with other files, or with a run that is neither resumed nor replaced."""
    has_manifest = manifest_file.exists(folder)
    names = sorted(path.name for path in folder.iterdir())
    if has_manifest and not (resume or overwrite):
        remedy = "holds a run already; resume it (resume=True), or replace it (overwrite=True)"
        raise FileExistsError(errno.EEXIST, remedy, str(folder))
    others = [name for name in names if not is_run_file(name)]
    if others and not (has_manifest and resume):
        raise not_empty(folder, others[0])
    if names and not (resume or overwrite):
        raise FileExistsError(errno.EEXIST, "holds files of a killed run; resume it (resume=True)", str(folder))


def without_run_files(corpus: Corpus, folder: Path) -> Corpus:
    """The corpus without what a run has written to `folder`, which an input folder may hold.

    Other files there stay inputs: what a user has named is never left out.
    """
    # Of a hundred thousand paths, none is looked up on the disk.
    own = folder.absolute()
    kept = [
        source
        for source in corpus.sources
        if not is_run_file(name_of(source.name)) or Path(source.name).absolute().parent != own
    ]
    if len(kept) == len(corpus.sources):
        return corpus
    corpus = copy.copy(corpus)
    corpus.sources = kept
    return corpus


def _tokenize_to_url(
    tokenizer: Tokenizer,
    corpus: Corpus,
    url: str,
    config: dict[str, Any],
    claim: dict[str, bool],
    threads: int,
    progress: Progress,
    max_memory: int | None,
) -> TokenizedFiles:
    """The whole corpus as one task of a job."""
    chosen = {name: config[name] for name in ("format", "eot", "bos", "specials", "shard_tokens")} | claim
    job = ShardJob(url, tokenizer, **chosen, threads=threads)
    with job, reporter(progress) as report:
        manifest = job.commit([job.task.write_corpus(corpus, report=report, max_memory=max_memory)])
    warn_of_literals(manifest.special_literals)
    return TokenizedFiles(url, manifest, was_complete=False)


class _Run:
    """One call of `tokenize_files` after its arguments are checked."""

    def __init__(
        self, tokenizer: Tokenizer, corpus: Corpus, folder: Path, threads: int, plan: MemoryPlan | None
    ) -> None:
        self._tokenizer = tokenizer
        self._corpus = corpus
        self._folder = folder
        self._threads = threads
        self._plan = plan

    def begun(self, fresh: Manifest) -> Manifest:
        """The manifest of a new run, saved in the folder."""
        clear(self._folder)
        fresh.save(self._folder)
        return fresh

    def resumed(self, fresh: Manifest, rewrite: bool) -> Manifest:
        """The manifest of the folder, updated to today's inputs."""
        folder = self._folder
        settle(folder)
        manifest, notes = plan_resume(folder, Manifest.load(folder), fresh, rewrite=rewrite)
        check_files(folder, manifest)
        if not manifest.complete:
            # Shards are removed only when no manifest names them.
            manifest.save(folder)
            clear(folder, manifest.file_names)
        for note in notes:
            warn(note)
        return manifest

    def execute(self, manifest: Manifest, report: Any) -> None:
        """Reads, encodes and writes from the manifest's resume point to the end of the corpus."""
        folder, tokenizer = self._folder, self._tokenizer
        with publishing(folder, manifest, list(tokenizer.special_tokens), Publisher(folder, manifest)) as shards:
            reading = encode_corpus(tokenizer, self._corpus, manifest, shards, self._threads, report, self._plan)
        manifest.replace(folder, skipped=reading.n_skipped, skipped_files=list(reading.skipped_files), complete=True)
        reading.warn()
        warn_of_literals(manifest.special_literals)


def warn_of_literals(literals: dict[str, int]) -> None:
    """Warns if literals of special tokens were encoded as plain text."""
    if not literals:
        return
    some = sorted(literals, key=lambda token: -literals[token])[:_MOST_LISTED]
    listed = ", ".join(f"{token!r} {literals[token]:,}" for token in some)
    more = f" and {len(literals) - len(some)} others" if len(literals) > len(some) else ""
    warn(
        f"the text holds {sum(literals.values()):,} literals of special tokens, which are plain text in the shards "
        f'({listed}{more}); to make them ids pass specials="recognise"'
    )


def _no_space(error: OSError, folder: Path, n_shards: int | None) -> OSError:
    """The error of a full disk; n_shards: how many are complete, None for a run that replaces another."""
    message = f"no space left; {n_shards} shards are complete: make space, then resume (resume=True)"
    if n_shards is None:
        message = "no space left for a new run beside the old one, which stays as it is; make space, then begin again"
    return OSError(error.errno, message, str(folder))
