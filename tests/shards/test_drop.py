"""drop_documents: the folder equals that of a run without these documents, and they never come back."""

import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairloom import FormatError, ResumeError, drop_documents, open_shards, pack_shards, tokenize_files, verify_shards
from pairloom.shards.files import FORMATS
from tests.cli.commands import output, run
from tests.shards.provenance import TOKENIZER, check
from tests.shards.reading import contents, documents_of, manifest_of
from tests.shards.test_provenance import OPTIONS, made, records

GONE = ["a-3", "a-4", "b-0", "c-39"]


def left(folder: Path, gone: Any = GONE) -> list[Any]:
    return [record for record in records(folder / "in") if record.id not in gone]


@pytest.mark.parametrize("format", FORMATS)
def test_documents_are_removed_in_each_format(tmp_path: Path, format: str) -> None:
    out = made(tmp_path, format=format)
    before, n_tokens = contents(out), open_shards(out).n_tokens
    # The inputs are not needed.
    shutil.move(tmp_path / "in", tmp_path / "moved")
    done = drop_documents(out, [*GONE, "nowhere"])
    assert (done.n_documents, done.missing, done.earlier) == (4, ["nowhere"], [])
    check(out, left(tmp_path))
    assert verify_shards(out, deep=True) == []
    manifest = manifest_of(out)
    for number, shard in enumerate(manifest["shards"]):
        assert (
            (number in done.shards)
            == ("dropped" in shard)
            == ((out / shard["file"]).read_bytes() != before[shard["file"]])
        )
    (record,) = manifest["dropped"]
    digests = sorted(hashlib.sha256(id.encode()).hexdigest() for id in GONE)
    assert record["ids_sha256"] == digests and record["shards"] == done.shards
    assert (record["documents"], record["tokens"]) == (4, done.n_tokens)
    assert done.n_tokens == n_tokens - open_shards(out).n_tokens
    assert sum(entry["documents"] for entry in manifest["inputs"]) == len(left(tmp_path))
    assert drop_documents(out, GONE).earlier == sorted(GONE)


@pytest.mark.parametrize("format", FORMATS)
def test_an_emptied_shard_stays_readable(tmp_path: Path, format: str) -> None:
    out = made(tmp_path, format=format)
    shards = open_shards(out)
    bounds = [
        0,
        *(sum(e["documents"] for e in shards.manifest.shards[: n + 1]) for n in range(len(shards.manifest.shards))),
    ]
    gone = [origin.id for n in (0, 2) for d in range(bounds[n], bounds[n + 1]) for origin in shards.where(document=d)]
    drop_documents(out, [id for id in gone if id])
    assert [shard["documents"] for shard in manifest_of(out)["shards"]][::2][:2] == [0, 0]
    check(out, left(tmp_path, gone))
    again = open_shards(out)
    assert sum(map(len, again)) == again.n_tokens and verify_shards(out, deep=True) == []
    assert sum(
        (ids >= 0).sum() for ids in again.batches(seq_len=7, batch=2, seed=1, shuffle="document", epochs=1, pad_id=0)
    )
    pack_shards(out, tmp_path / "packed", seq_len=9, seed=2)
    check(tmp_path / "packed", left(tmp_path, gone))
    drop_documents(out, [str(record.id) for record in records(tmp_path / "in")])
    assert documents_of(out) == [] and verify_shards(out, deep=True) == []


def test_neither_resume_nor_repair_brings_documents_back(tmp_path: Path) -> None:
    out = made(tmp_path)
    done = drop_documents(out, GONE)
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    names = [shard["file"] for shard in manifest_of(out)["shards"]]
    other = next(number for number in range(len(names)) if number not in done.shards)
    (out / names[other]).unlink()
    verify_shards(out, repair=True, model=TOKENIZER)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole
    (out / names[done.shards[0]]).unlink()
    with pytest.raises(ResumeError, match="documents were dropped from it, and writing it again would restore them"):
        verify_shards(out, repair=True, model=TOKENIZER)
    (out / names[done.shards[0]]).write_bytes(whole[names[done.shards[0]]])
    assert made(tmp_path, resume=True) == out
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "new", "id": "n"}\n')
    paths = sorted((tmp_path / "in").iterdir())
    with pytest.raises(ResumeError, match="documents were dropped from it, and writing it again would restore them"):
        tokenize_files(TOKENIZER, paths, out, resume=True, rewrite=True, **OPTIONS)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole


def test_inputs_may_be_added_after_the_last_shard_lost_some(tmp_path: Path) -> None:
    out = made(tmp_path)
    drop_documents(out, ["c-39"])
    (tmp_path / "in" / "d.jsonl").write_text('{"text": "new", "id": "n"}\n')
    tokenize_files(TOKENIZER, sorted((tmp_path / "in").iterdir()), out, resume=True, **OPTIONS)
    documents = documents_of(out)
    assert len(documents) == len(left(tmp_path, ["c-39"])) + 1 and TOKENIZER.decode(documents[-1][:-1]) == "new"
    assert len(manifest_of(out)["dropped"]) == 1


def test_damage_gets_no_new_digest(tmp_path: Path) -> None:
    out = made(tmp_path)
    path = out / manifest_of(out)["shards"][0]["file"]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="its content differs from the manifest"):
        drop_documents(out, GONE)


def test_folders_without_ids_are_refused_with_the_remedy(tmp_path: Path) -> None:
    for name, options in (("plain", {"provenance": False, "id_field": None}), ("numbers", {"id_field": None})):
        (tmp_path / name).mkdir()
        with pytest.raises(ResumeError, match="has no ids to find documents by; tokenize with provenance=True"):
            drop_documents(made(tmp_path / name, **options), GONE)
    pack_shards(made(tmp_path), tmp_path / "packed", seq_len=10)
    with pytest.raises(ResumeError, match="contains packed rows"):
        drop_documents(tmp_path / "packed", GONE)
    shutil.copytree(tmp_path / "out", tmp_path / "unfinished")
    manifest = manifest_of(tmp_path / "unfinished")
    manifest |= {"complete": False, "next": manifest["shards"][-1]["next"]}
    (tmp_path / "unfinished" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResumeError, match="has not finished"):
        drop_documents(tmp_path / "unfinished", GONE)
    with pytest.raises(TypeError, match="ids must be an iterable of str"):
        drop_documents(tmp_path / "out", "a-1")
    with pytest.raises(TypeError, match="an id must be"):
        drop_documents(tmp_path / "out", [1])  # type: ignore[list-item]
    with pytest.raises(FileNotFoundError):
        drop_documents(tmp_path / "in", GONE)


def test_the_command_drops_and_lists_ids_that_none_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, ids = made(tmp_path), tmp_path / "ids.txt"
    ids.write_text("\ufeffa-3\r\nnowhere\n\nb-0\n")
    command = ("drop", out, "--ids", ids)
    done = run(*command)
    assert done.status == 0 and "1 of the ids belong to no document: 'nowhere'" in done.err
    assert '"documents": 2' in done.out and '"missing": 1' in done.out
    output(*command)
    for text, message in (
        (b"nowhere\n", ""),
        (b"\n", "contains no ids; write one id per line"),
        (b"\xff\n", "not UTF-8"),
    ):
        ids.write_bytes(text)
        done = run(*command)
        assert done.status == 1 and message in done.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a-5\n")))
    output("drop --ids -", out)
    check(out, left(tmp_path, ["a-3", "a-5", "b-0"]))
