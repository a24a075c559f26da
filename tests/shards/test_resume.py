"""Runs that resume although inputs were repaired, removed, added or skipped; and those that must not."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, ResumeError, Tokenizer, tokenize_files
from pairloom.shards.manifest import Manifest
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import contents, documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


def lines_of(number: int, n: int = 6) -> bytes:
    return json_lines(
        [f"file {number}, document {at}: {DOCUMENTS[(number + at) % len(DOCUMENTS)]}" for at in range(n)]
    ).encode()


@pytest.mark.parametrize("is_list", [True, False])
@pytest.mark.parametrize("is_complete", [True, False])
def test_texts_in_memory_are_told_apart_by_how_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_list: bool, is_complete: bool
) -> None:
    # Many blocks, so that shards are finished before the end.
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 10_000)
    monkeypatch.setattr("pairloom.corpus.text_batches.batches_of.__defaults__", (10_000,))
    texts, others, out = DOCUMENTS * 10, ["another text", *DOCUMENTS], tmp_path / "out"

    def run(texts: list[str], breaks_off: bool = False, **more: Any) -> Any:
        def given() -> Any:
            yield from texts
            if breaks_off:
                raise ZeroDivisionError

        # Lists in an iterable are read as batches: the break comes after all texts.
        source = texts if is_list and not breaks_off else given()
        return tokenize_files(TOKENIZER, Corpus.of_texts(source), out, shard_tokens=1500, resume=True, **more)

    if is_complete:
        run(texts)
    else:
        with pytest.raises(ZeroDivisionError):
            run(texts, breaks_off=True)
        assert manifest_of(out)["shards"]
    before = contents(out)
    with pytest.raises(ResumeError, match="was made from other texts; start in a new folder, or write"):
        run(others)
    assert contents(out) == before
    run(texts)
    assert documents_of(out) == [TOKENIZER.encode(text) for text in texts]
    run(others, rewrite=True)
    assert documents_of(out) == [TOKENIZER.encode(text) for text in others]


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Path], Path]:
    """Returns (inputs, folder) of a run that stopped a few documents into the third of five files."""
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 50)
    paths = [written(tmp_path / f"{number}.jsonl", lines_of(number, 20)) for number in range(5)]
    written(paths[2], lines_of(2, 10) + b"{broken\n")
    with pytest.raises(CorpusError, match="line 11"):
        tokenize_files(TOKENIZER, paths, tmp_path / "out", shard_tokens=100)
    resume_point = manifest_of(tmp_path / "out")["next"]
    assert resume_point["source"] == 2 and 0 < resume_point["documents"] <= 10
    return paths, tmp_path / "out"


@pytest.mark.parametrize("change", ["after the point", "before the point", "fewer documents"])
def test_a_stopped_run_encodes_a_changed_last_input_again(
    stopped: tuple[list[Path], Path], tmp_path: Path, change: str
) -> None:
    paths, out = stopped
    lines = lines_of(2, 30).splitlines(keepends=True)
    if change != "after the point":
        lines[0] = json_lines(["other text"]).encode()
    paths[2].write_bytes(b"".join(lines[:3] if change == "fewer documents" else lines))
    paths[3].write_bytes(lines_of(33, 2))
    n_kept = sum(shard["next"]["source"] < 2 for shard in manifest_of(out)["shards"])
    n_again = len(manifest_of(out)["shards"]) - n_kept
    assert n_kept and n_again
    with pytest.warns(UserWarning, match=rf"2\.jsonl has .*; {n_again} finished shards will be written again"):
        tokenize_files(TOKENIZER, paths, out, shard_tokens=100, resume=True)
    tokenize_files(TOKENIZER, paths, tmp_path / "whole", shard_tokens=100)
    assert contents(out) == contents(tmp_path / "whole")


def test_a_last_shard_with_room_is_written_again_after_a_kill(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{number}.jsonl", lines_of(number)) for number in range(2)]
    tokenize_files(TOKENIZER, paths[:1], tmp_path / "out", shard_tokens=200)
    Manifest.load(tmp_path / "out").replace(tmp_path / "out", complete=False)  # as killed before its last change
    tokenize_files(TOKENIZER, paths, tmp_path / "out", shard_tokens=200, resume=True)
    tokenize_files(TOKENIZER, paths, tmp_path / "whole", shard_tokens=200)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def touch(path: Path) -> Path:
    """Gives a file another modification time, a second later."""
    time = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(time, time))
    return path


def redact(path: Path) -> Path:
    """Changes a file without changing its size, as `sed -i` does."""
    data = path.read_bytes()
    path.write_bytes(data.replace(b"document", b"XXXXXXXX"))
    assert path.stat().st_size == len(data) and path.read_bytes() != data
    return touch(path)


CHANGES: list[tuple[Callable[[list[Path]], list[Path]], str]] = [
    (lambda paths: [paths[0], paths[2]], r"1\.jsonl is not among the inputs any more, but the finished shards depend"),
    (lambda paths: paths[:2], r"2\.jsonl is not among the inputs"),
    (
        # As from another working directory.
        lambda paths: [path.parent / "." / ".." / path.parent.name / path.name for path in paths],
        r"0\.jsonl is named .*\.\./.*0\.jsonl now \(give the same path to resume\), but the finished shards",
    ),
    (
        lambda paths: [paths[0], written(paths[0].with_name("new.jsonl"), lines_of(9)), *paths[1:]],
        r"new\.jsonl is before .*1\.jsonl now",
    ),
    (
        lambda paths: [paths[0], written(paths[1], lines_of(1, 3)), *paths[2:]],
        r"1\.jsonl has \d+ bytes now, not \d+.*rewrite=True",
    ),
    (
        lambda paths: [redact(paths[0]), *paths[1:]],
        r"0\.jsonl has different content than when it was read.*rewrite=True",
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
@pytest.mark.parametrize("format", ["npy", "bin", "parquet", "megatron"])
def test_changes_to_inputs_of_finished_shards_are_refused(
    tmp_path: Path, format: str, change: Callable[[list[Path]], list[Path]], message: str
) -> None:
    paths = [written(tmp_path / f"{number}.jsonl", lines_of(number, 10)) for number in range(3)]
    out, options = tmp_path / "out", {"format": format, "shard_tokens": 100}
    tokenize_files(TOKENIZER, paths, out, **options)  # type: ignore[arg-type]
    before, inputs = contents(out), change(paths)
    with pytest.raises(ResumeError, match=message):
        tokenize_files(TOKENIZER, inputs, out, resume=True, **options)  # type: ignore[arg-type]
    assert contents(out) == before
    with pytest.warns(UserWarning, match=r"; \d+ finished shards will be written again"):
        tokenize_files(TOKENIZER, inputs, out, resume=True, rewrite=True, **options)  # type: ignore[arg-type]
    tokenize_files(TOKENIZER, inputs, tmp_path / "whole", **options)  # type: ignore[arg-type]
    assert contents(out) == contents(tmp_path / "whole")


def test_a_skipped_file_counts_once_and_again_if_repaired(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{number}.jsonl", b"{" if number == 2 else lines_of(number)) for number in range(4)]
    options: dict[str, Any] = {"skip_bad_files": True, "resume": True, "shard_tokens": 100}
    for inputs, out in ((paths[:3], "out"), (paths, "out"), (paths, "whole")):
        with pytest.warns(UserWarning, match=r"1 files that could not be read were skipped.*\n.*2\.jsonl"):
            done = tokenize_files(TOKENIZER, inputs, tmp_path / out, **options)
        assert done.skipped_files == [str(paths[2])]
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    written(paths[2], lines_of(2))
    with pytest.raises(ResumeError, match=r"2\.jsonl.* finished shards depend on .*rewrite"):
        tokenize_files(TOKENIZER, paths, tmp_path / "out", **options)
    with pytest.warns(UserWarning, match=r"2\.jsonl has changed; \d+ finished shards will be written again"):
        done = tokenize_files(TOKENIZER, paths, tmp_path / "out", rewrite=True, **options)
    assert done.skipped_files == [] and len(documents_of(tmp_path / "out")) == 24


def test_an_input_not_read_whole_has_changed_if_its_time_has(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(1, 50))
    tokenize_files(TOKENIZER, path, tmp_path / "out", max_bytes=100)
    assert "xxh3_128" not in manifest_of(tmp_path / "out")["inputs"][0]
    touch(path)
    with pytest.raises(ResumeError, match=r"a\.jsonl was modified after the run that read it"):
        tokenize_files(TOKENIZER, path, tmp_path / "out", max_bytes=100, resume=True)


def test_an_input_at_a_url_has_changed_if_its_time_has(tmp_path: Path) -> None:
    files = pytest.importorskip("fsspec").filesystem("memory")
    options: dict[str, Any] = {"inputs": "memory://resume/a.jsonl", "output": tmp_path / "out", "resume": True}
    for number in range(2):
        files.pipe_file("/resume/a.jsonl", b'{"text": "cat %d"}\n' % number)
        if number:
            with pytest.raises(ResumeError, match=r"a\.jsonl was modified after the run that read it"):
                tokenize_files(TOKENIZER, **options)
        with pytest.warns(UserWarning, match="a.jsonl has changed") if number else contextlib.nullcontext():
            assert not tokenize_files(TOKENIZER, **options, rewrite=True).was_complete
        assert tokenize_files(TOKENIZER, **options, rewrite=True).was_complete
    files.rm("/resume", recursive=True)


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_a_run_into_a_folder_of_its_inputs_is_resumed(tmp_path: Path, format: str) -> None:
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "a.txt").write_text("the cat ate")
    out = tmp_path / "inputs" / "out"
    tokenize_files(TOKENIZER, tmp_path / "inputs", out, format=format)
    content = {path.name: path.read_bytes() for path in out.iterdir()}
    for resume in (True, False):
        done = tokenize_files(TOKENIZER, tmp_path / "inputs", out, format=format, resume=resume, overwrite=not resume)
        assert done.n_documents == 1
        assert {path.name: path.read_bytes() for path in out.iterdir()} == content
    # A file that is named is an input wherever it lies.
    (out / "b.txt").write_text("the cat")
    paths = [tmp_path / "inputs" / "a.txt", out / "b.txt"]
    assert tokenize_files(TOKENIZER, paths, out, format=format, resume=True).n_documents == 2
