"""verify_shards: all damage to a folder is found, and repaired byte for byte from the inputs."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import FormatError, ResumeError, ShardJob, Tokenizer, open_shards, tokenize_files, verify_shards
from pairloom.shards.files import FORMATS
from pairloom.shards.packed import pack_shards
from tests.cli.commands import output, run
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import contents, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


def made(folder: Path, format: str = "npy", **options: Any) -> Path:
    """Several shards of three inputs; some shards start inside an input."""
    paths = [folder / f"{number}.jsonl" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_text(json_lines([f"{number} {text}" for text in DOCUMENTS]))
    tokenize_files(TOKENIZER, paths, folder / "out", format=format, shard_tokens=900, eot=True, **options)
    assert len(manifest_of(folder / "out")["shards"]) > 4
    return folder / "out"


@pytest.mark.parametrize("format", FORMATS)
def test_each_damaged_shard_is_named_and_mended(tmp_path: Path, format: str) -> None:
    out = made(tmp_path, format)
    whole = contents(out)
    first, second, third, last = (out / manifest_of(out)["shards"][at]["file"] for at in (0, 1, 2, -1))
    first.write_bytes(first.read_bytes()[:-1000])
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 1
    second.write_bytes(data)
    third.unlink()
    last.unlink()
    os.mkfifo(last)
    found = verify_shards(out, deep=True)
    assert [Path(message.partition(": ")[0]) for message in found] == [first, second, third, last]
    assert "bytes, not" in found[0] and "does not exist" in found[2] and "a pipe" in found[3]
    assert verify_shards(out, repair=True, model=TOKENIZER) == found  # repair always checks as deep as possible
    assert contents(out) == whole
    assert verify_shards(out) == verify_shards(out, deep=True) == verify_shards(out, repair=True, model=TOKENIZER) == []


def test_an_older_manifest_is_found_and_the_run_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[bytes] = []
    from pairloom.shards.manifest import Manifest

    def noted(manifest: Manifest, folder: Path, save: Any = Manifest.save) -> None:
        save(manifest, folder)
        saved.append((folder / "manifest.json").read_bytes())

    with monkeypatch.context() as patched:
        patched.setattr(Manifest, "save", noted)
        out = made(tmp_path)
    whole = contents(out)
    for older in saved[:-1]:
        (out / "manifest.json").write_bytes(older)
        assert verify_shards(out)
        assert verify_shards(out, repair=True, model=TOKENIZER)
        assert contents(out) == whole
    # A shard of a run that finished before inputs were added: its folder comes back.
    paths = sorted(tmp_path.glob("*.jsonl"))
    tokenize_files(TOKENIZER, paths[:2], tmp_path / "two", shard_tokens=900, eot=True)
    (out / "manifest.json").write_bytes((tmp_path / "two" / "manifest.json").read_bytes())
    assert verify_shards(out)
    verify_shards(out, repair=True, model=TOKENIZER)
    assert contents(out) == contents(tmp_path / "two")


def test_ids_and_offsets_that_no_run_writes_are_damage(tmp_path: Path) -> None:
    out = made(tmp_path)
    ids = np.load(out / "shard-00000.npy")
    ids[5] = 60_000
    np.save(out / "shard-00000.npy", ids)
    offsets = np.load(out / "shard-00001.offsets.npy")
    offsets[[2, 3]] = offsets[[3, 2]]
    np.save(out / "shard-00001.offsets.npy", offsets)
    found = verify_shards(out)
    assert "shard-00000.npy: contains id 60000, but the vocabulary has 494" in found[0]
    assert "shard-00001.npy: the boundaries of its documents are not in order" in found[1]


def test_an_input_that_changed_or_moved_is_told_or_found(tmp_path: Path) -> None:
    out = made(tmp_path)
    whole = contents(out)
    (out / "shard-00001.npy").unlink()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in sorted(tmp_path.glob("*.jsonl")):
        shutil.copy(path, moved)
        path.write_text(path.read_text().replace("0", "1"))
        os.utime(path, ns=(1, 1))
    with pytest.raises(ResumeError, match=r"0\.jsonl: has changed since shard-00001\.npy was made from it"):
        verify_shards(out, repair=True, model=TOKENIZER)
    with pytest.raises(ResumeError, match="was made of 3 inputs, but 1 were passed"):
        verify_shards(out, repair=True, model=TOKENIZER, inputs=moved / "0.jsonl")
    assert len(verify_shards(out, repair=True, model=TOKENIZER, inputs=moved)) == 1
    assert contents(out) == whole


@pytest.mark.parametrize("text", ["", json_lines(["other"])])
def test_a_change_behind_an_old_time_does_not_mend(tmp_path: Path, text: str) -> None:
    out, path = made(tmp_path), tmp_path / "2.jsonl"
    last = out / manifest_of(out)["shards"][-1]["file"]
    last.write_bytes(b"")
    before, status = contents(out), path.stat()
    path.write_text(text.ljust(status.st_size - 1) + "\n")
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    with pytest.raises(ResumeError, match=rf"{last.name}: encoding its inputs again does not reproduce it"):
        verify_shards(out, repair=True, model=TOKENIZER)
    assert contents(out) == before
    path.unlink()
    path.mkdir()
    (path / "a.jsonl").write_text("x")
    with pytest.raises(ResumeError, match=r"2\.jsonl: has changed since"):
        verify_shards(out, repair=True, model=TOKENIZER)


def test_what_cannot_be_mended_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    out = made(tmp_path)
    pack_shards(out, tmp_path / "packed", seq_len=64)
    with ShardJob(tmp_path / "job", TOKENIZER) as job:
        job.commit([job.task.write([DOCUMENTS])])
    for folder, match in (
        ("packed", "holds packed rows"),
        ("job", "holds shards of a ShardJob"),
        ("out", "another model"),
    ):
        model = TOKENIZER.truncate_vocab(400) if folder == "out" else TOKENIZER
        (tmp_path / folder / "shard-00000.npy").write_bytes(b"")
        before = contents(tmp_path / folder)
        with pytest.raises(ResumeError, match=match):
            verify_shards(tmp_path / folder, repair=True, model=model)
        assert contents(tmp_path / folder) == before
    with pytest.raises(ValueError, match="model is missing"):
        verify_shards(out, repair=True)
    for given in ({"model": TOKENIZER}, {"inputs": "inputs"}):
        with pytest.raises(ValueError, match="model and inputs are used only for repair; pass repair=True"):
            verify_shards(out, **given)
    with pytest.raises(FileNotFoundError, match="contains job, out, packed; pass one of them"):
        verify_shards(tmp_path)
    (out / "manifest.json").write_text("{}")
    with pytest.raises(FormatError, match="not a manifest"):
        verify_shards(out)


def test_the_command_prints_a_line_for_each_damage(tmp_path: Path) -> None:
    out = made(tmp_path)
    TOKENIZER.save(tmp_path / "model.json")
    done = run("verify --deep", out)
    assert (done.status, done.out) == (0, "") and "no damaged parts" in done.err
    (out / "shard-00002.npy").unlink()
    done = run("verify", out)
    assert (
        done.status == 1
        and done.out.count("\n") == 1
        and "shard-00002.npy: is in the manifest, but does not exist" in done.out
    )
    assert run("verify --repair", out).status == 2
    # Without --repair, the inputs are not compared.
    assert run("verify", out, "--model", tmp_path / "model.json").status == 2
    assert output("verify --repair", out, "--model", tmp_path / "model.json").startswith("repaired: ")
    assert len(open_shards(out)) == 3 * len(DOCUMENTS)
