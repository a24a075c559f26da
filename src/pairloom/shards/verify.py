"""verify_shards: finds damage in a folder of shards, and repairs it from the inputs.

A damaged shard is encoded again from the boundary at which the previous shard ended. The result takes its place if its
files have the digests that the manifest records.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import check_bool, resolve_threads
from pairloom._internal.folder_lock import locked_folder
from pairloom.corpus import Corpus
from pairloom.errors import FormatError, ResumeError
from pairloom.shards.config import new_manifest, run_config
from pairloom.shards.encoding import encode_corpus
from pairloom.shards.files import damage_reported, hidden_folder, is_run_file
from pairloom.shards.manifest import Manifest
from pairloom.shards.publishing import Files, finish_replacement, publishing
from pairloom.shards.reading import shard_folder
from pairloom.shards.resume import check_not_of_job, check_nothing_dropped, check_options, first_shards, has_changed
from pairloom.shards.selection import check_selection, start_of
from pairloom.shards.shards import Shard, check_file, check_ids, check_order, read_shard
from pairloom.shards.tokenize_files import write_folders
from pairloom.tokenizer import Tokenizer

_CHOSEN_OPTIONS = ("format", "eot", "bos", "specials", "shard_tokens", "duplicates", "provenance", "id_field")
_READING_OPTIONS = ("text_field", "separator", "max_bytes", "doc_cap", "input_errors", "input_format")


def verify_shards(
    folder: str | os.PathLike[str],
    *,
    deep: bool = False,
    repair: bool = False,
    model: Tokenizer | str | os.PathLike[str] | None = None,
    inputs: Any = None,
    threads: int = 0,
) -> list[str]:
    """Checks a folder of shards; returns one sentence for each damage, naming the file, in the order of the shards.

    Checks that each file exists, is a regular file, and has the recorded size, header and lengths; that offsets are in
    order; that ids are below n_vocab. deep: also checks the SHA-256 of each file.
    repair: fix what a deep check finds: encode damaged shards again, and finish an unfinished run. This needs `model`,
    the tokenizer or its file, and the inputs: those of the manifest, or `inputs`, the same files at other paths.

    Raises FileNotFoundError for a folder without a manifest; FormatError for a damaged one; ResumeError for what cannot
    be repaired: another model, a changed input, rows of `pack_shards`, shards of a `ShardJob`.
    """
    path = shard_folder(folder)
    check_bool("deep", deep)
    if not check_bool("repair", repair):
        if model is not None or inputs is not None:
            raise ValueError("model and inputs are used only for repair; pass repair=True, or leave them out")
        return [message for _, message in _damage(path, Manifest.load(path), deep)]
    if model is None:
        raise ValueError(
            "model is missing, but repair must encode damaged shards again; pass the tokenizer or its file"
        )
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    with locked_folder(path):
        manifest = Manifest.load(path)
        found = list(_damage(path, manifest, deep=True))
        if not found:
            return []
        repairer = _Repairer(path, manifest, tokenizer, inputs, resolve_threads(threads))
        finish_replacement(path)
        for number, _ in found:
            if number is not None:
                repairer.repair(number)
    if not manifest.complete:
        repairer.finish()
    return [message for _, message in found]


def _damage(folder: Path, manifest: Manifest, deep: bool) -> Iterator[tuple[int | None, str]]:
    """Yields (number of the shard, message) for each damage; the number is None if it is not of one shard."""
    for number in range(len(manifest.shards)):
        try:
            _check_shard(folder, manifest, number, deep)
        except FormatError as error:
            yield number, str(error)
    named = {*manifest.file_names, manifest.file()[0]}
    for name in sorted(path.name for path in folder.iterdir()):
        if is_run_file(name) and not name.startswith(".") and name not in named:
            why = "it was left by a killed run, or the manifest is outdated"
            yield None, f"{folder / name}: is not in the manifest: {why}; resume the run (resume=True)"
    if not manifest.complete:
        yield None, f"{folder}: the run that writes it has not finished; resume it (resume=True)"


def _check_shard(folder: Path, manifest: Manifest, number: int, deep: bool) -> None:
    for entry in manifest.entries_of(number):
        check_file(folder, manifest, entry, deep=deep)
    ids, offsets = read_shard(folder, manifest, number)
    path = folder / manifest.shards[number]["file"]
    check_order(path, offsets)
    check_ids(path, ids, manifest.n_vocab)


class _Repaired(Exception):
    """Ends an encoding once its shard is in place."""


class _Repairer:
    """Encodes shards of a folder again."""

    def __init__(self, folder: Path, manifest: Manifest, tokenizer: Tokenizer, inputs: Any, threads: int) -> None:
        config = manifest.config
        if any(entry["bytes"] is None for entry in manifest.inputs):
            raise ResumeError(
                f"{folder}: was made from a pipe or from texts, which cannot be read again; tokenize again"
            )
        self._folder, self._manifest, self._tokenizer, self._threads = folder, manifest, tokenizer, threads
        check_not_of_job(folder, manifest)
        with self._options_checked():
            check_selection(config)
            self._config = run_config(tokenizer, **{name: config[name] for name in _CHOSEN_OPTIONS if name in config})
            self._config |= {name: config[name] for name in ("split",) if name in config}
            self._reading: dict[str, Any] = {name: config[name] for name in _READING_OPTIONS}
            fresh = new_manifest(tokenizer, self._config | self._reading, [])
        check_options(folder, manifest, fresh)
        # Leave out again what was left out then.
        self._reading |= {"skip_bad": bool(manifest.skipped), "skip_bad_files": bool(manifest.skipped_files)}
        self._paths = [entry["path"] for entry in manifest.inputs]
        if inputs is not None:
            self._paths = [source.name for source in self._corpus(inputs).sources]
        if len(self._paths) != len(manifest.inputs):
            raise ResumeError(
                f"{folder}: was made of {len(manifest.inputs)} inputs, but {len(self._paths)} were passed"
            )

    def _options_checked(self) -> contextlib.AbstractContextManager[None]:
        return damage_reported(self._folder, "its options are not those of a run", "tokenize again (overwrite=True)")

    def _corpus(self, paths: Any) -> Corpus:
        with self._options_checked():
            return Corpus(paths, **self._reading)

    def repair(self, number: int) -> None:
        """Encodes a shard again and puts it in its place."""
        entry = self._manifest.shards[number]
        check_nothing_dropped(self._folder, entry)
        before = first_shards(self._manifest, number)
        first, last = start_of(self._manifest.config, [before.next]).source, entry["next"]["source"]
        corpus = self._corpus(self._paths[first : last + 1])
        for path, old, new in zip(self._paths[first:], self._manifest.inputs[first : last + 1], corpus.listing):
            # A path that was a file may be a folder now.
            if new["path"] != path or has_changed(old, new):
                raise ResumeError(
                    f"{path}: has changed since {entry['file']} was made from it; restore it, or write these "
                    "shards again (resume=True, rewrite=True)"
                )
        # This corpus begins with input `first`, so renumber.
        before.skipped_files = [
            file._replace(input=file.input - first) for file in before.skipped_files if file.input >= first
        ]
        if before.shards:
            point = before.shards[-1]["next"]
            before.shards[-1] = {**before.shards[-1], "next": {**point, "source": point["source"] - first}}
        with contextlib.suppress(_Repaired), hidden_folder(self._folder) as hidden:
            with publishing(hidden, before, list(self._tokenizer.special_tokens), self._publish) as shards:
                encode_corpus(self._tokenizer, corpus, [(before, shards)], self._threads, first_input=first)
            raise self._other_shard(entry["file"])

    def _publish(self, shard: Shard, files: Files) -> None:
        """Puts the first shard in its place if it matches the manifest, then ends the encoding."""
        recorded = {entry["file"]: entry["sha256"] for entry in self._manifest.files}
        for file in files:
            if file["sha256"] != recorded[file["file"]]:
                raise self._other_shard(file["file"])
        for partial, name in reversed(shard.files):
            partial.replace(self._folder / name)
        raise _Repaired

    def _other_shard(self, name: str) -> ResumeError:
        path = self._folder / name
        return ResumeError(f"{path}: encoding its inputs again does not reproduce it; tokenize again (overwrite=True)")

    def finish(self) -> None:
        """Resumes an unfinished run."""
        corpus, configs = self._corpus(self._paths), {self._folder: self._config}
        write_folders(self._tokenizer, corpus, configs, self._threads, None, resume=True)
