"""A killed training goes on from its counts and ends in the identical model; no checkpoint of anything else is used."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import CheckpointError, Corpus, ProgressEvent, ResumeError, Tokenizer, open_shards, tokenize_files

TEXTS = ["the cat sat on the mat " * 5, "the dog sat on the log " * 3]


def test_counts_are_reused_and_sizes_are_nested(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    big = Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)
    events: list[ProgressEvent] = []
    assert Tokenizer.train(TEXTS, 280, checkpoint=checkpoint, progress=events.append) == big
    assert {event.stage for event in events} == {"merge"}
    assert Tokenizer.train(TEXTS, 270, checkpoint=checkpoint) == Tokenizer.train(TEXTS, 270)
    for fields in ({"min_frequency": 3}, {"tie_break": "bytes_greatest", "max_token_bytes": 3}):
        again = Tokenizer.train(TEXTS, 290, checkpoint=checkpoint, progress=events.append, **fields)
        assert again == Tokenizer.train(TEXTS, 290, **fields)
    assert {event.stage for event in events} == {"merge"}


@pytest.mark.parametrize(
    "fields",
    [
        {"min_frequency": 3},
        {"max_token_bytes": 3},
        {"min_frequency": 3, "max_token_bytes": 5, "tie_break": "bytes_greatest"},
        {"profile": "cs336", "special_tokens": ["sat"]},
        {"profile": "huggingface", "byte_order": "gpt2", "pattern": ("o200k", "gpt2")},
    ],
)
def test_a_checkpoint_of_any_configuration_gives_the_same_model(tmp_path: Path, fields: dict[str, Any]) -> None:
    for vocab_size in (300, 260, 275, 400):
        resumed = Tokenizer.train(TEXTS, vocab_size, checkpoint=tmp_path / "checkpoint", **fields)
        assert resumed == Tokenizer.train(TEXTS, vocab_size, **fields)


@pytest.mark.parametrize(
    "other",
    [
        {"pattern": "cl100k"},
        {"special_tokens": ["<s>"]},
        {"corpus_specials": "split"},
        {"input_errors": "replace"},
    ],
)
def test_the_checkpoint_of_another_configuration_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    Tokenizer.train(TEXTS, 258, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match=r"another pattern.*another checkpoint path"):
        Tokenizer.train(TEXTS, 258, checkpoint=tmp_path / "checkpoint", **other)


def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"thesis\.txt"):
        Tokenizer.train(TEXTS, 258, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FileNotFoundError):
        Tokenizer.train(TEXTS, 258, checkpoint=tmp_path / "no" / "parent")
    with pytest.raises((FileExistsError, NotADirectoryError)):
        Tokenizer.train(TEXTS, 258, checkpoint=tmp_path / "thesis.txt")


class TestCorpusThatChanged:
    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Path:
        file = tmp_path / "corpus.txt"
        file.write_text(TEXTS[0])
        Tokenizer.train_files(file, 270, checkpoint=tmp_path / "checkpoint")
        return file

    def resumed(self, corpus: Path) -> Tokenizer:
        return Tokenizer.train_files(corpus, 270, checkpoint=corpus.parent / "checkpoint")

    def test_by_size_is_refused(self, corpus: Path) -> None:
        corpus.write_text(TEXTS[0] + "!")
        with pytest.raises(CheckpointError, match=r"of one that has changed.*delete the folder"):
            self.resumed(corpus)

    def test_changed_content_of_an_equal_time_is_refused(self, corpus: Path) -> None:
        status = corpus.stat()
        corpus.write_text(TEXTS[0].replace("cat", "rat"))
        os.utime(corpus, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(CheckpointError, match="of one that has changed"):
            self.resumed(corpus)

    def test_by_time_alone_is_accepted_where_the_content_is_known(self, corpus: Path) -> None:
        os.utime(corpus, ns=(1, 1))
        assert self.resumed(corpus) == Tokenizer.train(TEXTS[0], 270)

    def test_by_time_is_refused_where_the_content_is_not_known(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pairloom.corpus.fingerprint._MOST_DIGESTED_BYTES", 10)
        shutil.rmtree(tmp_path / "checkpoint")
        expected = self.resumed(corpus)
        assert self.resumed(corpus) == expected
        os.utime(corpus, ns=(1, 1))
        with pytest.raises(CheckpointError, match="of one that has changed"):
            self.resumed(corpus)

    def test_that_is_gone_is_an_os_error(self, corpus: Path) -> None:
        corpus.unlink()
        with pytest.raises(FileNotFoundError, match="corpus"):
            self.resumed(corpus)

    def test_by_more_files_or_other_names_is_refused(self, corpus: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.txt"
        other.write_text(TEXTS[0])
        checkpoint = tmp_path / "checkpoint"
        with pytest.raises(CheckpointError, match="another corpus"):
            Tokenizer.train_files([corpus, other], 270, checkpoint=checkpoint)
        with pytest.raises(CheckpointError, match="another corpus"):
            Tokenizer.train_files(other, 270, checkpoint=checkpoint)
        with pytest.raises(CheckpointError, match="another corpus"):
            Tokenizer.train(TEXTS[0], 270, checkpoint=checkpoint)

    def test_while_it_was_counted_is_refused(self, corpus: Path, tmp_path: Path) -> None:
        def grow(event: ProgressEvent) -> None:
            if event.stage == "count" and event.done:
                corpus.write_text(TEXTS[0] + "more")

        with pytest.raises(CheckpointError, match="while it was counted"):
            Tokenizer.train_files(corpus, 270, checkpoint=tmp_path / "new", progress=grow)
        assert not (tmp_path / "new").exists()

    def test_among_records_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "corpus.jsonl"
        file.write_text('{"text": "ab ab"}\n')
        Tokenizer.train_files(file, 258, checkpoint=tmp_path / "checkpoint")
        Tokenizer.train_files(file, 258, checkpoint=tmp_path / "checkpoint")
        file.write_text('{"text": "ab ac"}\n')
        with pytest.raises(CheckpointError, match="of one that has changed"):
            Tokenizer.train_files(file, 258, checkpoint=tmp_path / "checkpoint")


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_other_texts_are_refused(tmp_path: Path, kind: Any) -> None:
    expected = Tokenizer.train(kind(TEXTS), 280, checkpoint=tmp_path / "checkpoint")
    assert expected == Tokenizer.train(TEXTS, 280)
    assert Tokenizer.train(kind(TEXTS), 280, checkpoint=tmp_path / "checkpoint") == expected
    for others in ([], [""], TEXTS[:1], [*TEXTS, "x"], [TEXTS[0], TEXTS[1][:-1]], ["".join(TEXTS)]):
        with pytest.raises(CheckpointError, match="another corpus"):
            Tokenizer.train(kind(others), 280, checkpoint=tmp_path / "checkpoint")


class StreamedDataset:
    """What a data set of `datasets` that is streamed has: batches of rows, without a length or a fingerprint."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def with_format(self, _: str) -> StreamedDataset:
        return self

    def iter(self, batch_size: int) -> Iterator[Any]:
        pyarrow = pytest.importorskip("pyarrow")
        yield pyarrow.table({"text": self.texts})


def in_arrow(kind: str, texts: list[str]) -> Any:
    """The texts as an Arrow column, as several chunks, as a stream that can be read once, or as a streamed data set."""
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(texts)
    if kind == "stream":
        schema = pyarrow.schema([("text", pyarrow.string())])
        return pyarrow.RecordBatchReader.from_batches(schema, [pyarrow.record_batch([column], schema=schema)])
    if kind == "data set":
        return Corpus(StreamedDataset(texts))
    return pyarrow.chunked_array([column[:1], column[1:]]) if kind == "chunks" else column


@pytest.mark.parametrize("kind", ["column", "chunks", "stream", "data set"])
def test_arrow_texts_are_known_again_and_others_refused(tmp_path: Path, kind: str) -> None:
    expected = Tokenizer.train(TEXTS, 280)
    for _ in range(2):
        assert Tokenizer.train(in_arrow(kind, TEXTS), 280, checkpoint=tmp_path / "checkpoint") == expected
    with pytest.raises(CheckpointError, match="another corpus"):
        Tokenizer.train(in_arrow(kind, TEXTS[::-1]), 280, checkpoint=tmp_path / "checkpoint")
    # Shards: of other texts no run goes on.
    out = tmp_path / "out"
    for _ in range(2):
        given = in_arrow(kind, TEXTS)
        tokenize_files(expected, given if kind == "data set" else Corpus.of_texts(given), out, resume=True)
        assert [ids.tolist() for ids in open_shards(out)] == expected.encode_batch(TEXTS)
    given = in_arrow(kind, TEXTS[::-1])
    with pytest.raises(ResumeError, match="was made of other texts"):
        tokenize_files(expected, given if kind == "data set" else Corpus.of_texts(given), out, resume=True)


def test_a_pipe_has_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for corpus in (tmp_path / "pipe.txt", Corpus("-")):
        with pytest.raises(CheckpointError, match="cannot tell whether a pipe brings the same"):
            if isinstance(corpus, Corpus):
                Tokenizer.train(corpus, 280, checkpoint=tmp_path / "checkpoint")
            else:
                Tokenizer.train_files(corpus, 280, checkpoint=tmp_path / "checkpoint")


def test_an_iterator_is_trained_on_whole_after_its_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.text_batches.BATCH_CHARACTERS", 100)

    def texts() -> Iterator[str]:
        yield from (f"word{i} word{i + 1}" for i in range(1000))

    with_checkpoint = Tokenizer.train(texts(), 600, checkpoint=tmp_path / "checkpoint")
    assert with_checkpoint == Tokenizer.train(texts(), 600)


def test_a_folder_takes_one_training_at_a_time(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    errors: list[BaseException] = []

    def second() -> None:
        try:
            Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)
        except FileExistsError as error:
            errors.append(error)

    def at_work(event: ProgressEvent) -> None:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()

    first = Tokenizer.train(TEXTS, 280, checkpoint=checkpoint, progress=at_work)
    assert errors and all("another run is writing here" in str(error) for error in errors)
    assert first == Tokenizer.train(TEXTS, 280, checkpoint=checkpoint) == Tokenizer.train(TEXTS, 280)


def test_a_process_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = f"""
import os, sys, time
from pairloom import Tokenizer
child = 0
def fork(event):
    global child
    if not child:
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
Tokenizer.train({TEXTS!r}, 280, checkpoint={str(tmp_path / "checkpoint")!r}, progress=fork)
Tokenizer.train({TEXTS!r}, 280, checkpoint={str(tmp_path / "checkpoint")!r})
os.kill(child, 9)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=50)


@pytest.mark.parametrize("existed", [False, True])
def test_an_early_failure_leaves_no_checkpoint(tmp_path: Path, existed: bool) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ab \xff")
    checkpoint = tmp_path / "checkpoint"
    if existed:
        checkpoint.mkdir()
    with pytest.raises(ValueError, match="UTF-8"):
        Tokenizer.train_files(bad, 270, checkpoint=checkpoint)
    assert checkpoint.exists() is existed
    assert not existed or not list(checkpoint.iterdir())


def test_a_failure_in_learning_keeps_the_counts(tmp_path: Path) -> None:
    def fail(event: ProgressEvent) -> None:
        if event.stage == "merge":
            raise RuntimeError

    with pytest.raises(RuntimeError):
        Tokenizer.train(TEXTS, 280, checkpoint=tmp_path / "checkpoint", progress=fail)
    stages = set()
    again = Tokenizer.train(TEXTS, 280, checkpoint=tmp_path / "checkpoint", progress=lambda e: stages.add(e.stage))
    assert again == Tokenizer.train(TEXTS, 280)
    assert stages == {"merge"}


def _counts_in(checkpoint: Path) -> Path:
    (file,) = checkpoint.iterdir()
    return file


def test_damaged_counts_are_refused_with_the_remedy(tmp_path: Path) -> None:
    checkpoint, draw = tmp_path / "checkpoint", random.Random(1)
    Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)
    file = _counts_in(checkpoint)
    whole = file.read_bytes()
    for turn in range(60):
        at, damaged = draw.randrange(len(whole)), bytearray(whole)
        damaged[at] ^= 1 << draw.randrange(8)
        file.write_bytes(damaged if turn % 2 else whole[:at])
        with pytest.raises(CheckpointError, match=r"counts-.*; delete the folder to count again"):
            Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)
    name = _counts_in(checkpoint).name
    (checkpoint / f".{name}.0123456789abcdef").write_bytes(b"half")
    Tokenizer.train(TEXTS, 280, checkpoint=checkpoint)
    assert _counts_in(checkpoint).name == name


@pytest.mark.parametrize("corpus_specials", ["text", "split"])
def test_a_checkpoint_of_random_texts_gives_the_same_model(tmp_path: Path, corpus_specials: str) -> None:
    draw = random.Random(9)
    pieces = ["<a>", "<longer special>", "word ", "\r\n", "é", "中文", "\0", "🙂"]
    for turn in range(20):
        texts = ["".join(draw.choices(pieces, k=50)) for _ in range(draw.randrange(4))]
        fields: dict[str, Any] = {"special_tokens": ["<a>", "<longer special>"], "corpus_specials": corpus_specials}
        for _ in range(2):
            checkpoint = tmp_path / f"{turn}"
            assert Tokenizer.train(texts, 300, checkpoint=checkpoint, **fields) == Tokenizer.train(texts, 300, **fields)


@pytest.mark.parametrize(
    "options", [{}, {"doc_cap": 5}, {"max_bytes": 20}, {"separator": " "}, {"input_errors": "replace"}], ids=str
)
def test_a_corpus_object_is_known_by_its_files_and_options(tmp_path: Path, options: dict[str, Any]) -> None:
    file = tmp_path / "corpus.txt"
    file.write_bytes(b"ab abc ab\nabc abc " * 4 + (b"\xff" if "input_errors" in options else b""))

    def train(**options: Any) -> Tokenizer:
        return Tokenizer.train(Corpus(file, **options), 262, checkpoint=tmp_path / "checkpoint")

    expected = Tokenizer.train(Corpus(file, **options), 262)
    assert train(**options) == train(**options) == expected
    with pytest.raises(CheckpointError, match="another corpus"):
        train(doc_cap=7)
    file.write_text("other")
    with pytest.raises(CheckpointError, match="of one that has changed"):
        train(**options)


def test_a_checkpoint_of_a_corpus_in_memory_is_of_its_texts(tmp_path: Path) -> None:
    first = Tokenizer.train(Corpus.of_texts(["aa aa"]), 257, checkpoint=tmp_path / "ck")
    assert Tokenizer.train(Corpus.of_texts(["aa aa"]), 257, checkpoint=tmp_path / "ck") == first
    with pytest.raises(CheckpointError, match="another corpus"):
        Tokenizer.train(Corpus.of_texts(["zz zz"]), 257, checkpoint=tmp_path / "ck")
    once = Tokenizer.train(Corpus.of_texts(iter(["aa aa", "bb"])), 257, checkpoint=tmp_path / "other")
    assert once == Tokenizer.train(["aa aa", "bb"], 257)


def test_a_checkpoint_knows_how_files_were_read(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text('{"text": "zzzz"}\n' * 3)
    Tokenizer.train(Corpus(path, input_format="jsonl"), 258, checkpoint=tmp_path / "ck")
    with pytest.raises(CheckpointError, match="another corpus"):
        Tokenizer.train(Corpus(path), 258, checkpoint=tmp_path / "ck")
