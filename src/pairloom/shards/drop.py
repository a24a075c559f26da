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
from pairloom.corpus import Position
from pairloom.errors import ResumeError
from pairloom.shards.files import hidden_folder
from pairloom.shards.manifest import Manifest
from pairloom.shards.provenance import ProvenanceRows, rows_with
from pairloom.shards.publishing import Files, finish_replacement, publishing, put_in_place, rename_to_final
from pairloom.shards.reading import shard_folder
from pairloom.shards.resume import first_shards
from pairloom.shards.shards import Batch, Shard, check_file, read_provenance, read_shard


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
            rows = rows_with(table, wanted)
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
    before, old, written = first_shards(manifest, number), manifest.shards[number], list[tuple[Shard, Files]]()

    def publish(shard: Shard, files: Files) -> None:
        rename_to_final(shard)
        written.append((shard, files))

    with hidden_folder(folder) as hidden:
        with publishing(hidden, before, [], publish) as shards:
            if len(rows) < old["documents"]:
                shards.add(_kept(*read_shard(folder, manifest, number), table, rows, before.text_bytes))
            else:
                shards.add_empty()
        sync_directory(hidden)
    ((shard, (ids, *others)),) = written
    dropped: dict[str, Any] = {name: old[name] for name in ("special_literals", "next") if name in old}
    dropped |= {"inputs": shard.entry.get("inputs", []), "dropped": old.get("dropped", 0) + len(rows)}
    earlier = manifest.dropped[:-1] if record["shards"] else manifest.dropped
    record["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    record["documents"] += len(rows)
    record["tokens"] += old["tokens"] - shard.entry["tokens"]
    record["shards"] = [*record["shards"], number]
    first, end = number * len(others), (number + 1) * len(others)
    changed = dataclasses.replace(
        manifest,
        shards=[*manifest.shards[:number], ids | shard.entry | dropped, *manifest.shards[number + 1 :]],
        indexes=[*manifest.indexes[:first], *others, *manifest.indexes[end:]],
        dropped=[*earlier, dict(record)],
        hidden_folder=hidden.name,
    )
    changed.save(folder)
    put_in_place(folder, changed)
    return changed


def _kept(ids: Any, offsets: Any, table: Any, rows: list[int], bytes_before: int) -> Batch:
    """Returns the documents of a shard without those of some rows. bytes_before: of the text of earlier shards."""
    is_kept = np.ones(len(table), bool)
    is_kept[rows] = False
    lengths = np.diff(offsets.astype(np.int64))
    ends = np.cumsum(lengths[is_kept])
    left = table.filter(is_kept)
    inputs, records, before, n_bytes = (
        left.column(name).to_numpy() for name in ("input", "record", "tokens_before", "bytes")
    )
    points = [(first, Position(int(inputs[first]))) for first in np.flatnonzero(np.diff(inputs, prepend=-1)).tolist()]
    rest = ProvenanceRows(np.arange(len(ends)), ends, inputs, records, before, n_bytes, left.column("id").to_pylist())
    literals = np.zeros((0, 3), np.int64)
    byte_ends = np.cumsum(n_bytes) + bytes_before
    return Batch(ids[np.repeat(is_kept, lengths)], ends, byte_ends, literals, points, provenance=rest)
