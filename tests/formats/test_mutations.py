"""Files changed at random: every parser gives a Model or a FormatError, and nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pairloom import formats
from pairloom.errors import FormatError
from pairloom.formats import gpt2, huggingface, native, tiktoken
from pairloom.model import Model

from .models import random_model, trained
from .test_tiktoken import tekken_file

SMALL = trained([(97, 98), (32, 256)])
PIECES = [
    b"",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b'"',
    b"\\",
    b"0",
    b"-1",
    b"1e9",
    b"9" * 30,
    b"true",
    b"null",
    b"\xff",
]
PIECES += [
    b"\\ud800",
    b"\x00",
    b"\n",
    b" ",
    b"=",
    b'"a"',
    b"[]",
    b"{}",
    "Ġ".encode(),
    "｜".encode(),
    b"a b",
    b'"Split"',
]


def read_gpt2(folder: Path) -> Callable[[bytes], Model]:
    def read(data: bytes) -> Model:
        vocab, _, merges = data.partition(b"\n--\n")
        (folder / "vocab.json").write_bytes(vocab)
        (folder / "merges.txt").write_bytes(merges)
        return gpt2.read(folder, special_tokens=["ab"])

    return read


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(changed) + 1)
        how = rng.randrange(3)
        if how == 0:
            changed[at:at] = rng.choice(PIECES)
        elif how == 1:
            changed[at : at + rng.choice([1, 1, 2, 50])] = rng.choice(PIECES)
        else:
            other = rng.randrange(len(changed) + 1)
            changed[at : at + 8], changed[other : other + 8] = changed[other : other + 8], changed[at : at + 8]
    return bytes(changed)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["pairloom", "huggingface", "tiktoken", "tekken", "gpt2"])
def test_a_model_or_a_format_error(name: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    files = gpt2.write(SMALL)
    cases: dict[str, tuple[bytes, Callable[[bytes], Model]]] = {
        "pairloom": (native.write(random_model(seed)), partial(formats.read, "pairloom")),
        "huggingface": (huggingface.write(SMALL), partial(formats.read, "huggingface")),
        "tiktoken": (
            tiktoken.write(SMALL),
            lambda data: formats.read("tiktoken", data, pattern="a", special_tokens=["ab"]),
        ),
        "tekken": (json.dumps(tekken_file()).encode(), partial(formats.read, "tekken")),
        "gpt2": (files["vocab.json"] + b"\n--\n" + files["merges.txt"], read_gpt2(tmp_path)),
    }
    original, read = cases[name]
    # Most of a file is its vocabulary: the rest gets as many changes.
    tail = original[-400:]
    n_accepted = 0
    for turn in range(150):
        data = mutated(original, rng) if turn % 2 else original[:-400] + mutated(tail, rng)
        try:
            read(data)
            n_accepted += 1
        except FormatError as error:
            assert len(str(error)) < 1000
    assert n_accepted < 150
