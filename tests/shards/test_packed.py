"""Packed rows: equal to those of a training loop, with each token once over all ranks."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import ResumeError, Tokenizer, open_shards, pack_shards, tokenize_files
from pairloom.shards import packed
from pairloom.shards.files import FORMATS
from tests.cli.commands import failed, output, run
from tests.shards.making import random_lines
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_a_loop_and_each_token_is_in_one(tmp_path: Path, seed: int) -> None:
    rng, format = random.Random(seed), FORMATS[seed % 4]
    tokenize_files(TOKENIZER, random_lines(tmp_path, seed), tmp_path / "shards", shard_tokens=rng.choice([50, 10**6]))
    shards = open_shards(tmp_path / "shards")
    seq_len, world_size = rng.choice([1, 7, 64, 5000]), rng.choice([1, 2, 3])
    options: dict[str, Any] = {
        "seq_len": seq_len,
        "seed": rng.choice([None, 3]),
        "shuffle": rng.choice(["document", "block"]),
    }
    rank_rows = []
    for rank in range(world_size):
        done = pack_shards(
            shards, tmp_path / f"{rank}", **options, rank=rank, world_size=world_size, format=format, shard_tokens=200
        )
        rank_rows.append(documents_of(tmp_path / f"{rank}"))
        assert done.n_documents == len(rank_rows[-1])
        assert manifest_of(tmp_path / f"{rank}")["config"]["pack"]["rank"] == rank
        assert [row.tolist() for row in open_shards(tmp_path / f"{rank}")] == rank_rows[-1]
    rows = [row for step in itertools.zip_longest(*rank_rows) for row in step if row is not None]
    assert {len(row) for row in rows[:-1]} <= {seq_len}
    expected = np.concatenate(list(shards.batches(**options, batch=1, epochs=1, pad_id=0))).reshape(-1)
    assert [token for row in rows for token in row] == expected[: shards.n_tokens].tolist()
    n_bytes = sum(open_shards(tmp_path / f"{rank}").manifest.text_bytes for rank in range(world_size))
    assert abs(n_bytes - shards.manifest.text_bytes) <= world_size * len(rows)


def test_a_folder_in_use_is_only_replaced_on_request(tmp_path: Path) -> None:
    tokenize_files(TOKENIZER, random_lines(tmp_path, 1), tmp_path / "shards")
    with pytest.warns(UserWarning, match="no token between documents"):
        pack_shards(tmp_path / "shards", tmp_path / "out", seq_len=8, seed=1, shard_tokens=50)
    with pytest.raises(FileExistsError, match="already contains a run; replace it"):
        pack_shards(tmp_path / "shards", tmp_path / "out", seq_len=8)
    with pytest.raises(FileExistsError, match="already contains a run"):
        pack_shards(tmp_path / "out", tmp_path / "shards", seq_len=8)
    pack_shards(tmp_path / "shards", tmp_path / "out", seq_len=9, overwrite=True)
    assert len(documents_of(tmp_path / "out")[0]) == 9
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"contains mine\.txt"):
        pack_shards(tmp_path / "shards", tmp_path / "notes", seq_len=9, overwrite=True)


def test_the_command_writes_shuffled_rows_of_a_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, source = tmp_path / "model.json", random_lines(tmp_path, 2)
    TOKENIZER.save(model)
    tokenize_files(TOKENIZER, source, tmp_path / "shards")
    pack_shards(tmp_path / "shards", tmp_path / "wanted", seq_len=16, seed=5, rank=1, world_size=2)
    common = ("tokenize --model", model, "--input", source, "--output", tmp_path / "out")
    options = ("--pack", 16, "--shuffle", 5, "--rank", 1, "--world-size", 2)
    with monkeypatch.context() as patched:
        # Stopped between the two halves: the tokenized shards are kept and reused.
        patched.setattr(packed, "pack_shards", lambda *args, **options: (_ for _ in ()).throw(OSError("stopped")))
        assert run(*common, *options).status == 1
        assert (tmp_path / ".out.unpacked").is_dir()
    resumed = output(*common, *options, "--resume")
    assert json.loads(resumed)["documents"] == len(documents_of(tmp_path / "wanted"))
    assert documents_of(tmp_path / "out") == documents_of(tmp_path / "wanted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "out", "shards", "text.jsonl", "wanted"]
    assert "already contains a run" in run(*common, *options).err
    assert "already finished" in run(*common, *options, "--resume").err
    failed(run(*common, "--pack", 17, "--resume"), "was made with pack")
    source.write_text(source.read_text() + '{"text": "more"}\n')
    assert "the inputs have changed" in run(*common, *options, "--resume").err
    output(*common, *options, "--force")
    for wrong in ("--shuffle 1", "--rank 1 --world-size 2", "--pack 8 --rank 1", "--pack 8 --shuffle -1"):
        assert run(f"tokenize {wrong} --model", *common[1:]).status == 2
    assert "rank" in run(*common, "--pack", 8, "--rank", 2, "--world-size", 2, "--force").err


def test_the_report_counts_literals_and_duplicates_of_the_run(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    (tmp_path / "a.txt").write_text("the <|endoftext|> cat\nthe <|endoftext|> cat\nno literal")
    how = ("--lines --count-duplicates --model", tmp_path / "model.json", "--input", tmp_path / "a.txt", "--output")
    command = (f"tokenize --pack 4 --rank 1 --world-size 2 {how[0]}", *how[1:])
    plain = json.loads(output(f"tokenize {how[0]}", *how[1:], tmp_path / "plain"))
    assert (plain["special_literals"], plain["duplicates"]) == ({"<|endoftext|>": 2}, 1)
    for more in ((), ("--resume",)):
        report = json.loads(output(*command, tmp_path / "rows", *more))
        assert {name: report[name] for name in plain if name in ("special_literals", "duplicates", "skipped")} == {
            name: plain[name] for name in ("special_literals", "duplicates", "skipped")
        }


def test_nothing_and_what_was_left_out_are_reported(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    (tmp_path / "bad.jsonl").write_text('{"text": "the cat"}\n{"text": 3}\n')
    (tmp_path / "empty.txt").write_text("")
    common = ("tokenize --pack 4 --model", tmp_path / "model.json", "--output")
    done = run(*common, tmp_path / "bad", "--input", tmp_path / "bad.jsonl", "--skip-bad", "--strict")
    assert done.status == 3 and json.loads(done.out)["skipped"] == 1
    (tmp_path / "bad.txt.gz").write_bytes(b"nonsense")
    done = run(*common, tmp_path / "gz", "--input", tmp_path / "bad.txt.gz", "--skip-bad-files", "--strict")
    assert done.status == 3 and json.loads(done.out)["skipped_files"] == 1
    done = run(*common, tmp_path / "none", "--input", tmp_path / "empty.txt")
    assert done.status == 0 and json.loads(done.out)["shards"] == 0
    assert manifest_of(tmp_path / "none")["complete"]
    (tmp_path / "one.txt").write_text("the cat")
    done = run(*common, tmp_path / "rank", "--input", tmp_path / "one.txt", "--rank", 7, "--world-size", 8)
    assert done.status == 0 and json.loads(done.out)["shards"] == 0
    assert "too few tokens for a row of this rank" in done.err
    with pytest.raises(ResumeError, match="was made with"):
        tokenize_files(TOKENIZER, tmp_path / "empty.txt", tmp_path / "none", resume=True, shard_tokens=3)


def test_shards_are_not_packed_into_their_own_folder(tmp_path: Path) -> None:
    tokenize_files(TOKENIZER, random_lines(tmp_path, 1), tmp_path / "shards")
    before = documents_of(tmp_path / "shards")
    for folder in (tmp_path / "shards", tmp_path / "other" / ".." / "shards"):
        with pytest.raises(ValueError, match="the folder of the shards themselves"):
            pack_shards(tmp_path / "shards", folder, seq_len=8, overwrite=True)
    assert [list(ids) for ids in documents_of(tmp_path / "shards")] == [list(ids) for ids in before]
