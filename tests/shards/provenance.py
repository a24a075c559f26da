"""Folders of shards with provenance, and what they should say, by nothing but what docs/shards.md specifies."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pairloom import Tokenizer
from tests.corpus.files import DOCUMENTS
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 400)
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "é", "漢字", "<|endoftext|>", "\n"]


class Record(NamedTuple):
    """A record of an input: the path, the line or row, the id as text, the text."""

    input: str
    number: int
    id: str | None
    text: str


def random_inputs(folder: Path, rng: random.Random, n_inputs: int = 3) -> tuple[list[Path], list[Record], int]:
    """Inputs of JSON lines and Parquet in new files; their paths, readable records, and how many cannot be read."""
    pyarrow: Any = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    paths, records, n_bad = [], [], 0
    for n in range(n_inputs):
        texts = ["".join(rng.choices(WORDS, k=rng.choice([0, 1, 3, 20]))) for _ in range(rng.randrange(0, 25))]
        bad = [rng.random() < 0.1 for _ in texts]
        ids: list[Any] = [
            rng.choice([f"doc-{n}-{i}", f"doc-{n}-{i}", n * 1000 + i, None, "same"]) for i in range(len(texts))
        ]
        n_bad += sum(bad)
        if rng.random() < 0.6:
            path, lines, first = folder / f"{n}.jsonl", [], 1
            for text, is_bad, id in zip(texts, bad, ids, strict=True):
                lines.append(
                    json.dumps({"text": 5 if is_bad else text, "id": id} if id else {"text": None if is_bad else text})
                )
            path.write_text("".join(line + "\n" for line in lines))
        else:
            path, first = folder / f"{n}.parquet", 0
            ids = [None if id is None else str(id) for id in ids]
            columns = {"id": pyarrow.array(ids, pyarrow.string())}
            kept = [None if is_bad else text for text, is_bad in zip(texts, bad, strict=True)]
            pyarrow.parquet.write_table(pyarrow.table({**columns, "text": pyarrow.array(kept, pyarrow.string())}), path)
        paths.append(path)
        for at, (text, is_bad, id) in enumerate(zip(texts, bad, ids, strict=True)):
            if not is_bad:
                records.append(Record(str(path), first + at, None if not id else str(id), text))
    return paths, records, n_bad


def ids_of(record: Record, eot: bool, bos: bool) -> list[int]:
    """The ids of a document; TOKENIZER has one special token."""
    (special,) = TOKENIZER.special_tokens.values()
    return [special] * bos + TOKENIZER.encode_ordinary(record.text) + [special] * eot


def parts_of(folder: Path) -> list[tuple[Record, int, list[int], int]]:
    """(record without text, tokens before, ids, bytes) of each row of all tables; checks that these cover all ids."""
    pyarrow: Any = pytest.importorskip("pyarrow.parquet")
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


def check(folder: Path, records: list[Record], eot: bool, bos: bool) -> None:
    """Asserts that the tables find each token of each record, and no other; of packed rows any order."""
    is_packed = "pack" in manifest_of(folder)["config"]
    expected = [(record._replace(text=""), ids_of(record, eot, bos), len(record.text.encode())) for record in records]
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
