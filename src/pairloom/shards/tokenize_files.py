"""tokenize_files: encodes a corpus into a folder of shards; a killed run can be resumed.

Reading, encoding and writing run at the same time; memory is a few blocks, however large the corpus. Output order is
input order. The same input, model and options produce the same bytes, for any number of threads and interruptions.
docs/shards.md specifies the folder.
"""

import contextlib
import copy
import dataclasses
import errno
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
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
from pairloom.shards.files import check_is_folder, clear, is_run_file, not_empty_error
from pairloom.shards.job import ShardJob
from pairloom.shards.manifest import Manifest
from pairloom.shards.publishing import Mirror, finish_replacement, publish_shard, publishing, replacement
from pairloom.shards.resume import plan_resume
from pairloom.shards.selection import split_configs
from pairloom.shards.shards import check_files
from pairloom.shards.storage import storage_of
from pairloom.tokenizer import Tokenizer

_MAX_LISTED = 20

_Unfinished = tuple[Path, Manifest, Mirror | None]


class TokenizedFiles:
    """What `tokenize_files` wrote: the folder, its totals, and whether an earlier run had already finished it.

    folder: a Path, or the URL. n_documents, n_tokens, n_bytes (of text), n_skipped (records), skipped_files (paths).
    special_literals: how often the literal of each special token occurs as plain text. files: the shards.
    n_duplicates: documents whose text had occurred before; None if they were not counted. parts: the results of the
    parts of a split, by name; the totals are then over all parts.
    """

    def __init__(
        self,
        folder: Path | str,
        manifest: Manifest,
        was_complete: bool,
        parts: dict[str, "TokenizedFiles"] | None = None,
    ) -> None:
        self.folder = folder
        self.parts = parts or {}
        self.n_duplicates = manifest.duplicates
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
    split: Mapping[str, float] | None = None,
    duplicates: str = "keep",
    provenance: bool = False,
    id_field: str | None = None,
    **options: Any,
) -> TokenizedFiles:
    """Encodes every document of a corpus and writes shards of ids into a folder.

    model: a tokenizer or its file. inputs: paths, or a `Corpus`; `options` are those of `Corpus`.
    output: a new or empty folder, or an fsspec URL, to which each shard is copied when it is finished.
    overwrite: replace the shards in the folder. takeover: remove the lock that a dead run left at a URL.
    resume: continue an interrupted run, or start one. Inputs after the point where it stopped may have changed, and new
    ones may follow. If the input in which it stopped has changed, the shards that hold its documents are written again.
    A finished run without new inputs is left unchanged. rewrite: also write finished shards again if their inputs
    changed.
    format: "npy", "bin", "parquet" or "megatron"; see docs/shards.md. shard_tokens: a shard holds whole documents and
    ends once it has this many tokens.
    eot, bos: the special token whose id is put after (eot) or before (bos) each document; True if the tokenizer has
    only one special token.
    specials: literals of special tokens in the text are "ordinary" text (counted, with a warning), become the tokens'
    ids ("recognise"), or are an "error".
    split: fractions that add up to 1, for example {"train": 0.99, "val": 0.01}. Each part becomes a folder of shards of
    that name in `output`. A document's id, or its text if it has no id, decides which part it goes to, so it stays
    there when other documents are added.
    duplicates: a document whose text equals an earlier one byte for byte is only counted ("count"), or also left out
    ("drop"). Both take 16 bytes of memory per document, and a resumed run reads earlier inputs again.
    provenance: write a table beside each shard that says which document, record and input its tokens come from; needs
    pyarrow. id_field: the key or column of JSON lines, Parquet or Arrow that holds a document's id, for that table.

    Raises OSError; CorpusError (naming file and position); SpecialTokenError (specials="error"); FileExistsError if the
    folder is not empty; ResumeError if it was made with another model or other options, or if inputs whose documents
    are in finished shards have changed; ValueError and TypeError for bad arguments. After any failure, complete shards
    are kept and the run can be resumed.
    """
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    config = run_config(
        tokenizer,
        format=format,
        eot=eot,
        bos=bos,
        specials=specials,
        shard_tokens=shard_tokens,
        duplicates=duplicates,
        provenance=provenance,
        id_field=id_field,
    )
    parts = {} if split is None else split_configs(split)
    if rewrite and not resume:
        raise ValueError("rewrite needs resume=True; to replace all shards pass overwrite=True")
    if resume and overwrite:
        raise ValueError("resume continues a run and overwrite replaces it; pass only one of them")
    if isinstance(inputs, Corpus):
        if options:
            raise TypeError(f"{next(iter(options))} belongs to the Corpus; pass it there")
        corpus = inputs
    else:
        corpus = Corpus(inputs, **options)
    if id_field is not None:
        corpus.check_id_field(id_field)
    how: dict[str, Any] = {"resume": resume, "rewrite": rewrite, "overwrite": overwrite}
    if is_url(output):
        url = os.fspath(output).rstrip("/")
        if overwrite:
            if parts or duplicates != "keep" or provenance:
                what = "split, duplicates and provenance"
                raise ValueError(f"{public_url(url)}: {what} cannot overwrite there; pass a new folder")
            return _tokenize_to_url(tokenizer, corpus, url, config, takeover, threads, progress)
        with contextlib.ExitStack() as stack:
            local = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pairloom-")))
            places = {local / name: f"{url}/{name}" for name in parts} or {local: url}
            if parts and (others := sorted(set(storage_of(url).names()) - parts.keys())):
                raise not_empty_error(public_url(url), others[0])
            configs = {local / name: config | {"split": part} for name, part in parts.items()} or {local: config}
            # Entering the job finishes or removes what earlier jobs left, and holds the lock; this job commits nothing.
            mirrors: dict[Path, Mirror] = {}
            for place, at in places.items():
                job = stack.enter_context(ShardJob(at, tokenizer, overwrite=True, takeover=takeover))
                mirrors[place] = Mirror(storage_of(at), job.task.run)
                place.mkdir(exist_ok=True)
                mirrors[place].fetch(place, resume=resume)
            report = stack.enter_context(reporter(progress))
            done = write_folders(tokenizer, corpus, configs, resolve_threads(threads), report, mirrors, **how)
        return _result(url, parts, done, corpus)
    folder = Path(output)
    configs = {folder / name: config | {"split": part} for name, part in parts.items()} or {folder: config}
    for place in {folder: None, **configs}:
        check_is_folder(place)
        corpus = without_run_files(corpus, place)
        if overwrite and not corpus.names and manifest_file.exists(place):
            raise ValueError(
                f"inputs contain only the shards in {shown(str(place))}, the output; pass the files of the corpus, or "
                "another output"
            )
    with contextlib.ExitStack() as stack:
        if parts:
            stack.enter_context(locked_new_folder(folder, parents=True))
            if others := sorted(path.name for path in folder.iterdir() if path.name not in parts):
                raise not_empty_error(folder, others[0])
        report = stack.enter_context(reporter(progress))
        done = write_folders(tokenizer, corpus, configs, resolve_threads(threads), report, **how)
    return _result(folder, parts, done, corpus)


def _result(
    folder: Path | str, parts: Collection[str], done: Sequence[tuple[Manifest, bool]], corpus: Corpus
) -> TokenizedFiles:
    """Builds the result of a run. done: what `write_folders` returned, one pair for each part of a split."""
    if not parts:
        return TokenizedFiles(folder, *done[0])
    results = {
        name: TokenizedFiles(f"{folder}/{name}" if isinstance(folder, str) else folder / name, *one)
        for name, one in zip(parts, done, strict=True)
    }
    manifests = {name: manifest for name, (manifest, _) in zip(parts, done, strict=True)}
    if empty := [name for name, manifest in manifests.items() if not manifest.shards]:
        n_documents = sum(manifest.documents for manifest in manifests.values())
        why = ', since each text file is one; pass separator="\\n" if its lines are documents'
        is_why = any(map(corpus.is_one_document, range(len(corpus.sources))))
        warn(f"no document was assigned to {' and '.join(empty)}: the corpus has {n_documents:,}{why * is_why}")
    return TokenizedFiles(folder, _joined(manifests), all(was_complete for _, was_complete in done), results)


def write_folders(
    tokenizer: Tokenizer,
    corpus: Corpus,
    configs: Mapping[Path, dict[str, Any]],
    threads: int,
    report: Any,
    mirrors: Mapping[Path, Mirror] | None = None,
    *,
    resume: bool,
    rewrite: bool = False,
    overwrite: bool = False,
) -> list[tuple[Manifest, bool]]:
    """Writes one folder, or all parts of a split in one pass. configs: the options of each folder, as in `run_config`.

    mirrors: for folders whose files are only on their way to a URL. Returns for each folder its manifest, and whether
    an earlier run had already finished it.
    """
    with contextlib.ExitStack() as stack:
        for folder in configs:
            stack.enter_context(locked_new_folder(folder, parents=True))
        first_texts, corpus = of_first_texts(corpus)
        listing = [{**entry, "first_sha256": first_texts} if first_texts else entry for entry in corpus.listing]
        done: list[tuple[Manifest, bool]] = []
        unfinished: list[_Unfinished] = []
        for folder, config in configs.items():
            _check_room(folder, resume=resume, overwrite=overwrite)
            fresh = new_manifest(tokenizer, config | corpus.options, listing)
            target, mirror = folder, mirrors.get(folder) if mirrors else None
            if resume and manifest_file.exists(folder):
                manifest = _resumed_manifest(folder, fresh, rewrite, mirror)
            else:
                if manifest_file.exists(folder):
                    target = stack.enter_context(replacement(folder))
                clear(target)
                fresh.save(target)
                manifest = fresh
                if mirror is not None:
                    mirror.clear(fresh)
            done.append((manifest, manifest.complete))
            if not manifest.complete:
                unfinished.append((target, manifest, mirror))
                stack.callback(_removed_if_empty, target, manifest)
        if unfinished:
            try:
                _execute(tokenizer, corpus, unfinished, threads, report)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                remedy = "no space left; free space, then resume with resume=True, which keeps complete shards"
                if any(target not in configs for target, _, _ in unfinished):
                    remedy = "no space left beside the old run, which is unchanged; free space, then start again"
                raise OSError(error.errno, remedy, str(next(iter(configs)))) from error
    return done


def _removed_if_empty(folder: Path, manifest: Manifest) -> None:
    """Removes the manifest if the run failed before its first shard."""
    if not manifest.shards and not manifest.complete:
        manifest_file.remove(folder)


def _joined(manifests: Mapping[str, Manifest]) -> Manifest:
    """Returns one manifest with the shards of all parts of a split."""
    first, *_ = manifests.values()
    counted = [manifest.duplicates for manifest in manifests.values() if manifest.duplicates is not None]
    return dataclasses.replace(
        first,
        shards=[
            {**shard, "file": f"{name}/{shard['file']}"}
            for name, manifest in manifests.items()
            for shard in manifest.shards
        ],
        duplicates=sum(counted) if counted else None,
    )


def _check_room(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Raises FileExistsError if the folder holds other files, or a run that is neither resumed nor replaced."""
    has_manifest = manifest_file.exists(folder)
    names = sorted(path.name for path in folder.iterdir())
    if has_manifest and not (resume or overwrite):
        remedy = "already contains a run; resume it (resume=True), or replace it (overwrite=True)"
        raise FileExistsError(errno.EEXIST, remedy, str(folder))
    others = [name for name in names if not is_run_file(name)]
    if others and not (has_manifest and resume):
        raise not_empty_error(folder, others[0])
    if names and not (resume or overwrite):
        raise FileExistsError(errno.EEXIST, "contains files of a killed run; resume it (resume=True)", str(folder))


def without_run_files(corpus: Corpus, folder: Path) -> Corpus:
    """Returns the corpus without the run files in `folder`, which can lie in an input folder.

    Other files there remain inputs: files that the user named are never left out.
    """
    # Compares paths only, so that a hundred thousand of them need no lookup on disk.
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
    takeover: bool,
    threads: int,
    progress: Progress,
) -> TokenizedFiles:
    """Writes the whole corpus as one task of a job, so that the shards it replaces stay until it is done."""
    chosen = {name: config[name] for name in ("format", "eot", "bos", "specials", "shard_tokens")}
    job = ShardJob(url, tokenizer, **chosen, threads=threads, overwrite=True, takeover=takeover)
    with job, reporter(progress) as report:
        manifest = job.commit([job.task.write_corpus(corpus, report=report)])
    warn_of_literals(manifest.special_literals)
    return TokenizedFiles(url, manifest, was_complete=False)


def _resumed_manifest(folder: Path, fresh: Manifest, rewrite: bool, mirror: Mirror | None) -> Manifest:
    """Returns the manifest of the folder, updated to today's inputs."""
    finish_replacement(folder)
    shown = folder if mirror is None else mirror.storage.url
    manifest, notes = plan_resume(shown, Manifest.load(folder), fresh, rewrite=rewrite)
    if mirror is None:
        check_files(folder, manifest)
    else:
        mirror.check(manifest)
    if not manifest.complete:
        # Save first: a shard may be removed only when no manifest names it.
        manifest.save(folder)
        clear(folder, manifest.file_names)
        if mirror is not None:
            mirror.bring([], manifest)
            mirror.clear(manifest)
    for note in notes:
        warn(note)
    return manifest


def _execute(
    tokenizer: Tokenizer, corpus: Corpus, unfinished: Sequence[_Unfinished], threads: int, report: Any
) -> None:
    """Reads, encodes and writes from the resume points of the manifests to the end of the corpus."""
    tokens = list(tokenizer.special_tokens)
    with contextlib.ExitStack() as stack:
        targets = []
        for folder, manifest, mirror in unfinished:
            publish = partial(publish_shard, folder, manifest, mirror)
            targets.append((manifest, stack.enter_context(publishing(folder, manifest, tokens, publish))))
        reading, n_duplicates = encode_corpus(tokenizer, corpus, targets, threads, report)
    literals: Counter[str] = Counter()
    skipped = {"skipped": reading.n_skipped, "skipped_files": list(reading.skipped_files)}
    for (folder, manifest, mirror), n in zip(unfinished, n_duplicates, strict=True):
        manifest.replace(folder, **skipped, duplicates=n, complete=True)
        if mirror is not None:
            mirror.bring([], manifest)
        literals.update(manifest.special_literals)
    reading.warn()
    warn_of_literals(literals)


def warn_of_literals(literals: dict[str, int]) -> None:
    """Warns if literals of special tokens were encoded as plain text."""
    if not literals:
        return
    some = sorted(literals, key=lambda token: -literals[token])[:_MAX_LISTED]
    listed = ", ".join(f"{token!r} {literals[token]:,}" for token in some)
    more = f" and {len(literals) - len(some)} others" if len(literals) > len(some) else ""
    warn(
        f"the text contains {sum(literals.values()):,} literals of special tokens, which are encoded as plain text "
        f'({listed}{more}); to encode them as their ids, pass specials="recognise"'
    )
