"""Schema 1 is bpetite's published artifact, byte for byte. The tests build it by its rules from the reference alone."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.cli import main
from pairloom.patterns import GPT2
from pairloom.reference import naive
from tests.corpora import random_documents

SPECIAL = "<|endoftext|>"
CORPUS = "low low low lower newest widest " * 5


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


def test_the_command_writes_the_published_example_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(CORPUS)
    command = ["train", "--input", str(tmp_path / "corpus.txt"), "--vocab-size", "270"]
    assert main([*command, "--output", str(tmp_path / "command.json")]) == 0
    assert (tmp_path / "command.json").read_bytes() == canonical(trained_by_the_reference([CORPUS], 270))


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
