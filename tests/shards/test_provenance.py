"""Provenance: each shard's table finds the document, record and input of every token."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from pairloom import (
    Corpus,
    CorpusError,
    FormatError,
    ResumeError,
    Tokenizer,
    open_shards,
    pack_shards,
    tokenize_files,
    verify_shards,
)
from tests.cases import REFUSED
from tests.cli.commands import failed, output, run
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.provenance import TOKENIZER, Record, check, parts_of
from tests.shards.reading import documents_of

TEXTS = [f"{number} {text}" for number, text in enumerate(DOCUMENTS[:40])]
OPTIONS: dict[str, Any] = {"provenance": True, "id_field": "id", "shard_tokens": 900, "eot": True}


def inputs(folder: Path) -> list[Path]:
    """Three files of JSON lines, with ids a-0, a-1, ..."""
    folder.mkdir(exist_ok=True)
    for name in "abc":
        lines = [json.dumps({"id": f"{name}-{at}", "text": f"{name} {text}"}) + "\n" for at, text in enumerate(TEXTS)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return sorted(folder.glob("*.jsonl"))


def records(folder: Path) -> list[Record]:
    return [
        Record(str(folder / f"{name}.jsonl"), at + 1, f"{name}-{at}", f"{name} {text}")
        for name in "abc"
        for at, text in enumerate(TEXTS)
    ]


def made(folder: Path, **options: Any) -> Path:
    tokenize_files(TOKENIZER, inputs(folder / "in"), folder / "out", **OPTIONS | options)
    return folder / "out"


def test_where_finds_a_token_an_id_and_a_document(tmp_path: Path) -> None:
    shards = open_shards(made(tmp_path))
    (origin,) = shards.where(id="b-7")
    assert origin.document == 47 and shards[47].tolist() == shards.ids(origin.shard)[origin.start : origin.end].tolist()
    assert Path(str(origin.input)).name == "b.jsonl"
    assert (origin.record, origin.n_bytes) == (8, len(f"b {TEXTS[7]}".encode()))
    assert TOKENIZER.decode(shards.ids(origin.shard)[origin.start : origin.end - 1]) == f"b {TEXTS[7]}"
    for token in (origin.start, origin.end - 1):
        assert shards.where(shard=origin.shard, token=token) == [origin]
    assert shards.where(document=47) == [origin] and shards.where(id="z") == []
    wrong: Any
    for wrong in ({}, {"shard": 0}, {"id": "a", "document": 1}, {"shard": 99, "token": 0}, {"shard": 0, "token": -1}):
        with pytest.raises(ValueError, match=r"pass shard and token|the largest is|must be"):
            shards.where(**wrong)


def test_where_without_a_table_tells_document_and_input(tmp_path: Path) -> None:
    shards = open_shards(made(tmp_path, provenance=False, id_field=None))
    (origin,) = shards.where(shard=1, token=5)
    assert Path(str(origin.input)).name == "a.jsonl" and (origin.record, origin.id) == (None, None)
    assert shards[origin.document].tolist() == shards.ids(1)[origin.start : origin.end].tolist()
    with pytest.raises(ValueError, match="has no ids; tokenize with provenance=True and id_field="):
        shards.where(id="a-1")


def test_rows_of_lists_and_structs_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"id": 1, "t": ["a", None, "b"]}, {"id": None, "t": None}, {"id": 3, "t": []}, {"id": 4, "t": ["c"]}]
    pyarrow.parquet.write_table(pyarrow.table({"meta": rows}), path)
    options: dict[str, Any] = {"text_field": "meta.t[]", "skip_bad": True, "provenance": True, "id_field": "meta.id"}
    tokenize_files(TOKENIZER, path, tmp_path / "out", **options)
    expected = [Record(str(path), n, id, text) for n, id, text in ((0, "1", "a"), (0, "1", "b"), (3, "4", "c"))]
    check(tmp_path / "out", expected, eot=False)


@pytest.mark.filterwarnings("error:.*no token between documents")
@pytest.mark.parametrize("shuffle", ["document", "block"])
def test_packed_rows_find_every_token(tmp_path: Path, shuffle: str) -> None:
    out = made(tmp_path)
    packed = [tmp_path / f"packed-{rank}" for rank in range(2)]
    for rank, folder in enumerate(packed):
        pack_shards(out, folder, seq_len=50, seed=1, shuffle=shuffle, rank=rank, world_size=2, shard_tokens=800)
        assert verify_shards(folder, deep=True) == []
    parts = [part for folder in packed for part in parts_of(folder)]
    for record in records(tmp_path / "in"):
        own = sorted((before, ids) for found, before, ids, _ in parts if found.id == record.id)
        assert TOKENIZER.decode([id for _, ids in own for id in ids][:-1]) == record.text
    shards = open_shards(packed[0])
    origins = shards.where(document=3)
    assert [origin.document for origin in origins] == [3] * len(origins)
    assert origins[0].start == shards.offsets(origins[0].shard)[3]
    with pytest.raises(ValueError, match="rows that are already packed; pack the original shards"):
        pack_shards(packed[0], tmp_path / "again", seq_len=5)


def test_a_mixture_tells_folder_and_document_of_each_row(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    folders = {"one": made(tmp_path / "one"), "two": made(tmp_path / "two", eot=None)}
    mixed = open_shards(folders, weights={"one": 3, "two": 1})
    batches = mixed.batches(seq_len=16, batch=8, seed=1)
    ids = batches.at(5)
    lines = batches.documents_of(5).tolist()
    assert sum(end - start for _, start, end, *_ in lines) == ids.size and {line[5] for line in lines} == {0, 1}
    for row, start, end, document, before, number in lines:
        source = list(mixed.sources.values())[number]
        assert ids[row, start:end].tolist() == source[document][before : before + end - start].tolist()


def test_damage_to_a_table_is_found_and_mended(tmp_path: Path) -> None:
    out = made(tmp_path)
    table = out / "shard-00003.provenance.parquet"
    whole = table.read_bytes()
    for data in (whole[:-1], whole[:50] + b"?" + whole[51:], None):
        if data is None:
            table.unlink()
        else:
            table.write_bytes(data)
        (message,) = verify_shards(out, deep=True)
        assert table.name in message
        # The inputs have moved meanwhile: the table does not contain paths.
        (tmp_path / "in").rename(tmp_path / "moved")
        verify_shards(out, deep=True, repair=True, model=TOKENIZER, inputs=sorted((tmp_path / "moved").iterdir()))
        (tmp_path / "moved").rename(tmp_path / "in")
        assert table.read_bytes() == whole and verify_shards(out, deep=True) == []
    table.write_bytes(whole[:-1])
    with pytest.raises(FormatError, match=table.name):
        open_shards(out).provenance(3)
    with pytest.raises(FormatError, match=table.name):
        made(tmp_path, resume=True)


def test_rewrite_keeps_the_tables_right(tmp_path: Path) -> None:
    out = made(tmp_path)
    path = tmp_path / "in" / "b.jsonl"
    path.write_text('{"id": "new", "text": "other"}\n')
    tokenize_files(TOKENIZER, sorted((tmp_path / "in").iterdir()), out, resume=True, rewrite=True, **OPTIONS)
    found = [record for record in records(tmp_path / "in") if record.input != str(path)]
    at = len(TEXTS)
    check(out, [*found[:at], Record(str(path), 1, "new", "other"), *found[at:]])


def test_a_skipped_input_may_not_vanish_from_numbered_inputs(tmp_path: Path) -> None:
    paths = inputs(tmp_path / "in")
    paths[0].write_text('{"id": "x"')
    options: dict[str, Any] = {"provenance": True, "skip_bad_files": True}
    tokenize_files(TOKENIZER, paths, tmp_path / "out", **options)
    assert {Path(str(origin.input)).name for origin in open_shards(tmp_path / "out").where(document=0)} == {"b.jsonl"}
    with pytest.raises(ResumeError, match=r"a\.jsonl is not among the inputs any more"):
        tokenize_files(TOKENIZER, paths[1:], tmp_path / "out", resume=True, **options)


@pytest.mark.parametrize(("name", "field", "message"), REFUSED["ids"])
def test_what_is_no_id_is_refused_by_name(tmp_path: Path, name: str, field: str, message: str) -> None:
    record = {"text": "a", "n": 1.5, "l": [1], "map": {"b": 1}, "bool": True}
    (tmp_path / name).write_text(json.dumps(record))
    if name == "a.parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), tmp_path / name)
    with pytest.raises((ValueError, CorpusError), match=message):
        tokenize_files(TOKENIZER, tmp_path / name, tmp_path / "out", provenance=True, id_field=field)


def test_provenance_over_a_url_and_ids_of_texts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}')
    with pytest.raises(ValueError, match="provenance cannot overwrite there"):
        tokenize_files(TOKENIZER, tmp_path / "a.jsonl", "memory://out", provenance=True, overwrite=True)
    with pytest.raises(ValueError, match="this is texts in memory"):
        tokenize_files(TOKENIZER, Corpus.of_texts(["a"]), tmp_path / "out", provenance=True, id_field="id")


def test_texts_in_memory_are_numbered(tmp_path: Path) -> None:
    tokenize_files(TOKENIZER, Corpus.of_texts(["a", "", "b"]), tmp_path / "out", provenance=True, eot=True)
    check(tmp_path / "out", [Record("<texts>", n, None, text) for n, text in enumerate(("a", "", "b"))])


def test_commands_write_and_find_provenance(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    inputs(tmp_path / "in")
    out, model = tmp_path / "out", ["--model", str(tmp_path / "model.json")]
    command = ("tokenize --eot --id-field id --input", tmp_path / "in", "--output", out)
    assert run(*command, *model).status == 2
    output(*command, *model, "--provenance", "--pack", "64", "--shuffle", "3")
    lines = output("where", out, "--id", "c-4", *model).splitlines()
    parts = sorted(map(json.loads, lines), key=lambda part: part["before"])
    assert "".join(part["text"] for part in parts) == f"c {TEXTS[4]}"
    assert {(part["record"], Path(part["input"]).name) for part in parts} == {(5, "c.jsonl")}
    assert "text" not in json.loads(output("where --shard 0 --token 7", out))
    failed(run("where --id nowhere", out), "no document has the id 'nowhere'")
    for wrong in ("", "--shard 1", "--id a --shard 0 --token 1"):
        assert run(f"where {wrong}", out).status == 2
    Tokenizer.train(DOCUMENTS, 300).save(tmp_path / "other.json")
    failed(run("where --id c-4", out, "--model", tmp_path / "other.json"), "was made with another model")
    assert documents_of(out)


@pytest.mark.parametrize("separator", [None, "\n"])
def test_parts_and_left_out_duplicates_keep_their_records(tmp_path: Path, separator: str | None) -> None:
    path = tmp_path / ("a.txt" if separator else "a.jsonl")
    texts = ["one", "two", "one", "three", "four", "two", "five"] * 2
    lines = texts if separator else [json.dumps({"text": text, "id": at}) for at, text in enumerate(texts)]
    path.write_text("\n".join(lines))
    options: dict[str, Any] = {"duplicates": "drop", "separator": separator, "eot": True, "shard_tokens": 5}
    options |= {"provenance": True, "id_field": None if separator else "id"}
    tokenize_files(TOKENIZER, path, tmp_path / "out", split={"a": 0.5, "b": 0.5}, **options)
    found = [row for part in "ab" for row in parts_of(tmp_path / "out" / part)]
    first = {text: texts.index(text) for text in texts}
    expected = [(at + (not separator), None if separator else str(at), text) for text, at in first.items()]
    assert sorted((row[0].number, row[0].id, TOKENIZER.decode(row[2][:-1])) for row in found) == sorted(expected)
    (tmp_path / "out" / "a" / "shard-00000.provenance.parquet").unlink()
    assert len(verify_shards(tmp_path / "out" / "a", repair=True, model=TOKENIZER)) == 1
    assert verify_shards(tmp_path / "out" / "a", deep=True) == []


def test_a_run_at_a_url_tells_where_tokens_come_from(tmp_path: Path, memory: Any) -> None:
    out, url = made(tmp_path), "memory://provenance-run"
    tokenize_files(TOKENIZER, inputs(tmp_path / "in"), url, **OPTIONS)
    shards = open_shards(url, cache=tmp_path / "cache")
    assert shards.where(id="b-7") == open_shards(out).where(id="b-7")
    assert tokenize_files(TOKENIZER, inputs(tmp_path / "in"), url, resume=True, **OPTIONS).was_complete


def test_where_leaves_no_thread_that_could_abort_the_exit(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json_lines(["a"]))
    tokenize_files(TOKENIZER, tmp_path / "a.jsonl", tmp_path / "out", provenance=True)
    script = """
import os, sys, pyarrow.parquet, pyarrow.compute, pairloom
before = os.listdir("/proc/self/task")
assert pairloom.open_shards(sys.argv[1]).where(document=0)[0].record == 1
assert os.listdir("/proc/self/task") == before
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "out"], check=True)
