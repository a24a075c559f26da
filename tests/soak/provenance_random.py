"""Random runs with provenance: each token of each document is found, after packs, skips, resumes and drops."""

from __future__ import annotations

import json
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

from pairloom import ResumeError, drop_documents, open_shards, pack_shards, tokenize_files, verify_shards
from pairloom.shards.publishing import Publisher
from tests.shards.provenance import TOKENIZER, check, random_inputs
from tests.shards.reading import documents_of
from tests.soak.harness import Table

SUMMARY = (
    "tokenize with provenance, cut off, resumed, packed, documents dropped; a failure is a token that the tables do not"
    " find, or a folder that differs from one of inputs without the dropped documents"
)
QUICK = 8
FULL = 2000

_FORMATS = ("npy", "bin", "parquet", "megatron")


class _Cut(Exception):
    """Ends a run, as a kill does."""


def run(count: int, seed: int) -> Table:
    """A run of its own for each case."""
    table = Table(("runs", "cut off and resumed", "packed", "drops", "dropped documents", "wrong"))
    n_cut = n_packed = n_drops = n_dropped = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                cut, packed, drops, dropped = _case(Path(name), rng)
            except Exception as error:
                table.failures.append(f"case {number}: {error!r}"[:500])
                continue
        n_cut, n_packed, n_drops, n_dropped = n_cut + cut, n_packed + packed, n_drops + drops, n_dropped + dropped
    table.add(count, n_cut, n_packed, n_drops, n_dropped, len(table.failures))
    return table


def _case(folder: Path, rng: random.Random) -> tuple[int, int, int, int]:
    paths, records, n_bad = random_inputs(folder, rng)
    eot, bos = rng.random() < 0.5, rng.random() < 0.3
    out = folder / "out"
    options: dict[str, Any] = {
        "format": rng.choice(_FORMATS),
        "eot": eot,
        "bos": bos,
        "shard_tokens": rng.choice([1, 30, 100, 10_000]),
        "skip_bad": n_bad > 0,
        "provenance": True,
        "id_field": "id",
    }
    n_cut = 0
    while rng.random() < 0.5:
        n_cut += _cut_off(rng.randrange(4), paths, out, options)
    tokenize_files(TOKENIZER, paths, out, resume=True, **options)
    check(out, records, eot, bos)
    n_packed, n_drops, n_before = 0, 0, len(records)
    for _ in range(rng.choice([0, 1, 2])):
        known = sorted({record.id for record in records if record.id is not None})
        gone = set(rng.sample(known, rng.randrange(min(len(known), 6) + 1)))
        done = drop_documents(out, [*gone, "nowhere"])
        assert done.missing == ["nowhere"]
        n_left = len(records)
        records = [record for record in records if record.id not in gone]
        assert done.n_documents == n_left - len(records)
        n_drops += 1
        check(out, records, eot, bos)
        assert verify_shards(out, deep=True) == []
    if n_drops:
        _check_against_fresh_run(folder, paths, records, out, options)
    if rng.random() < 0.5 and open_shards(out).n_tokens:
        pack: dict[str, Any] = {
            "seq_len": rng.choice([1, 7, 50]),
            "seed": rng.choice([None, 3]),
            "shuffle": rng.choice(["block", "document"]),
        }
        pack_shards(out, folder / "packed", **pack, shard_tokens=rng.choice([20, 10_000]))
        check(folder / "packed", records, eot, bos)
        n_packed = 1
    _check_batches(out, rng)
    return n_cut, n_packed, n_drops, n_before - len(records)


def _cut_off(n_shards: int, paths: list[Path], out: Path, options: dict[str, Any]) -> int:
    """Runs until so many shards are published; whether it was cut off."""
    publish, n_left = Publisher.publish, [n_shards]

    def published(self: Publisher, shard: Any) -> None:
        if not n_left[0]:
            raise _Cut
        n_left[0] -= 1
        publish(self, shard)

    Publisher.publish = published  # type: ignore[method-assign]
    try:
        tokenize_files(TOKENIZER, paths, out, resume=True, **options)
    except _Cut:
        return 1
    finally:
        Publisher.publish = publish  # type: ignore[method-assign]
    return 0


def _check_against_fresh_run(folder: Path, paths: list[Path], records: Any, out: Path, options: dict[str, Any]) -> None:
    """Compares the documents with those of inputs without the dropped ones; a resumed run brings none back."""
    fresh = folder / "fresh.jsonl"
    fresh.write_text("".join(json.dumps({"text": record.text, "id": record.id}) + "\n" for record in records))
    tokenize_files(TOKENIZER, fresh, folder / "fresh", **options)
    documents = documents_of(folder / "fresh")
    assert documents_of(out) == documents
    assert tokenize_files(TOKENIZER, paths, out, resume=True, **options).was_complete
    added = folder / "zz.jsonl"
    added.write_text('{"text": "more", "id": "new"}\n')
    try:
        tokenize_files(TOKENIZER, [*paths, added], out, resume=True, **options)
    except ResumeError as error:
        assert "dropped" in str(error)
        return
    assert documents_of(out)[:-1] == documents
    drop_documents(out, ["new"])
    assert documents_of(out) == documents


def _check_batches(out: Path, rng: random.Random) -> None:
    shards = open_shards(out)
    if not shards.n_tokens:
        return
    mode, shuffle = rng.choice(["packed", "padded"]), rng.choice(["block", "document"])
    seq_len, batch, seed = rng.choice([1, 5, 40]), rng.choice([1, 3]), rng.choice([None, 2])
    batches = shards.batches(seq_len=seq_len, batch=batch, seed=seed, shuffle=shuffle, mode=mode, pad_id=0, epochs=2)
    for step in rng.sample(range(batches.n_steps or 1), min(batches.n_steps or 1, 4)):
        ids, n_found = batches.at(step), 0
        for row, start, end, document, before in batches.documents_of(step).tolist():
            assert ids[row, start:end].tolist() == shards[document][before : before + end - start].tolist()
            n_found += end - start
        ids[:] = 1
        assert n_found == ids.size or step == (batches.n_steps or 1) - 1 or mode == "padded"
