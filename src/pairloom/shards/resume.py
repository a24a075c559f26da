"""Resumes an interrupted `tokenize_files` run: where it continues, and whether its inputs still allow that.

The resume point is the document boundary after the last finished shard. Inputs before it must be unchanged; inputs
after it may have changed in any way. If the input that contains it has changed, the shards that hold its documents are
written again. Of a finished run no input may have changed.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from pairloom.corpus.content import content_digest
from pairloom.errors import ResumeError
from pairloom.shards.manifest import Manifest, with_inputs

__all__ = [
    "ResumePlan",
    "check_not_of_job",
    "check_nothing_dropped",
    "check_options",
    "first_shards",
    "has_changed",
    "plan_resume",
]

_AGAIN = "write such shards again (resume=True, rewrite=True)"
_REMEDY = f"put it back as it was, start in a new folder, or {_AGAIN}"


class ResumePlan(NamedTuple):
    """How a run resumes.

    manifest: the shards that are kept, with today's inputs. notes: warnings for the user.
    """

    manifest: Manifest
    notes: list[str]


def plan_resume(folder: Path | str, found: Manifest, fresh: Manifest, *, rewrite: bool) -> ResumePlan:
    """Plans how the run that left `found` in `folder` resumes as the run described by `fresh`.

    rewrite: finished shards may be written again if their inputs changed. Raises ResumeError.
    """
    check_not_of_job(folder, found)
    check_options(folder, found, fresh)
    kept = found
    if _are_other_texts(found, fresh):
        if not rewrite:
            raise ResumeError(f"{folder}: was made of other texts; start in a new folder, or {_AGAIN}")
        kept = first_shards(found, 0)
    plan = _InputComparison(folder, kept, fresh, rewrite).result()
    for shard in found.shards[len(plan.manifest.shards) :]:
        check_nothing_dropped(folder, shard)
    return plan


def check_nothing_dropped(folder: Path | str, shard: dict[str, Any]) -> None:
    """Raises ResumeError for a shard that documents were dropped from: written again, it would hold them again."""
    if shard.get("dropped"):
        raise ResumeError(
            f"{folder}/{shard['file']}: documents were dropped from it, which would come back if it was written again;"
            " put a copy of the file there, or tokenize inputs without them (overwrite=True)"
        )


def check_not_of_job(folder: Path | str, found: Manifest) -> None:
    """Raises ResumeError for a folder without resume points."""
    if found.shards and not found.next.documents:
        raise ResumeError(f"{folder}: was written by a ShardJob, which is not resumed or mended; run the job again")


def check_options(folder: Path | str, found: Manifest, fresh: Manifest) -> None:
    """Raises ResumeError naming the option in which the run in `folder` differs from `fresh`."""
    if (found.model, found.n_vocab) != (fresh.model, fresh.n_vocab):
        raise ResumeError(f"{folder}: was made with another model; resume with the same, or start in a new folder")
    for key in [*fresh.config, *found.config]:
        old, new = found.config.get(key), fresh.config.get(key)
        if old != new or (key in found.config) != (key in fresh.config):
            raise ResumeError(
                f"{folder}: was made with {key} {old!r}, not {new!r}; resume with the same, or start in a new folder"
            )


def _are_other_texts(found: Manifest, fresh: Manifest) -> bool:
    """Whether both were made of texts in memory that begin differently."""
    begins = [[entry.get("first_sha256") for entry in manifest.inputs] for manifest in (found, fresh)]
    return None not in (*begins[0], *begins[1]) and begins[0] != begins[1]


def has_changed(old: dict[str, Any], new: dict[str, Any], *, deep: bool = False) -> bool:
    """Whether an input, an entry of a manifest then and today, has another content.

    The digest tells, and is computed where the times differ, or if `deep`. An input of which none was recorded, because
    it was not read to its end, has changed if its time has.
    """
    if old["bytes"] != new["bytes"]:
        return True
    known = old.get("xxh3_128")
    is_other_time = None not in (old["mtime_ns"], new["mtime_ns"]) and old["mtime_ns"] != new["mtime_ns"]
    if is_other_time or (deep and known is not None and new["mtime_ns"] is not None):
        return known is None or known != content_digest(new["path"])
    return False


def _skipped_note(path: str) -> str:
    return (
        f"{path} could not be read in the earlier run and has changed since; its skipped documents remain skipped: "
        "tokenize it into a folder of its own, or resume with rewrite=True"
    )


def first_shards(found: Manifest, n_kept: int) -> Manifest:
    """The manifest as it was when the first `n_kept` shards were finished."""
    names = {Path(shard["file"]).stem for shard in found.shards[:n_kept]}
    kept = dataclasses.replace(
        found,
        shards=found.shards[:n_kept],
        indexes=[index for index in found.indexes if index["file"].lstrip(".").partition(".")[0] in names],
        complete=False,
    )
    kept.skipped = kept.next.source_skipped
    kept.skipped_files = [file for file in found.skipped_files if file.input < kept.next.source]
    return kept


class _InputComparison:
    """Compares the earlier run's inputs with today's, in order: up to the resume point, or all if it is finished."""

    def __init__(self, folder: Path | str, found: Manifest, fresh: Manifest, rewrite: bool) -> None:
        self._folder = folder
        self._found = found
        self._fresh = fresh
        self._rewrite = rewrite
        self._skipped = {file.input: file for file in found.skipped_files}
        self._notes: list[str] = []
        # Index of an input then -> index today.
        self._numbers: dict[int, int] = {}
        # Manifest entries of inputs that were skipped and have changed since, by today's index.
        self._kept_entries: dict[int, dict[str, Any]] = {}

    def result(self) -> ResumePlan:
        found, point = self._found, self._found.next
        n_concerned = len(found.inputs) if found.complete else point.source + (1 if point.documents else 0)
        for number in range(n_concerned):
            problem = self._compare(number)
            # To compare the documents of the input in which the run stopped would cost what encoding them again does.
            is_last = number == point.source and number in self._numbers and not found.complete
            if problem is not None and (self._rewrite or is_last):
                return self._rewritten(number, problem)
            if problem is not None:
                raise ResumeError(f"{self._folder}: {problem}, but finished shards hold its documents; {_REMEDY}")
        if found.complete:
            if len(found.inputs) == len(self._fresh.inputs) == len(self._numbers):
                return ResumePlan(found, self._notes)
            found = self._without_last()
        return ResumePlan(self._renumbered(found), self._notes)

    def _compare(self, number: int) -> str | None:
        """Why input `number` prevents resuming; None if it does not."""
        old = self._found.inputs[number]
        at = len(self._numbers)
        new = self._fresh.inputs[at] if at < len(self._fresh.inputs) else None
        skipped = self._skipped.get(number)
        if new is None or new["path"] != old["path"]:
            # The tables of provenance number the inputs.
            if skipped is not None and not self._found.has_provenance:
                # It contributed no documents then and contributes none now.
                return None
            if any(entry["path"] == old["path"] for entry in self._fresh.inputs[at:]):
                return f"{new['path'] if new else ''} stands before {old['path']} now"
            return f"{old['path']} is not among the inputs any more"
        self._numbers[number] = at
        if not has_changed(old, new, deep=self._rewrite):
            return None
        if self._rewrite:
            return f"{old['path']} has changed"
        if skipped is not None:
            self._notes.append(_skipped_note(old["path"]))
            self._kept_entries[at] = old
        elif old["bytes"] != new["bytes"]:
            return f"{old['path']} has {new['bytes']} bytes now, not {old['bytes']}"
        else:
            return f"{old['path']} has other content than when it was read"
        return None

    def _without_last(self) -> Manifest:
        """The manifest of a finished run without its last shard, unless that is full: it gets more documents."""
        n_kept = len(self._found.shards)
        last = self._found.shards[-1] if n_kept else {}
        # One that documents were dropped from is not written again.
        if n_kept and last["tokens"] < self._fresh.config["shard_tokens"] and not last.get("dropped"):
            n_kept -= 1
        return first_shards(self._found, n_kept)

    def _rewritten(self, number: int, problem: str) -> ResumePlan:
        """Keeps the shards that ended before input `number` began."""
        shards = (self._without_last() if self._found.complete else self._found).shards
        n_kept = sum(shard["next"]["source"] < number for shard in shards)
        self._notes = [f"{problem}; {len(self._found.shards) - n_kept} finished shards are written again"]
        return ResumePlan(self._renumbered(first_shards(self._found, n_kept)), self._notes)

    def _renumbered(self, manifest: Manifest) -> Manifest:
        """The manifest with today's inputs and their indices."""
        inputs = [self._kept_entries.get(at, entry) for at, entry in enumerate(self._fresh.inputs)]
        for number, at in self._numbers.items():
            if number < manifest.next.source:
                # With its digest.
                inputs[at] = {**manifest.inputs[number], **inputs[at]}
        return dataclasses.replace(
            manifest,
            inputs=inputs,
            version=self._fresh.version,
            shards=[self._shard_renumbered(shard) for shard in manifest.shards],
            skipped_files=[
                file._replace(input=self._numbers[file.input])
                for file in manifest.skipped_files
                if file.input in self._numbers
            ],
        )

    def _shard_renumbered(self, shard: dict[str, Any]) -> dict[str, Any]:
        return {
            **shard,
            "next": {**shard["next"], "source": self._numbers[shard["next"]["source"]]},
            **with_inputs(shard, self._numbers.__getitem__),
        }
