"""Folders and globs: files that are skipped, and files that are passed twice."""

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, PretokenCounts, Tokenizer, tokenize_files
from tests.cli.commands import run
from tests.corpus.files import write_parquet


def write_table(folder: Path) -> None:
    """A folder as Spark and Delta Lake leave it: data, the engines' own files, the output of a task that died."""
    (folder / "day=1").mkdir(parents=True)
    write_parquet(folder / "day=1" / "part-0.parquet", ["one"])
    write_parquet(folder / "part-1.parquet", ["two"])
    for name in ("_temporary/0", "_delta_log", "day=1/.parts"):
        (folder / name).mkdir(parents=True)
        write_parquet(folder / name / "part-0.parquet", ["one"])
    (folder / "_delta_log" / "00000000000000000000.json").write_text('{"commitInfo":{"operation":"WRITE"}}\n')
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-1.parquet.crc").write_bytes(b"crc")
    write_parquet(folder / "_metadata.parquet", ["two"])


def test_names_that_engines_use_for_themselves_are_passed_by(tmp_path: Path) -> None:
    write_table(tmp_path / "_table")
    with pytest.warns(
        UserWarning, match=r"_delta_log and 2 more will not be read: in folders, names that start with _"
    ):
        assert list(Corpus(tmp_path / "_table")) == ["one", "two"]
    with pytest.warns(UserWarning, match=r"_delta_log/part-0.parquet and 1 more will not be read: in folders"):
        assert Corpus(str(tmp_path / "_table" / "**" / "*.parquet")).names == [
            str(tmp_path / "_table" / name) for name in ("_metadata.parquet", "day=1/part-0.parquet", "part-1.parquet")
        ]
    assert list(Corpus(str(tmp_path / "_table" / "**" / "_temporary" / "*" / "*"))) == ["one"]
    # A file that is passed by name is read.
    assert list(Corpus([tmp_path / "_table" / "_temporary", tmp_path / "_table" / "_metadata.parquet"])) == [
        "one",
        "two",
    ]
    done = run("count", "--input", tmp_path / "_table", "--output", tmp_path / "counts")
    assert done.status == 0 and done.err.count("will not be read") == 1


def test_the_same_names_are_passed_by_in_a_store(tmp_path: Path, memory: Any) -> None:
    write_table(tmp_path / "table")
    memory.put(f"{tmp_path}/table/", "/passed/_table/", recursive=True)
    with pytest.warns(UserWarning, match=r"_table/_delta_log/0+\.json and 3 more will not be read"):
        assert list(Corpus("memory://passed/_table")) == ["one", "two"]
    with pytest.warns(UserWarning, match=r"_table/_delta_log/part-0.parquet and 2 more will not be read"):
        names = Corpus("memory://passed/_table/**/*.parquet").names
    assert [name.rpartition("/")[2] for name in names] == ["_metadata.parquet", "part-0.parquet", "part-1.parquet"]
    assert len(Corpus("memory://passed/_table/**/_temporary/**/*.parquet").names) == 1


def test_a_folder_of_nothing_else_says_the_rule(tmp_path: Path) -> None:
    (tmp_path / "_drafts").mkdir()
    (tmp_path / "_drafts" / "a.txt").write_text("a")
    with pytest.raises(CorpusError, match=r"a name that does not start with _ or \.; pass the files"):
        Corpus(tmp_path)
    assert list(Corpus(tmp_path / "_drafts")) == ["a"]


@pytest.mark.parametrize("format", ["npy", "bin"])
def test_the_manifest_of_shards_in_a_folder_is_not_read(tmp_path: Path, format: str) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "manifest.json").write_text('{"text": "of somebody else"}\n')
    tokenize_files(Tokenizer.train("text", 256), tmp_path / "a.txt", tmp_path / "shards", format=format)
    with pytest.warns(UserWarning, match=rf"2 files have no suffix of a corpus .*: .*shard-00000\.{format}, \.\.\."):
        assert list(Corpus(tmp_path)) == ["text", "of somebody else"]
    with pytest.raises(CorpusError, match="shards: the folder contains no file with a suffix of a corpus"):
        Corpus(tmp_path / "shards")


def test_a_file_that_is_named_twice_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("same size")
    (tmp_path / "b.txt").write_text("same time")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "link.txt").symlink_to(tmp_path / "a.txt")
    os.utime(tmp_path / "a.txt", ns=(1, 1))
    os.utime(tmp_path / "b.txt", ns=(1, 1))
    for paths in (["a.txt", "b.txt", "./a.txt"], ["b.txt", "a.txt", "more"], [".", "a.txt"], ["*.txt", "a.txt"]):
        with pytest.warns(UserWarning, match=r"a\.txt will be read 2 times: it is among the inputs more than once"):
            assert list(Corpus(paths)).count("same size") == 2
        with pytest.warns(UserWarning, match=r"a\.txt will be read 2 times"):
            PretokenCounts.from_files(paths)
    with pytest.warns(UserWarning, match=r"a\.txt and 1 more will be read 2 times"):
        Tokenizer.train_files(["a.txt", "b.txt", "a.txt", "b.txt"], 260)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Corpus(["a.txt", "b.txt"])
    with pytest.raises(ValueError, match=r"standard input \(-\) is among the inputs more than once"):
        Corpus(["-", "a.txt", "-"])
    done = run("count", "--input", "a.txt", "a.txt", "--output", "counts")
    assert done.status == 0 and "a.txt will be read 2 times" in done.err
