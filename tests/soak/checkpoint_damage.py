"""Checkpoints that are damaged at random, some of them with digests that hold again, and then resumed.

What cannot be told is a checkpoint in which counts of the same total stand under digests that were all made anew: it is
the checkpoint of another corpus of the same size.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from pairloom import CheckpointError, PretokenCounts, Tokenizer
from tests.soak.harness import Table

SUMMARY = "damaged checkpoints, some under digests that hold again; each is refused or gives the right model"
QUICK = 100
FULL = 2000

_SPECIALS = ["<|endoftext|>"]
_VOCAB_SIZE = 400


def run(count: int, seed: int) -> Table:
    """Damages `count` checkpoints, a kind of damage after the other."""
    table = Table(("damage", "checkpoints", "refused", "right model", "wrong model or other error"))
    with tempfile.TemporaryDirectory() as name:
        outcomes = _outcomes(Path(name), count, seed)
    for kind in _KINDS:
        mine = [outcome for damage, outcome, _ in outcomes if damage == kind]
        table.add(kind, len(mine), mine.count("refused"), mine.count("right"), mine.count("wrong"))
    table.failures = [message for _, outcome, message in outcomes if outcome == "wrong"]
    return table


def failures(folder: Path, count: int, seed: int) -> list[str]:
    """What went wrong with `count` damaged checkpoints."""
    return [message for _, outcome, message in _outcomes(folder, count, seed) if outcome == "wrong"]


def _texts() -> list[str]:
    draw = random.Random(3)
    words = ["".join(draw.choices("etaoinshr", k=draw.randrange(2, 9))) for _ in range(400)]
    return [" ".join(draw.choices(words, k=300)) for _ in range(10)]


def _outcomes(folder: Path, count: int, seed: int) -> list[tuple[str, str, str]]:
    """(kind of damage, "refused", "right" or "wrong", message) of each."""
    texts = _texts()
    whole = folder / "whole"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = Tokenizer.train(texts, _VOCAB_SIZE, checkpoint=whole)
        outcomes = []
        for number in range(count):
            kind = list(_KINDS)[number % len(_KINDS)]
            draw = random.Random(f"{seed} {number}")
            damaged = folder / f"damaged{number}"
            shutil.copytree(whole, damaged)
            _KINDS[kind](damaged, draw)
            try:
                model = Tokenizer.train(texts, _VOCAB_SIZE, checkpoint=damaged)
                outcome = ("right", "") if model == expected else ("wrong", "another model")
            except CheckpointError as error:
                outcome = ("refused", str(error))
            except Exception as error:
                outcome = ("wrong", f"{type(error).__name__}: {error}")
            outcomes.append((kind, outcome[0], f"{kind}, seed {seed}, number {number}: {outcome[1]}"))
            shutil.rmtree(damaged)
    return outcomes


def _flip(file: Path, draw: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(draw.randrange(1, 4)):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    file.write_bytes(data)


def _cut(file: Path, draw: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: draw.randrange(len(data))])


def _name_digest(checkpoint: Path) -> None:
    training = json.loads((checkpoint / "training.json").read_text())
    training["counts_sha256"] = (checkpoint / "counts").read_bytes()[-32:].hex()
    (checkpoint / "training.json").write_text(json.dumps(training))


def _flip_counts(checkpoint: Path, draw: random.Random) -> None:
    _flip(checkpoint / "counts", draw)


def _flip_training(checkpoint: Path, draw: random.Random) -> None:
    _flip(checkpoint / "training.json", draw)


def _cut_counts(checkpoint: Path, draw: random.Random) -> None:
    _cut(checkpoint / "counts", draw)


def _cut_training(checkpoint: Path, draw: random.Random) -> None:
    _cut(checkpoint / "training.json", draw)


def _flip_counts_under_a_new_digest(checkpoint: Path, draw: random.Random) -> None:
    counts = checkpoint / "counts"
    _flip(counts, draw)
    body = counts.read_bytes()[:-32]
    counts.write_bytes(body + hashlib.sha256(body).digest())


def _change_counts_under_new_digests(checkpoint: Path, draw: random.Random) -> None:
    """Counts that are whole and sorted, but of which one pretoken, or one count, is wrong."""
    counts = PretokenCounts.load(checkpoint / "counts")
    items = dict(counts.items())
    pretoken = draw.choice(list(items))
    if draw.random() < 0.5:
        items[pretoken] += draw.choice([-1, 1, 2, 1000])
    else:
        items[pretoken + draw.choice([b"a", b"ee", b"\xff"])] = items.pop(pretoken)
    wrong = PretokenCounts.from_items(
        items, special_tokens=_SPECIALS, n_bytes=counts.n_bytes, n_documents=counts.n_documents
    )
    wrong.save(checkpoint / "counts", overwrite=True)
    _name_digest(checkpoint)


def _add_merges(checkpoint: Path, draw: random.Random) -> None:
    """A file of merges, as earlier versions kept; nothing may be taken from it."""
    (checkpoint / "merges").write_bytes(draw.randbytes(80))


_KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "bits of the counts": _flip_counts,
    "bits of training.json": _flip_training,
    "counts cut short": _cut_counts,
    "training.json cut short": _cut_training,
    "bits of the counts, their digest recomputed": _flip_counts_under_a_new_digest,
    "one count or the length of a pretoken, all digests recomputed": _change_counts_under_new_digests,
    "a file of merges beside the counts": _add_merges,
}
