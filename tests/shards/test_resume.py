"""Runs that resume although inputs were repaired, removed, added or skipped; and those that must not."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, ResumeError, Tokenizer, tokenize_files
from tests.corpus.files import DOCUMENTS, json_lines, write_parquet
from tests.shards.reading import contents, documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


def lines_of(number: int, n: int = 6) -> bytes:
    return json_lines(
        [f"file {number}, document {at}: {DOCUMENTS[(number + at) % len(DOCUMENTS)]}" for at in range(n)]
    ).encode()


def write(folder: Path, number: int, *, cut: bool = False) -> Path:
    data = gzip.compress(lines_of(number), mtime=0)
    path = folder / f"part-{number:03d}.jsonl.gz"
    path.write_bytes(data[: len(data) // 2] if cut else data)
    return path


@pytest.mark.parametrize("is_list", [True, False])
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.long
def test_texts_in_memory_are_told_apart_by_how_they_begin(tmp_path: Path, is_list: bool, is_complete: bool) -> None:
    others = ["another text", *DOCUMENTS]
    out = tmp_path / "out"

    def run(texts: list[str], breaks_off: bool = False, **more: Any) -> Any:
        def given() -> Any:
            yield from texts
            if breaks_off:
                raise KeyboardInterrupt

        # Lists in an iterable are read as batches: the break comes after all texts.
        source = texts if is_list and not breaks_off else given()
        return tokenize_files(TOKENIZER, Corpus.of_texts(source), out, shard_tokens=shard_tokens, resume=True, **more)

    shard_tokens, texts = 300, DOCUMENTS * 40
    if is_complete:
        run(texts)
    else:
        # Many blocks, so that shards are finished before the end.
        shard_tokens, texts = 1_000_000, DOCUMENTS * ((32 << 20) // sum(map(len, DOCUMENTS)))
        with pytest.raises(KeyboardInterrupt):
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


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_damaged_files_of_300_are_repaired_removed_and_skipped(tmp_path: Path, format: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(300):
        write(corpus, number, cut=number in (60, 150, 240))
    out = tmp_path / "out"
    options: dict[str, Any] = {"format": format, "shard_tokens": 3000}

    def run(folder: Path = out, **more: Any) -> Any:
        return tokenize_files(TOKENIZER, corpus, folder, resume=True, **options, **more)

    with pytest.raises(CorpusError, match=r"part-060\.jsonl\.gz: the gzip data end too early"):
        run()
    first = manifest_of(out)["shards"]
    assert len(first) > 2
    write(corpus, 60)
    with pytest.raises(CorpusError, match=r"part-150"):
        run()
    second = manifest_of(out)["shards"]
    assert len(second) > len(first) and second[: len(first)] == first
    (corpus / "part-150.jsonl.gz").unlink()
    write(corpus, 300)
    with pytest.raises(CorpusError, match=r"part-240"):
        run()
    with pytest.warns(UserWarning, match=r"1 files that could not be read were skipped.*\n.*part-240"):
        result = run(skip_bad_files=True)
    assert result.skipped_files == [str(corpus / "part-240.jsonl.gz")]
    (skipped,) = manifest_of(out)["skipped_files"]
    assert skipped["path"] == result.skipped_files[0] and "end too early" in skipped["reason"]
    with pytest.warns(UserWarning, match="1 files"):
        run(tmp_path / "whole", skip_bad_files=True)
    assert contents(out) == contents(tmp_path / "whole")
    # A finished run also resumes; skipped files are used if shards may be written again.
    write(corpus, 301)
    with pytest.warns(UserWarning, match="1 files"):
        run(skip_bad_files=True)
    assert len(documents_of(out)) == 300 * 6
    write(corpus, 240)
    with pytest.raises(ResumeError, match=r"part-240.* finished shards depend on .*rewrite"):
        run()
    assert len(documents_of(out)) == 300 * 6
    with pytest.warns(UserWarning, match=r"part-240.* has changed; \d+ finished shards will be written again"):
        result = run(rewrite=True)
    assert result.skipped_files == [] and len(documents_of(out)) == 301 * 6
    run(tmp_path / "all")
    assert contents(out) == contents(tmp_path / "all")


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Path], Path]:
    """Returns (inputs, folder) of a run that stopped a few documents into the third of five files."""
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 50)
    paths = []
    for number in range(5):
        paths.append(tmp_path / f"{number}.jsonl")
        paths[-1].write_bytes(lines_of(number, 20))
    paths[2].write_bytes(lines_of(2, 10) + b"{broken\n")
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


def test_changed_finished_inputs_are_refused_or_rewritten(stopped: tuple[list[Path], Path], tmp_path: Path) -> None:
    paths, out = stopped
    paths[2].write_bytes(lines_of(2, 20))
    (tmp_path / "new.jsonl").write_bytes(lines_of(9))

    def refused(inputs: list[Path], match: str) -> None:
        before = contents(out)
        with pytest.raises(ResumeError, match=match):
            tokenize_files(TOKENIZER, inputs, out, shard_tokens=100, resume=True)
        assert contents(out) == before

    refused([*paths[:1], *paths[2:]], r"1\.jsonl is not among the inputs any more, but the finished shards depend on")
    refused(paths[:2], r"2\.jsonl is not among the inputs")
    # As from another working directory.
    other = [path.parent / "." / ".." / path.parent.name / path.name for path in paths]
    refused(other, r"0\.jsonl is named .*\.\./.*0\.jsonl now \(give the same path to resume\), but the finished shards")
    refused([paths[0], tmp_path / "new.jsonl", *paths[1:]], r"new\.jsonl is before .*1\.jsonl now")
    paths[1].write_bytes(lines_of(1, 3))
    refused(paths, r"1\.jsonl has \d+ bytes now, not \d+.*rewrite=True")
    with pytest.warns(UserWarning, match=r"1\.jsonl has .*; \d+ finished shards will be written again"):
        tokenize_files(TOKENIZER, paths, out, shard_tokens=100, resume=True, rewrite=True)
    tokenize_files(TOKENIZER, paths, tmp_path / "whole", shard_tokens=100)
    assert contents(out) == contents(tmp_path / "whole")
    with pytest.raises(ValueError, match="rewrite needs resume"):
        tokenize_files(TOKENIZER, paths, out, shard_tokens=100, rewrite=True)
    with pytest.raises(ValueError, match="resume continues a run and overwrite replaces it"):
        tokenize_files(TOKENIZER, paths, out, shard_tokens=100, resume=True, overwrite=True)


def touch(path: Path) -> None:
    """Gives a file another modification time, a second later."""
    time = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(time, time))


def redact(path: Path) -> None:
    """Changes a file without changing its size, as `sed -i` does."""
    data = path.read_bytes()
    path.write_bytes(data.replace(b"document", b"XXXXXXXX"))
    assert path.stat().st_size == len(data) and path.read_bytes() != data
    touch(path)


@pytest.mark.parametrize("format", ["npy", "bin", "parquet", "megatron"])
def test_a_change_of_equal_size_is_told_and_encoded_again(tmp_path: Path, format: str) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_bytes(lines_of(number, 10))
    write_parquet(tmp_path / "x.parquet", [f"document {n}" for n in range(10)])
    paths.append(tmp_path / "x.parquet")
    out, options = tmp_path / "out", {"format": format, "shard_tokens": 100}
    tokenize_files(TOKENIZER, paths, out, **options)  # type: ignore[arg-type]
    for number in (0, 2, 3):
        redact(paths[number])
        before = contents(out)
        with pytest.raises(
            ResumeError, match=rf"{number}\.jsonl has different content than when it was read.*rewrite=True"
        ):
            tokenize_files(TOKENIZER, paths, out, resume=True, **options)  # type: ignore[arg-type]
        assert contents(out) == before
        with pytest.warns(
            UserWarning, match=rf"{number}\.jsonl has changed; \d+ finished shards will be written again"
        ):
            tokenize_files(TOKENIZER, paths, out, resume=True, rewrite=True, **options)  # type: ignore[arg-type]
        tokenize_files(TOKENIZER, paths, tmp_path / "whole", overwrite=True, **options)  # type: ignore[arg-type]
        assert contents(out) == contents(tmp_path / "whole")
    write_parquet(tmp_path / "x.parquet", [f"DOCUMENT {n}" for n in range(10)])
    touch(paths[-1])
    with pytest.raises(ResumeError, match=r"x\.parquet has different content"):
        tokenize_files(TOKENIZER, paths, out, resume=True, **options)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("error")
def test_a_mere_touch_or_a_copy_of_the_corpus_is_no_change(stopped: tuple[list[Path], Path], tmp_path: Path) -> None:
    paths, out = stopped
    paths[2].write_bytes(lines_of(2, 20))
    for path in paths:
        path.write_bytes(path.read_bytes())
        touch(path)
    with pytest.warns(UserWarning, match=r"2\.jsonl has .*; \d+ finished shards will be written again"):
        tokenize_files(TOKENIZER, paths, out, shard_tokens=100, resume=True)
    tokenize_files(TOKENIZER, paths, tmp_path / "whole", shard_tokens=100)
    assert contents(out) == contents(tmp_path / "whole")
    for path in paths:
        touch(path)
    before = contents(out)
    for rewrite in (False, True):
        done = tokenize_files(TOKENIZER, paths, out, shard_tokens=100, resume=True, rewrite=rewrite)
        assert done.was_complete and contents(out) == before


def test_an_input_not_read_whole_has_changed_if_its_time_has(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(1, 50))
    tokenize_files(TOKENIZER, path, tmp_path / "out", max_bytes=100)
    assert "xxh3_128" not in manifest_of(tmp_path / "out")["inputs"][0]
    touch(path)
    with pytest.raises(ResumeError, match=r"a\.jsonl was modified after the run that read a part of it"):
        tokenize_files(TOKENIZER, path, tmp_path / "out", max_bytes=100, resume=True)


def test_rewriting_finds_a_change_that_hides_behind_its_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(1, 50))
    tokenize_files(TOKENIZER, path, tmp_path / "out")
    time = path.stat().st_mtime_ns
    redact(path)
    os.utime(path, ns=(time, time))
    assert tokenize_files(TOKENIZER, path, tmp_path / "out", resume=True).was_complete
    with pytest.warns(UserWarning, match="has changed; 1 finished shards will be written again"):
        tokenize_files(TOKENIZER, path, tmp_path / "out", resume=True, rewrite=True)
    assert documents_of(tmp_path / "out")[0] == TOKENIZER.encode(json.loads(path.read_text().splitlines()[0])["text"])


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


def test_a_file_that_is_named_is_an_input_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat ate")
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, tmp_path / "a.txt", out)
    (out / "b.txt").write_text("the cat")
    done = tokenize_files(TOKENIZER, [tmp_path / "a.txt", out / "b.txt"], out, resume=True)
    assert done.n_documents == 2


def test_resume_with_another_input_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text('{"text": "doc"}\n' * 3)
    (tmp_path / "bad.txt").write_text("not json\n")
    inputs = [tmp_path / "x.txt", tmp_path / "bad.txt"]
    with pytest.raises(CorpusError):
        tokenize_files(TOKENIZER, inputs, tmp_path / "out", input_format="jsonl", shard_tokens=1)
    with pytest.raises(ResumeError, match="input_format 'jsonl', not None"):
        tokenize_files(TOKENIZER, inputs, tmp_path / "out", resume=True, shard_tokens=1)
