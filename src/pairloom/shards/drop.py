"""drop_documents: removes documents from a folder of shards, as if they had not been in the inputs.

A shard that holds any of them is written again without them, into a hidden folder. One rename, that of the manifest,
makes the new files count (`publishing.put_in_place`), so a kill leaves each shard either as it was or as it will be,
and the next call goes on. A shard that is emptied stays, without documents, so that the others keep their names.
"""

import dataclasses
import datetime
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairloom._internal.arguments import check_str, check_texts
from pairloom._internal.atomic import sync_directory
from pairloom._internal.folder_lock import locked_folder
from pairloom.errors import ResumeError
from pairloom.shards import provenance
from pairloom.shards.files import MODULES, hidden_folder, partial_path
from pairloom.shards.manifest import Manifest
from pairloom.shards.publishing import finish_replacement, put_in_place, rename_to_final, sync_and_digest
from pairloom.shards.reading import shard_folder
from pairloom.shards.shards import Shard, check_file, read_provenance, read_shard


class DroppedDocuments(NamedTuple):
    """What was removed: documents, their tokens, and the numbers of the shards that were written again.

    missing: ids that no document had. earlier: ids whose documents an earlier call removed.
    """

    n_documents: int
    n_tokens: int
    shards: list[int]
    missing: list[str]
    earlier: list[str]


def drop_documents(folder: str | os.PathLike[str], ids: Iterable[str]) -> DroppedDocuments:
    """Removes all documents with one of the ids from a folder of shards that has ids (`provenance`, `id_field`).

    Shards without such documents stay as they are. The manifest keeps a record: the date, the numbers of documents and
    tokens, and the SHA-256 of each id. If a call was killed, repeat it to finish it.
    Raises FileNotFoundError for a folder without a manifest; FormatError for damage; ResumeError for a folder without
    ids, with an unfinished run, or of packed rows; OSError.
    """
    path = shard_folder(folder)
    check_texts("ids", ids)
    wanted = sorted(set(ids))
    for id in wanted:
        check_str("an id", id)
    with locked_folder(path):
        finish_replacement(path)
        manifest = Manifest.load(path)
        _check_may_drop(path, manifest)
        known = {digest for record in manifest.dropped for digest in record["ids_sha256"]}
        record: dict[str, Any] = {"documents": 0, "tokens": 0, "shards": [], "ids_sha256": []}
        found: set[str] = set()
        for number in range(len(manifest.shards)):
            # Damaged files must not get a new digest.
            check_file(path, manifest, manifest.entries_of(number)[-1], deep=True)
            table = read_provenance(path, manifest, number)
            rows = provenance.rows_with(table, wanted)
            if rows:
                found |= set(table.column("id").take(np.array(rows)).to_pylist())
                record["ids_sha256"] = sorted(map(_digest, found))
                manifest = _rewrite_without_rows(path, manifest, number, table, rows, record)
    missing = [id for id in wanted if id not in found]
    return DroppedDocuments(
        record["documents"],
        record["tokens"],
        record["shards"],
        [id for id in missing if _digest(id) not in known],
        [id for id in missing if _digest(id) in known],
    )


def _digest(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()


def _check_may_drop(folder: Path, manifest: Manifest) -> None:
    if manifest.config.get("id_field") is None:
        raise ResumeError(
            f"{folder}: has no ids to find documents by; tokenize with provenance=True and id_field=, or tokenize "
            "inputs without these documents"
        )
    if "pack" in manifest.config:
        raise ResumeError(
            f"{folder}: contains packed rows, which would all change; drop the documents from the unpacked shards and "
            "pack those, or tokenize and pack inputs without them"
        )
    if not manifest.complete:
        raise ResumeError(
            f"{folder}: the run that writes it has not finished; resume it (resume=True), then drop documents"
        )


def _rewrite_without_rows(
    folder: Path, manifest: Manifest, number: int, table: Any, rows: list[int], record: dict[str, Any]
) -> Manifest:
    """Writes a shard again without some rows, adds them to this call's record, and returns the new manifest."""
    for entry in manifest.entries_of(number):
        check_file(folder, manifest, entry, deep=True)
    with hidden_folder(folder) as hidden:
        shard = _write_kept_rows(folder, manifest, number, table, rows, hidden)
        ids, *others = sync_and_digest(shard)
        rename_to_final(shard)
        sync_directory(hidden)
    old = manifest.shards[number]
    earlier = manifest.dropped[:-1] if record["shards"] else manifest.dropped
    record["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    record["documents"] += len(rows)
    record["tokens"] += old["tokens"] - shard.entry["tokens"]
    record["shards"] = [*record["shards"], number]
    first, end = number * len(others), (number + 1) * len(others)
    changed = dataclasses.replace(
        manifest,
        shards=[*manifest.shards[:number], ids | shard.entry, *manifest.shards[number + 1 :]],
        indexes=[*manifest.indexes[:first], *others, *manifest.indexes[end:]],
        dropped=[*earlier, dict(record)],
        hidden_folder=hidden.name,
    )
    changed.save(folder)
    put_in_place(folder, changed)
    return changed


def _write_kept_rows(folder: Path, manifest: Manifest, number: int, table: Any, rows: list[int], hidden: Path) -> Shard:
    """Writes the shard without some rows, under partial names in the hidden folder."""
    files = [(partial_path(hidden / name), name) for name in manifest.names_of(number)]
    ids, offsets = read_shard(folder, manifest, number)
    offsets = offsets.astype(np.int64)
    is_kept = np.ones(len(table), bool)
    is_kept[rows] = False
    writer = MODULES[manifest.format].Writer([path for path, _ in files[:-1]], np.dtype(manifest.dtype))
    lengths = np.diff(offsets)
    kept = np.repeat(is_kept, lengths)
    lengths = lengths[is_kept]
    writer.write(ids[kept], np.cumsum(lengths))
    writer.finish()
    left = provenance.without(table, is_kept, lengths)
    rest = provenance.ProvenanceWriter(files[-1][0])
    rest.append(left)
    rest.finish()
    inputs, index = np.unique(left.column("input").to_numpy(), return_inverse=True)
    tokens = np.zeros(len(inputs), np.int64)
    np.add.at(tokens, index, lengths)
    n_documents = np.bincount(index, minlength=len(inputs)).tolist()
    old = manifest.shards[number]
    entry = {name: old[name] for name in ("special_literals", "next") if name in old} | {
        "tokens": int(lengths.sum()),
        "documents": len(lengths),
        "bytes": int(left.column("bytes").to_numpy().sum()),
        "inputs": list(zip(inputs.tolist(), n_documents, tokens.tolist(), strict=True)),
        "dropped": old.get("dropped", 0) + len(rows),
    }
    return Shard(files, entry, manifest.next, [])
