"""Estimates from a sample, compared with the result of tokenizing."""

import gzip
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from pairloom import CorpusError, Tokenizer, tokenize_files
from pairloom.shards import sample as sampling
from pairloom.shards.estimate import Estimate, estimate
from tests.cli.commands import run
from tests.corpus.files import write_arrow

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
ALL = 1 << 40


def _lines(seed: int, n: int) -> str:
    rng = random.Random(seed)
    words = ["ab", "the", "cat", "x" * rng.randrange(1, 9), "é"]
    return "".join(json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(60)))}) + "\n" for _ in range(n))


def _covers(found: Estimate, real: Estimate) -> bool:
    assert found.tokens_error is not None and found.share < 0.5
    return abs(found.tokens - real.tokens) <= found.tokens_error


def _check(path: Any, sample_bytes: int, *, within: float = 0.1, **options: Any) -> Estimate:
    """Asserts that the estimate is extrapolated and close to the truth."""
    found = estimate(TOKENIZER, path, sample_bytes=sample_bytes, **options)
    real = estimate(TOKENIZER, path, sample_bytes=ALL, **options)
    assert real.tokens_error == 0 and real.share == 1.0
    assert 0 < found.share < 0.5
    assert abs(found.tokens - real.tokens) <= within * real.tokens
    assert abs(found.text_bytes - real.text_bytes) <= within * real.text_bytes
    assert abs(found.documents - real.documents) <= 3 * within * real.documents
    assert abs(found.shards - real.shards) <= 1 + within * real.shards
    return found


def test_a_corpus_that_fits_the_sample_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(_lines(1, 100))
    found = estimate(TOKENIZER, tmp_path / "a.jsonl", shard_tokens=1000)
    made = tokenize_files(TOKENIZER, tmp_path / "a.jsonl", tmp_path / "shards", shard_tokens=1000)
    assert (found.tokens, found.tokens_error, found.share) == (made.n_tokens, 0, 1.0)
    assert (found.documents, found.text_bytes, found.shards) == (made.n_documents, made.n_bytes, len(made.files))


# These used to be estimated as 0 tokens, or with an error of 0.


@pytest.mark.parametrize("end", ["", " ", "\r", "é", "\u4e2d"])
def test_text_without_lines_is_near_the_truth(tmp_path: Path, end: str) -> None:
    rng = random.Random(end)
    (tmp_path / "a.txt").write_text(end.join(rng.choices(["ab", "the", "cat", "xyzé"], k=200_000)), encoding="utf-8")
    found = _check(tmp_path / "a.txt", 1 << 16, within=0.02)
    assert _covers(found, estimate(TOKENIZER, tmp_path / "a.txt", sample_bytes=ALL)) and found.documents == 1


def test_a_sample_of_one_piece_has_no_known_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab the " * 60_000 + "\nend\n")
    found = _check(tmp_path / "a.txt", 128)
    assert (found.tokens_error, found.pieces) == (None, 1) and found.seconds < 100
    TOKENIZER.save(tmp_path / "model.json")
    done = run("estimate", "--model", tmp_path / "model.json", "--input", tmp_path / "a.txt", "--sample-bytes", 128)
    assert done.status == 0 and json.loads(done.out)["tokens_error"] is None
    assert "the error of the estimate is unknown" in done.err
    # One file that can be read only from its start.
    rng = random.Random(1)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("".join(rng.choices("ab the", k=10**6)).encode()))
    found = _check(tmp_path / "a.txt.gz", 1 << 16)
    assert (found.tokens_error, found.pieces) == (None, 1)


@pytest.mark.parametrize("begin", ["[", "[\n", "\ufeff [", '[{"text": "ab"},\n'])
def test_a_list_of_records_is_refused_at_once_as_by_tokenize(tmp_path: Path, begin: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(begin + '{"text": "ab"}, ' * 5000, encoding="utf-8")
    # Larger than could be read; as a sparse file it takes no disk space.
    os.truncate(path, 1 << 38)
    messages = []
    reads: list[Any] = [estimate, lambda model, path: tokenize_files(model, path, tmp_path / "shards")]
    for read in reads:
        with pytest.raises(CorpusError, match=r"line 1: .* not one record per line|not a list of records") as caught:
            read(TOKENIZER, path)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_record_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_LONGEST_RECORD", 1 << 15)
    (tmp_path / "a.jsonl").write_text((json.dumps({"text": "ab the " * 5000}) + "\n") * 20)
    with pytest.raises(
        CorpusError, match=r"a.jsonl: a record at byte \d+ is longer than 32,768 bytes; raise sample_bytes"
    ):
        estimate(TOKENIZER, tmp_path / "a.jsonl", sample_bytes=1 << 15)


def test_arrow_files_and_row_groups_are_sampled(tmp_path: Path) -> None:
    rng = random.Random(1)
    table = pyarrow.table({"text": [" ".join(rng.choices(["ab", "the", "x"], k=60)) for _ in range(20_000)]})
    write_arrow(tmp_path / "a.arrow", table, rows=500)
    _check(tmp_path / "a.arrow", 1 << 17, within=0.02)
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=500, compression="none", use_dictionary=False)
    found = _check(tmp_path / "a.parquet", 1 << 18, within=0.02)
    assert found.pieces >= 5 and _covers(found, estimate(TOKENIZER, tmp_path / "a.parquet", sample_bytes=ALL))


def test_options_of_the_corpus_count(tmp_path: Path) -> None:
    rng = random.Random(1)
    paragraphs = ["the " * rng.randrange(1, 300) + "ab" for _ in range(5000)]
    (tmp_path / "a.txt").write_text("\n--\n".join(paragraphs))
    lines = [json.dumps({"t": {"parts": [part, "x", ""]}}) + "\n" + "\n" * rng.randrange(2) for part in paragraphs]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    _check(tmp_path / "a.jsonl", 1 << 18, text_field="t.parts[]")
    _check(tmp_path / "a.txt", 1 << 18, separator="\n--\n")
    _check(tmp_path / "a.txt", 1 << 18, separator="\n--\n", doc_cap=50)
    _check(tmp_path / "a.txt", 1 << 18, separator="\n--\n", max_bytes=10**6)
    _check(tmp_path / "a.txt", 1 << 16, doc_cap=10**6)


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet", "folder"])
def test_text_after_max_bytes_is_not_sampled(tmp_path: Path, kind: str) -> None:
    """Corpora are often sorted by kind. Here the second half has twice as many tokens a byte."""
    halves = [["ab the cat ab " * 4] * 40_000, ["xq zv " * 9] * 40_000]
    texts = [*halves[0], *halves[1]]
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        options: dict[str, Any] = {"compression": "none", "use_dictionary": False}
        parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=500, **options)
    elif kind == "folder":
        path.mkdir()
        for number, half in enumerate(halves):
            (path / f"{number}.txt").write_text("\n".join(half))
    else:
        path.write_text("\n".join(texts if kind == "txt" else [json.dumps({"text": text}) for text in texts]))
    found = estimate(TOKENIZER, path, sample_bytes=1 << 17, max_bytes=2_000_000)
    real = estimate(TOKENIZER, path, sample_bytes=ALL, max_bytes=2_000_000)
    assert _covers(found, real) and abs(found.tokens - real.tokens) <= 0.02 * real.tokens
    assert found.documents == real.documents or kind in ("jsonl", "parquet")


def test_bad_records_and_files_are_left_out(tmp_path: Path) -> None:
    good = [json.dumps({"text": "ab the cat"}) + "\n"] * 20_000
    (tmp_path / "a.jsonl").write_text("".join(line if number % 4 else "oh\n" for number, line in enumerate(good)))
    with pytest.raises(CorpusError, match=rf"{re.escape(str(tmp_path / 'a.jsonl'))}: line 1: "):
        estimate(TOKENIZER, tmp_path / "a.jsonl", sample_bytes=1 << 16)
    _check(tmp_path / "a.jsonl", 1 << 16, skip_bad=True)
    (tmp_path / "b.jsonl").write_text("".join(good))
    (tmp_path / "a.jsonl").write_text("oh\n" * 50_000)
    _check(tmp_path, 1 << 17, within=0.2, skip_bad_files=True)


def test_documents_are_not_taken_by_their_length(tmp_path: Path) -> None:
    # Most random places are in long records, and windows are shorter than these.
    lines = ['{"text": "ab"}\n'] * 50_000 + [json.dumps({"text": "the cat " * 1000}) + "\n"] * 200
    random.Random(1).shuffle(lines)
    (tmp_path / "a.jsonl").write_text("".join(lines))
    found = _check(tmp_path / "a.jsonl", 1 << 18, shard_tokens=10_000)
    assert _covers(found, estimate(TOKENIZER, tmp_path / "a.jsonl", sample_bytes=ALL))


def test_what_cannot_be_estimated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="size of the corpus is unknown"):
        estimate(TOKENIZER, "-")
    with pytest.raises(ValueError, match="pieces"):
        estimate(TOKENIZER, tmp_path, pieces=0)
    (tmp_path / "a.jsonl").write_text('{"body": "ab"}\n')
    with pytest.raises(CorpusError, match="text"):
        estimate(TOKENIZER, tmp_path / "a.jsonl")


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_files_of_many_sizes_and_languages_are_sampled(tmp_path: Path, suffix: str) -> None:
    rng, words = random.Random(4), (["ab", "the", "cat"], ["λόγος", "και"], ["123", "4567"])
    for number in range(300 if suffix == ".txt" else 20):
        n_words = int(rng.lognormvariate(7, 1)) * (1 if suffix == ".txt" else 100)
        data = " ".join(rng.choices(rng.choice(words), k=n_words)).encode()
        (tmp_path / f"{number}{suffix}").write_bytes(data if suffix == ".txt" else gzip.compress(data, 1))
    found = estimate(TOKENIZER, tmp_path, sample_bytes=1 << 17)
    assert _covers(found, estimate(TOKENIZER, tmp_path, sample_bytes=ALL))
