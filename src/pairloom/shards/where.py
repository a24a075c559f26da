"""Where tokens come from: answers from the provenance tables or, without them, from the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairloom._internal.arguments import check_int, check_str
from pairloom.shards.provenance import rows_with

if TYPE_CHECKING:
    from pairloom.shards.reading import OpenShards


class Origin(NamedTuple):
    """Where the tokens of one document come from or, in packed shards, those of a part of one.

    shard: its number. document: its index in `open_shards`; in packed shards, the row's index. start, end: its tokens
    in the shard. before: how many tokens of the document come before them. input: path or URL. record: in the input,
    the line from 1, or the row or document from 0. n_bytes: size of the document's text. Fields that only a provenance
    table can answer may be None.
    """

    shard: int
    document: int
    start: int
    end: int
    before: int = 0
    input: str | None = None
    record: int | None = None
    id: str | None = None
    n_bytes: int | None = None


def find_origins(
    shards: OpenShards, shard: int | None, token: int | None, id: str | None, document: int | None
) -> list[Origin]:
    """Implements `OpenShards.where`."""
    ways = [shard is not None or token is not None, id is not None, document is not None]
    if ways.count(True) != 1 or (shard is None) != (token is None):
        raise ValueError("pass shard and token, or id, or document")
    entries = shards.manifest.shards
    if id is not None:
        check_str("id", id)
        if shards.manifest.config.get("id_field") is None:
            raise ValueError(
                f"{shards.folder}: has no ids; tokenize with provenance=True and id_field=, the field of the ids"
            )
        rows_of = (rows_with(shards.provenance(number), [id]) for number in range(len(entries)))
        return [origin for number, rows in enumerate(rows_of) for origin in _origins(shards, number, rows)]
    if not entries:
        raise ValueError(f"{shards.folder}: contains no documents")
    if document is not None:
        check_int("document", document, least=0, most=len(shards) - 1)
        firsts = np.cumsum([0, *(entry["documents"] for entry in entries)])
        shard = int(np.searchsorted(firsts, document, side="right")) - 1
        at = document - int(firsts[shard])
    else:
        shard = check_int("shard", shard, least=0, most=len(entries) - 1)
        token = check_int("token", token, least=0, most=entries[shard]["tokens"] - 1)
        at = int(np.searchsorted(shards.offsets(shard), token, side="right")) - 1
    start, end = shards.offsets(shard)[at : at + 2].tolist()
    if not shards.manifest.has_provenance:
        first = sum(entry["documents"] for entry in entries[:shard])
        return [Origin(shard, first + at, start, end, input=_input(shards, shard, at))]
    if "pack" not in shards.manifest.config:
        return _origins(shards, shard, [at])
    # For a token, the part that holds it; for a row, all its parts.
    ends = shards.provenance(shard).column("end_token").to_numpy()
    tokens = [start, end - 1] if token is None else [token, token]
    first, last = np.searchsorted(ends, tokens, side="right").tolist()
    return _origins(shards, shard, list(range(first, last + 1)))


def _origins(shards: OpenShards, shard: int, rows: list[int]) -> list[Origin]:
    """Returns the origins in some rows of a shard's provenance table."""
    manifest, offsets = shards.manifest, shards.offsets(shard)
    first = sum(entry["documents"] for entry in manifest.shards[:shard])
    found = []
    for row, values in zip(rows, shards.provenance(shard).take(np.array(rows, np.int64)).to_pylist(), strict=True):
        start = values["first_token"]
        at = int(np.searchsorted(offsets, start, side="right")) - 1 if "pack" in manifest.config else row
        path = manifest.inputs[values["input"]]["path"]
        places = (shard, first + at, start, values["end_token"], values["tokens_before"])
        found.append(Origin(*places, path, values["record"], values["id"], values["bytes"]))
    return found


def _input(shards: OpenShards, shard: int, at: int) -> str | None:
    """Returns the input of a document of a shard, if the manifest knows it."""
    for number, n_documents, _ in shards.manifest.shards[shard].get("inputs", []):
        if at < n_documents:
            return str(shards.manifest.inputs[number]["path"])
        at -= n_documents
    return None
