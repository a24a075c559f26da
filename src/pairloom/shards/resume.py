"""Resumes an interrupted `tokenize_files` run: where it continues, and whether its inputs still allow that.

The resume point is the document boundary after the last finished shard. Inputs before it must be unchanged; inputs
after it may have changed in any way. If the input that contains it has changed, the shards that hold its documents are
written again. If the run was finished, no input may have changed.
"""

import dataclasses
from pathlib import Path
from typing import Any

from pairloom.corpus.content import content_digest
from pairloom.errors import ResumeError
from pairloom.shards.manifest import Manifest

_REWRITE_REMEDY = "write these shards again (resume=True, rewrite=True)"
_REMEDY = f"restore it, start in a new folder, or {_REWRITE_REMEDY}"


def plan_resume(folder: Path | str, found: Manifest, fresh: Manifest, *, rewrite: bool) -> tuple[Manifest, list[str]]:
    """Plans how the run that left `found` in `folder` resumes as the run described by `fresh`.

    Returns the manifest of the shards that are kept, with today's inputs, and warnings for the user. rewrite: finished
    shards may be written again if their inputs changed. Raises ResumeError.
    """
    check_not_of_job(folder, found)
    check_options(folder, found, fresh)
    # Only the last shard of all may have room left, so one that a run wrote just before it was killed is written again.
    kept = found if found.complete else _reopen_last_shard(found, fresh.config["shard_tokens"])
    notes = list[str]()
    # In-memory texts are compared by how they begin.
    begins = [[entry.get("first_sha256") for entry in manifest.inputs] for manifest in (found, fresh)]
    if None not in (*begins[0], *begins[1]) and begins[0] != begins[1]:
        if not rewrite:
            raise ResumeError(f"{folder}: was made from other texts; start in a new folder, or {_REWRITE_REMEDY}")
        kept = first_shards(found, 0)
    point, was_complete = kept.next, kept.complete
    n_concerned = len(kept.inputs) if was_complete else point.source + (1 if point.documents else 0)
    problems = ((number, _why_not_resumable(kept, fresh, number, rewrite)) for number in range(n_concerned))
    number, problem = next((each for each in problems if each[1] is not None), (0, None))
    if was_complete and (problem is not None or len(kept.inputs) < len(fresh.inputs)):
        kept = _reopen_last_shard(kept, fresh.config["shard_tokens"])
    if problem is not None:
        is_there = number < len(fresh.inputs) and fresh.inputs[number]["path"] == kept.inputs[number]["path"]
        # Comparing the documents of the input in which the run stopped would cost as much as encoding them again.
        if not rewrite and not (number == point.source and is_there and not was_complete):
            raise ResumeError(f"{folder}: {problem}, but the finished shards depend on it; {_REMEDY}")
        kept = first_shards(kept, sum(shard["next"]["source"] < number for shard in kept.shards))
        notes = [f"{problem}; {len(found.shards) - len(kept.shards)} finished shards will be written again"]
    known = kept.inputs[:n_concerned] if kept.shards else []
    if piped := [entry["path"] for entry in known if entry["bytes"] is None and "first_sha256" not in entry]:
        notes.append(
            f"what {piped[0]} sends cannot be compared with what the earlier run read; pass the same data again"
        )
    for shard in found.shards[len(kept.shards) :]:
        check_nothing_dropped(folder, shard)
    if not kept.complete:
        n_read = kept.next.source
        # Keep the recorded digests.
        inputs = [{**old, **new} for old, new in zip(kept.inputs[:n_read], fresh.inputs, strict=False)]
        kept = dataclasses.replace(kept, inputs=[*inputs, *fresh.inputs[n_read:]], version=fresh.version)
    return kept, notes


def check_nothing_dropped(folder: Path | str, shard: dict[str, Any]) -> None:
    """Raises ResumeError if documents were dropped from a shard: written again, it would contain them again."""
    if shard.get("dropped"):
        raise ResumeError(
            f"{folder}/{shard['file']}: documents were dropped from it, and writing it again would restore them; put "
            "a copy of the file there, or tokenize inputs without them (overwrite=True)"
        )


def check_not_of_job(folder: Path | str, found: Manifest) -> None:
    """Raises ResumeError for a folder without resume points."""
    if found.shards and not found.next.documents:
        what = "packed rows" if "pack" in found.config else "shards of a ShardJob"
        raise ResumeError(f"{folder}: holds {what}, which cannot be resumed or repaired; write them again")


def check_options(folder: Path | str, found: Manifest, fresh: Manifest) -> None:
    """Raises ResumeError naming an option that differs between the run in `folder` and `fresh`."""
    if (found.model, found.n_vocab) != (fresh.model, fresh.n_vocab):
        raise ResumeError(
            f"{folder}: was made with another model; resume with the same model, or start in a new folder"
        )
    # Differing values first: a run without provenance also lacks id_field, even if that is None in the other run.
    for key in sorted({**fresh.config, **found.config}, key=lambda key: found.config.get(key) == fresh.config.get(key)):
        old, new = found.config.get(key), fresh.config.get(key)
        if old != new or (key in found.config) != (key in fresh.config):
            raise ResumeError(
                f"{folder}: was made with {key} {old!r}, not {new!r}; resume with the same, or start in a new folder"
            )


def has_changed(old: dict[str, Any], new: dict[str, Any], *, deep: bool = False) -> bool:
    """Whether the content of an input has changed; old, new: its entries in the manifest then and today.

    Compares digests if the times differ, or if `deep`. An input without a recorded digest, because it is a URL or was
    not read to its end, counts as changed if its time has.
    """
    if old["bytes"] != new["bytes"]:
        return True
    known = old.get("xxh3_128")
    is_other_time = None not in (old["mtime_ns"], new["mtime_ns"]) and old["mtime_ns"] != new["mtime_ns"]
    if is_other_time or (deep and known is not None and new["mtime_ns"] is not None):
        return known is None or known != content_digest(new["path"])
    return False


def first_shards(found: Manifest, n_kept: int) -> Manifest:
    """Returns the manifest as it was when the first `n_kept` shards were finished."""
    kept = dataclasses.replace(
        found,
        shards=found.shards[:n_kept],
        indexes=found.indexes[: n_kept * (len(found.names_of(0)) - 1)],
        complete=False,
    )
    kept.skipped = kept.next.source_skipped
    kept.skipped_files = [file for file in found.skipped_files if file.input < kept.next.source]
    return kept


def _why_not_resumable(found: Manifest, fresh: Manifest, number: int, rewrite: bool) -> str | None:
    """Returns why input `number` prevents resuming; None if it does not."""
    old = found.inputs[number]
    new = fresh.inputs[number] if number < len(fresh.inputs) else None
    if new is None or new["path"] != old["path"]:
        if any(entry["path"] == old["path"] for entry in fresh.inputs[number:]):
            return f"{new['path'] if new else ''} is before {old['path']} now"
        if new is not None and Path(new["path"]).name == Path(old["path"]).name:
            # Such as from another working directory.
            return f"{old['path']} is named {new['path']} now (give the same path to resume)"
        return f"{old['path']} is not among the inputs any more"
    if not has_changed(old, new, deep=rewrite):
        return None
    if rewrite:
        return f"{old['path']} has changed"
    if old["bytes"] != new["bytes"]:
        return f"{old['path']} has {new['bytes']} bytes now, not {old['bytes']}"
    if "xxh3_128" not in old:
        return f"{old['path']} was modified after the run that read it"
    return f"{old['path']} has different content than when it was read"


def _reopen_last_shard(found: Manifest, shard_tokens: int) -> Manifest:
    """Returns the manifest without the last shard, which gets more documents unless it is full."""
    n_kept = len(found.shards)
    last = found.shards[-1] if n_kept else {}
    # A shard from which documents were dropped must not be written again.
    if n_kept and last["tokens"] < shard_tokens and not last.get("dropped"):
        n_kept -= 1
    return first_shards(found, n_kept)
