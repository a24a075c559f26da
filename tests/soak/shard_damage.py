"""Folders of shards damaged at random: verify finds each damage, and mends it byte for byte from the inputs."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from pairloom import Tokenizer, open_shards, tokenize_files, verify_shards
from pairloom.shards.files import FORMATS
from pairloom.shards.manifest import Manifest
from tests.corpus.files import DOCUMENTS, json_lines
from tests.soak.harness import Table

SUMMARY = (
    "damaged folders of shards; a failure is damage that verify --deep does not find, or that --repair does not mend"
    " byte for byte from the inputs"
)
QUICK = 40
FULL = 1000


class _Whole(NamedTuple):
    """A finished folder, its files, what a loop reads from it, and the manifests that it had before."""

    folder: Path
    files: dict[str, bytes]
    documents: list[list[int]]
    older: list[bytes]


def run(count: int, seed: int) -> Table:
    """Damages `count` folders, one kind after the other in each format."""
    table = Table(("damage", "folders", "a loop reads other ids", "found", "found by --deep", "mended"))
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in _KINDS}
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        tokenizer = Tokenizer.train(DOCUMENTS, 400)
        wholes = [_whole(tokenizer, Path(name), format) for format in FORMATS]
        for number in range(count):
            kind = list(_KINDS)[number % len(_KINDS)]
            rng = random.Random(f"{seed} {number}")
            whole = rng.choice(wholes)
            damaged = Path(name) / "damaged"
            shutil.copytree(whole.folder, damaged)
            while _contents(damaged) == whole.files:
                _KINDS[kind](damaged, whole, rng)
            outcomes[kind]["folders"] += 1
            outcomes[kind]["reads"] += _documents(damaged) != whole.documents
            outcomes[kind]["found"] += bool(verify_shards(damaged))
            outcomes[kind]["deep"] += bool(found := verify_shards(damaged, deep=True))
            verify_shards(damaged, deep=True, repair=True, model=tokenizer)
            is_whole = _contents(damaged) == whole.files
            outcomes[kind]["mended"] += is_whole
            if not found or not is_whole:
                table.failures.append(f"{kind}, {whole.folder.name}, case {number} of seed {seed}: {found} {is_whole}")
            shutil.rmtree(damaged)
    for kind, outcome in [*outcomes.items(), ("all", sum(outcomes.values(), Counter()))]:
        table.add(kind, *(outcome[name] for name in ("folders", "reads", "found", "deep", "mended")))
    return table


def _whole(tokenizer: Tokenizer, folder: Path, format: str) -> _Whole:
    paths = [folder / f"{number}.jsonl" for number in range(3)]
    for number, path in enumerate(paths):
        if not path.exists():
            path.write_text(json_lines([f"{number} {text}" for text in DOCUMENTS[:30]]))
    out, save = folder / format, Manifest.save
    older: list[bytes] = []

    def noted(manifest: Manifest, to: Path) -> None:
        save(manifest, to)
        older.append((to / manifest.file()[0]).read_bytes())

    with mock.patch.object(Manifest, "save", noted):
        tokenize_files(tokenizer, paths, out, format=format, shard_tokens=600, eot=True)
    return _Whole(out, _contents(out), _documents(out) or [], older[:-1])


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _documents(folder: Path) -> list[list[int]] | None:
    """What a loop reads; None for an error."""
    try:
        return [ids.tolist() for ids in open_shards(folder)]
    except ValueError:
        return None


def _some(folder: Path, rng: random.Random) -> Path:
    """A file of a shard."""
    return rng.choice(sorted(folder.glob("shard-*")))


def _cut(folder: Path, whole: _Whole, rng: random.Random) -> None:
    path = _some(folder, rng)
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def _flipped(folder: Path, whole: _Whole, rng: random.Random) -> None:
    path = _some(folder, rng)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 30))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _missing(folder: Path, whole: _Whole, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 3))):
        _some(folder, rng).unlink()


def _swapped(folder: Path, whole: _Whole, rng: random.Random) -> None:
    first = _some(folder, rng)
    second = rng.choice(sorted(folder.glob(f"shard-*{''.join(first.suffixes)}")))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def _stale(folder: Path, whole: _Whole, rng: random.Random) -> None:
    (manifest,) = folder.glob("*manifest*")
    manifest.write_bytes(rng.choice(whole.older))


_KINDS: dict[str, Callable[[Path, _Whole, random.Random], Any]] = {
    "cut": _cut,
    "flipped": _flipped,
    "missing": _missing,
    "swapped": _swapped,
    "stale manifest": _stale,
}
