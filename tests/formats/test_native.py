"""The native file: what is written and read, and that reading ignores nothing in the file.

Schema 1 is the published artifact of bpetite, byte for byte; tests build it by its rules, from the reference alone.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer, formats
from pairloom.formats import native
from pairloom.patterns import GPT2
from pairloom.reference import naive
from tests.corpora import random_documents

from .models import ENDOFTEXT, random_model, trained


@pytest.mark.parametrize(
    "fields",
    [
        {"decode_errors": "replace"},
        {"pattern": r"\S+|\s+"},
        {"ignore_merges": True},
        {"special_tokens": {}},
        {"special_tokens": {ENDOFTEXT: 300}},
        {"plain_specials": frozenset((ENDOFTEXT,))},
        {"special_tokens": {ENDOFTEXT: 258, "<|pad|>": 259}},
    ],
)
def test_what_schema_1_cannot_say_becomes_schema_2(fields: dict[str, Any]) -> None:
    model = trained([(97, 98), (32, 256)], **fields)
    assert formats.read("pairloom", native.write(model)) == model


@pytest.mark.parametrize("seed", range(200))
def test_any_model_survives_and_a_second_save_is_identical(seed: int) -> None:
    model = random_model(seed)
    data = native.write(model)
    read = formats.read("pairloom", data)
    assert read == model
    assert native.write(read) == data


def test_tokens_that_merges_do_not_make_are_listed() -> None:
    vocab = {**{value: bytes([value]) for value in range(256)}, 300: b"ab", 302: b"abab", 303: b"xyz"}
    merges = [(b"a", b"b"), (b"ab", b"ab")]
    file = json.loads(native.write(Tokenizer(vocab, merges).model))
    assert (file["schema_version"], file["unicode_version"]) == (2, "16.0.0")
    assert file["merges"] == [97, 98, 300, 300]
    assert file["made_ids"] == [300, 1, 302, 1]
    assert file["token_ids"] == [0, 256, 303, 1]
    assert file["token_lengths"] == [1] * 256 + [3]


SPECIAL = "<|endoftext|>"


def artifact(merges: list[tuple[int, int]]) -> dict[str, Any]:
    """The artifact of these merges (pairs of ids, in rank order), as bpetite writes it."""
    tokens = [[byte] for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    n = len(tokens)
    tokens.append(list(SPECIAL.encode()))
    return {
        "schema_version": 1,
        "mergeable_vocab_size": n,
        "pretokenizer_pattern": GPT2,
        "vocab": {str(token_id): token for token_id, token in enumerate(tokens)},
        "merges": [list(pair) for pair in merges],
        "special_tokens": {SPECIAL: n},
    }


def canonical(file: dict[str, Any]) -> bytes:
    return json.dumps(file, sort_keys=True, separators=(",", ":")).encode()


def trained_by_the_reference(documents: list[str], vocab_size: int) -> dict[str, Any]:
    return artifact([(merge.left, merge.right) for merge in naive.train(documents, vocab_size).merges])


@pytest.mark.parametrize("seed", range(30))
def test_an_artifact_loads_saves_and_is_trained_byte_for_byte(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    documents = random_documents(rng)
    vocab_size = 256 + rng.randrange(40)
    data = canonical(trained_by_the_reference(documents, vocab_size))
    (tmp_path / "theirs.json").write_bytes(data)
    loaded = Tokenizer.load(tmp_path / "theirs.json")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == data
    trained = Tokenizer.train(documents, vocab_size)
    trained.save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == data
    assert trained == loaded


def test_a_learned_token_may_have_the_bytes_of_the_special_token(tmp_path: Path) -> None:
    merges: list[tuple[int, int]] = []
    merged_id = 256
    left = ord(SPECIAL[0])
    for character in SPECIAL[1:]:
        merges.append((left, ord(character)))
        left, merged_id = merged_id, merged_id + 1
    data = canonical(artifact(merges))
    path = tmp_path / "model.json"
    path.write_bytes(data)
    loaded = Tokenizer.load(path)
    assert loaded.encode(SPECIAL) == [merged_id]
    assert loaded.decode([merged_id - 1]) == SPECIAL
    loaded.save(path, overwrite=True)
    assert path.read_bytes() == data
