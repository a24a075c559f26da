"""Splits and exact duplicates: as docs/shards.md says, for any corpus and after any interruption."""

import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import CorpusError, ResumeError, Tokenizer, open_shards, tokenize_files, verify_shards
from pairloom.corpus import corpus as corpus_module
from pairloom.shards.files import FORMATS
from pairloom.shards.publishing import publish_shard
from tests.cli.commands import run
from tests.corpus.files import json_lines, write_parquet
from tests.shards.reading import contents, documents_of, manifest_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat é " * 50, 262)
SPLIT = {"train": 0.7, "test": 0.1, "val": 0.2}
BOUNDS = {"train": (0.0, 0.7), "test": (0.7, 0.8), "val": (0.8, 1.0)}


def part_of(text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
    return next(name for name, (start, end) in BOUNDS.items() if start <= number < end)


def random_texts(rng: random.Random) -> list[str]:
    n_words = rng.choice([1, 2, 60])
    return [
        " ".join(rng.choices(["ab", "the", "cat", "é"], k=rng.randint(1, n_words))) for _ in range(rng.randint(1, 90))
    ]


def write_corpus(folder: Path, texts: list[str], kind: str) -> tuple[list[Path], dict[str, Any]]:
    """Writes the texts into two inputs; returns them and the options to read them."""
    folder.mkdir(exist_ok=True)
    cut, paths = len(texts) // 3, [folder / f"{number}.{kind}" for number in range(2)]
    for path, part in zip(paths, (texts[:cut], texts[cut:]), strict=True):
        path.write_text(json_lines(part) if kind == "jsonl" else "<>".join(part), encoding="utf-8")
    return paths, {} if kind == "jsonl" else {"separator": "<>"}


def expected(texts: list[str], duplicates: str) -> dict[str, list[str]]:
    kept = list(dict.fromkeys(texts)) if duplicates == "drop" else texts
    return {name: [text for text in kept if part_of(text) == name] for name in SPLIT}


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 200))])
def test_parts_are_those_of_the_definition_in_order(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    # Blocks in which some documents start and others end.
    monkeypatch.setattr(corpus_module, "PIECE_BYTES", rng.choice([20, 200, 1 << 20]))
    texts, kind, duplicates = random_texts(rng), rng.choice(["jsonl", "txt"]), rng.choice(["keep", "count", "drop"])
    paths, reading = write_corpus(tmp_path, texts, kind)
    options: dict[str, Any] = {"shard_tokens": rng.choice([30, 1000]), "duplicates": duplicates, **reading}
    options |= {"bos": rng.choice([None, True]), "eot": rng.choice([None, True])}
    end = TOKENIZER.special_tokens["<|endoftext|>"]

    def ids_of(texts: list[str]) -> list[list[int]]:
        return [[end] * bool(options["bos"]) + TOKENIZER.encode(text) + [end] * bool(options["eot"]) for text in texts]

    done = tokenize_files(TOKENIZER, paths, tmp_path / "out", split=SPLIT, **options)
    wanted = expected(texts, duplicates)
    for name in SPLIT:
        assert documents_of(tmp_path / "out" / name) == ids_of(wanted[name])
        assert done.parts[name].n_documents == len(wanted[name])
        assert done.parts[name].n_bytes == sum(len(text.encode()) for text in wanted[name])
    n_duplicates = len(texts) - len(set(texts))
    assert done.n_duplicates == (None if duplicates == "keep" else n_duplicates)
    assert done.n_documents == len(texts) - (n_duplicates if duplicates == "drop" else 0)
    # Without parts.
    tokenize_files(TOKENIZER, paths, tmp_path / "whole", **options)
    assert documents_of(tmp_path / "whole") == ids_of(list(dict.fromkeys(texts)) if duplicates == "drop" else texts)


def test_a_new_part_takes_documents_of_one_other_only() -> None:
    from pairloom.shards.selection import split_configs

    configs = split_configs({"train": 0.98, "test": 0.01, "val": 0.01})
    assert (
        configs["val"] == split_configs({"train": 0.99, "val": 0.01})["val"] == {"part": "val", "from": 0.99, "to": 1}
    )
    assert (configs["train"]["to"], configs["test"]["to"]) == (0.98, 0.99)
    # Added as decimals; as floats the sum is 0.9999999999999999.
    assert split_configs({"a": 0.7, "b": 0.2, "c": 0.1})["c"]["to"] == 1
    assert split_configs(dict.fromkeys("abc", 1 / 3))["c"]["to"] == 1


def write_inputs(folder: Path, rng: random.Random) -> list[Path]:
    """Inputs of several kinds, with records and whole files that cannot be read."""
    paths = []
    for number in range(6):
        texts, kind = random_texts(rng), rng.choice([".jsonl", ".txt", ".jsonl.gz", ".parquet"])
        paths.append(folder / f"{number}{kind}")
        if kind == ".parquet":
            write_parquet(paths[-1], texts)
            continue
        data = ("nonsense\n" * rng.randrange(2) + json_lines(texts) if "json" in kind else "<>".join(texts)).encode()
        data = gzip.compress(data) if kind.endswith(".gz") else data
        paths[-1].write_bytes(data[: len(data) - rng.choice([0, 0, 9])])
    return paths


@pytest.mark.filterwarnings("ignore:.* were skipped")
@pytest.mark.parametrize(
    "seed", [0, 1, 3, 4, 6, 7, 32, *(pytest.param(n, marks=pytest.mark.slow) for n in range(33, 120))]
)
def test_runs_that_are_interrupted_and_resumed_are_equal(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(corpus_module, "PIECE_BYTES", rng.choice([20, 200, 4000]))
    paths, again = write_inputs(tmp_path, rng), tmp_path / "again"
    options: dict[str, Any] = {"shard_tokens": 40, "separator": "<>", "skip_bad": True, "skip_bad_files": True}
    options |= {"duplicates": rng.choice(["keep", "drop"]), "split": rng.choice([SPLIT, SPLIT, None])}
    options |= {"format": rng.choice(FORMATS), "max_bytes": rng.choice([None, None, 3000])}
    tokenize_files(TOKENIZER, paths, tmp_path / "out", **options)
    left = 0

    def publish(*arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        publish_shard(*arguments)

    monkeypatch.setattr("pairloom.shards.tokenize_files.publish_shard", publish)
    # Inputs can come one by one. Neither block sizes nor threads change the result.
    n_given = len(paths) if options["max_bytes"] else rng.randint(1, len(paths))
    for _ in range(1000):
        left = rng.randint(1, 12)
        monkeypatch.setattr(corpus_module, "PIECE_BYTES", rng.choice([3, 20, 200, 4000]))
        try:
            tokenize_files(TOKENIZER, paths[:n_given], again, resume=True, threads=rng.randint(1, 3), **options)
            if n_given == len(paths):
                break
            n_given += 1
        except KeyboardInterrupt:
            # A kill leaves these; an exception removes them.
            for manifest in again.rglob("*manifest.*"):
                (manifest.parent / ".shard-00099.npy.0123456789abcdef.partial").write_bytes(b"half")
                (manifest.parent / "shard-00999.npy").write_bytes(b"not in the manifest")
    assert contents(again) == contents(tmp_path / "out")
    assert tokenize_files(TOKENIZER, paths, again, resume=True, **options).was_complete
    for manifest in list(again.rglob("*manifest.*")):
        if shards := manifest_of(manifest.parent)["shards"]:
            (manifest.parent / rng.choice(shards)["file"]).unlink()
            assert len(verify_shards(manifest.parent, repair=True, model=TOKENIZER)) == 1
    assert contents(again) == contents(tmp_path / "out")


def test_other_fractions_or_files_in_the_way_are_refused(tmp_path: Path) -> None:
    paths, _ = write_corpus(tmp_path, ["the cat", "ab"], "jsonl")
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, paths, out, split=SPLIT)
    with pytest.raises(ResumeError, match="was made with split"):
        tokenize_files(TOKENIZER, paths, out, split={"train": 0.6, "test": 0.2, "val": 0.2}, resume=True)
    with pytest.raises(ResumeError, match="was made with duplicates None, not 'drop'"):
        tokenize_files(TOKENIZER, paths, out, split=SPLIT, duplicates="drop", resume=True)
    with pytest.raises(FileExistsError, match="already contains a run"):
        tokenize_files(TOKENIZER, paths, out, split=SPLIT)
    with pytest.raises(FileExistsError, match="not empty: it contains test"):
        tokenize_files(TOKENIZER, paths, out, split={"train": 0.8, "val": 0.2})
    with pytest.raises(FileExistsError, match="not empty: it contains test"):
        tokenize_files(TOKENIZER, paths, out)
    before = contents(out)
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(CorpusError):
        tokenize_files(TOKENIZER, [*paths, tmp_path / "bad.jsonl"], out, split=SPLIT, overwrite=True)
    assert contents(out) == before
    assert tokenize_files(TOKENIZER, paths, out, split=SPLIT, overwrite=True).n_documents == 2


def test_the_command_line_refuses_what_is_no_split(tmp_path: Path) -> None:
    for split in ("train", "train=0.9", "train=0.5,train=0.5", "=1", "train=0.9,val=x"):
        done = run("tokenize --model m --input a --split", split, "--output", tmp_path / "out")
        assert done.status == 2 and "train=0.99,val=0.01" in done.err


def test_one_document_for_two_parts_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat\n" * 9)
    TOKENIZER.save(tmp_path / "m.json")
    out = tmp_path / "out"
    options = "--split a=0.5,b=0.5"
    done = run(f"tokenize {options} --model", tmp_path / "m.json", "--input", tmp_path / "a.txt", "--output", out)
    assert "the corpus has 1, since each text file is one; pass --lines if its lines are documents" in done.err
    done = run("verify", out)
    assert done.err == f"pairloom: {out}: is not a folder of shards, but contains a, b; pass one of them\n"
    (tmp_path / "a.jsonl").write_text(json_lines(["the cat"]))
    with pytest.warns(UserWarning, match=r"no document was assigned to [ab]: the corpus has 1$"):
        tokenize_files(TOKENIZER, tmp_path / "a.jsonl", tmp_path / "records", split={"a": 0.5, "b": 0.5})


def test_the_id_decides_where_there_is_one(tmp_path: Path) -> None:
    rows = [{"text": f"text {n}", "id": f"page {n // 3}" if n % 10 else None} for n in range(120)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options: dict[str, Any] = {"split": SPLIT, "provenance": True, "id_field": "id", "shard_tokens": 100}
    tokenize_files(TOKENIZER, path, tmp_path / "out", **options)
    for name in SPLIT:
        wanted = [str(row["text"]) for row in rows if part_of(str(row["id"] or row["text"])) == name]
        assert [ids.tolist() for ids in open_shards(tmp_path / "out" / name)] == TOKENIZER.encode_batch(wanted)
    whole = contents(tmp_path / "out")
    (tmp_path / "out" / "train" / "shard-00001.npy").unlink()
    assert verify_shards(tmp_path / "out" / "train", repair=True, model=TOKENIZER)
    assert contents(tmp_path / "out") == whole
