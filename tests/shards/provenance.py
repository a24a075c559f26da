"""Folders of shards with provenance, and their expected content according to docs/shards.md alone."""

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from pyarrow import parquet as pyarrow

from pairloom import Tokenizer
from tests.corpus.files import DOCUMENTS
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 400)


class Record(NamedTuple):
    """A record of an input: the path, the line or row, the id as text, the text."""

    input: str
    number: int
    id: str | None
    text: str


def parts_of(folder: Path) -> list[tuple[Record, int, list[int], int]]:
    """Returns (record without text, tokens before, ids, bytes) for each table row; checks that they cover all ids."""
    manifest = manifest_of(folder)
    documents, parts = documents_of(folder), []
    for number, shard in enumerate(manifest["shards"]):
        ids = [id for document in documents[: shard["documents"]] for id in document]
        documents = documents[shard["documents"] :]
        hidden = "." if manifest["format"] == "parquet" else ""
        name = f"{hidden}shard-{number:05d}.provenance.parquet"
        (entry,) = [entry for entry in manifest["indexes"] if entry["file"] == name]
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
        end = 0
        for row in pyarrow.read_table(folder / name).to_pylist():
            assert row["first_token"] == end
            end = row["end_token"]
            record = Record(manifest["inputs"][row["input"]]["path"], row["record"], row["id"], "")
            parts.append((record, row["tokens_before"], ids[row["first_token"] : end], row["bytes"]))
        assert end == len(ids)
    assert not documents
    return parts


def check(folder: Path, records: list[Record], eot: bool = True) -> None:
    """Asserts that the tables find each token of each record and no other; packed rows can be in any order."""
    is_packed = "pack" in manifest_of(folder)["config"]
    end = [*TOKENIZER.special_tokens.values()] * eot
    expected = [
        (record._replace(text=""), TOKENIZER.encode_ordinary(record.text) + end, len(record.text.encode()))
        for record in records
    ]
    parts = parts_of(folder)
    if not is_packed:
        assert [(record, ids, n) for record, before, ids, n in parts if not before] == expected
        return
    joined: dict[Record, list[tuple[int, list[int], int]]] = defaultdict(list)
    for record, before, ids, n_bytes in parts:
        joined[record].append((before, ids, n_bytes))
    found = []
    for record, pieces in joined.items():
        ids = []
        for before, piece, _ in sorted(pieces):
            assert before == len(ids)
            ids += piece
        found.append((record, ids, pieces[0][2]))
    assert sorted(found, key=repr) == sorted((each for each in expected if each[1]), key=repr)
