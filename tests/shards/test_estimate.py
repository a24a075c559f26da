"""Estimates of a sample against what tokenizing gives."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from pairloom import CorpusError, Tokenizer, tokenize_files
from pairloom.shards.estimate import estimate
from tests.cli.commands import run

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)


def _lines(seed: int, n: int) -> str:
    rng = random.Random(seed)
    words = ["ab", "the", "cat", "x" * rng.randrange(1, 9), "é"]
    return "".join(json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(60)))}) + "\n" for _ in range(n))


@pytest.mark.parametrize("kind", ["one file", "many files", "compressed", "plain"])
def test_the_truth_lies_near_the_estimate(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    if kind == "one file":
        (folder / "a.jsonl").write_text("".join(_lines(seed, 300) for seed in range(60)), encoding="utf-8")
    elif kind == "plain":
        (folder / "a.txt").write_text(_lines(1, 20_000), encoding="utf-8")
    else:
        for seed in range(60):
            data = _lines(seed, 300).encode()
            name = f"{seed:02}.jsonl"
            if kind == "compressed":
                (folder / f"{name}.gz").write_bytes(gzip.compress(data))
            else:
                (folder / name).write_bytes(data)
    sample_bytes = 60_000 if kind == "compressed" else 300_000
    found = estimate(TOKENIZER, folder, sample_bytes=sample_bytes, pieces=30, shard_tokens=100_000)
    made = tokenize_files(TOKENIZER, folder, tmp_path / "shards", shard_tokens=100_000)
    assert found.share < 0.6 and found.pieces >= 20
    assert found.tokens_error is not None and found.tokens_error < 0.2 * found.tokens
    # Twice the interval of 95 %: a fixed corpus, so no chance is left.
    assert abs(found.tokens - made.n_tokens) < 2 * found.tokens_error
    assert abs(found.text_bytes - made.n_bytes) < 0.1 * made.n_bytes
    if kind == "plain":
        # One document, which no shard divides.
        assert len(made.files) == 1
    else:
        assert abs(found.shards - len(made.files)) <= 1 + 0.1 * len(made.files)
        assert abs(found.documents - made.n_documents) < 0.2 * made.n_documents


def test_a_corpus_that_fits_the_sample_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(_lines(1, 100))
    found = estimate(TOKENIZER, tmp_path / "a.jsonl")
    made = tokenize_files(TOKENIZER, tmp_path / "a.jsonl", tmp_path / "shards")
    assert (found.tokens, found.tokens_error, found.share) == (made.n_tokens, 0, 1.0)
    assert (found.documents, found.text_bytes, found.shards) == (made.n_documents, made.n_bytes, 1)


def test_what_cannot_be_estimated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="size of the corpus is unknown"):
        estimate(TOKENIZER, "-")
    with pytest.raises(ValueError, match="pieces"):
        estimate(TOKENIZER, tmp_path, pieces=0)
    (tmp_path / "a.jsonl").write_text('{"body": "ab"}\n')
    with pytest.raises(CorpusError, match="text"):
        estimate(TOKENIZER, tmp_path / "a.jsonl")


def test_the_command_prints_one_line(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    (tmp_path / "a.jsonl").write_text(_lines(1, 100))
    done = run("estimate", "--model", tmp_path / "model.json", "--input", tmp_path / "a.jsonl")
    assert done.status == 0, done.err
    assert json.loads(done.out)["tokens_error"] == 0
