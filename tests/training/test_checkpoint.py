"""A killed training resumes from its counts and ends in the identical model; no other checkpoint is used."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pairloom import CheckpointError, ProgressEvent, Tokenizer

TEXTS = ["\ufeffthe cat sat on the mat\r\n" * 5, "the dog sat on the log " * 3]
FILES: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Writes the texts as FILES."""
    folder = tmp_path_factory.mktemp("corpus")
    FILES[:] = [folder / f"{number}.txt" for number in range(len(TEXTS))]
    for file, text in zip(FILES, TEXTS, strict=True):
        file.write_text(text)


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
def test_counts_are_reused_for_every_size_and_rule_of_merging(tmp_path: Path, fields: dict[str, Any]) -> None:
    events: list[ProgressEvent] = []
    how: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "progress": events.append}
    for vocab_size in (300, 260, 275, 400):
        assert Tokenizer.train_files(FILES, vocab_size, **how, **fields) == Tokenizer.train(TEXTS, vocab_size, **fields)
    for other in ({"min_frequency": 2}, {"max_token_bytes": 4}, {"tie_break": "ids_least"}):
        expected = Tokenizer.train(TEXTS, 290, **{**fields, **other})
        assert Tokenizer.train_files(FILES, 290, **how, **{**fields, **other}) == expected
    merges = [event.stage for event in events].index("merge")
    assert {event.stage for event in events[merges:]} == {"merge"}, "only the first training counts"


@pytest.mark.parametrize(
    "other",
    [{"pattern": "cl100k"}, {"special_tokens": ["<s>"]}, {"corpus_specials": "split"}, {"input_errors": "replace"}],
)
def test_the_checkpoint_of_another_configuration_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    Tokenizer.train_files(FILES, 258, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match=r"another pattern.*another checkpoint path"):
        Tokenizer.train_files(FILES, 258, checkpoint=tmp_path / "checkpoint", **other)


def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"thesis\.txt"):
        Tokenizer.train_files(FILES, 258, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FileNotFoundError):
        Tokenizer.train_files(FILES, 258, checkpoint=tmp_path / "no" / "parent")
    with pytest.raises((FileExistsError, NotADirectoryError)):
        Tokenizer.train_files(FILES, 258, checkpoint=tmp_path / "thesis.txt")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file with a checkpoint."""
    file = tmp_path / "corpus.txt"
    file.write_text(TEXTS[0])
    Tokenizer.train_files(file, 270, checkpoint=tmp_path / "checkpoint")
    return file


def resumed(corpus: Path) -> Tokenizer:
    return Tokenizer.train_files(corpus, 270, checkpoint=corpus.parent / "checkpoint")


@pytest.mark.parametrize("name", ["corpus.txt", "corpus.jsonl"])
@pytest.mark.parametrize("keeps_size", [False, True])
def test_a_corpus_that_changed_is_refused(tmp_path: Path, name: str, keeps_size: bool) -> None:
    corpus = tmp_path / name
    corpus.write_text('{"text": "the cat"}\n')
    resumed(corpus)
    assert resumed(corpus) == resumed(corpus)
    status = corpus.stat()
    corpus.write_text('{"text": "the rat"}\n' if keeps_size else '{"text": "the cat!"}\n')
    if keeps_size:
        os.utime(corpus, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CheckpointError, match=r"the corpus has changed.*delete the folder"):
        resumed(corpus)


def test_another_time_is_refused_only_if_content_is_unknown(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(corpus, ns=(2, 2))
    assert resumed(corpus) == Tokenizer.train(TEXTS[0], 270)
    monkeypatch.setattr("pairloom.corpus.fingerprint._MAX_DIGESTED_BYTES", 10)
    shutil.rmtree(tmp_path / "checkpoint")
    assert resumed(corpus) == resumed(corpus)
    os.utime(corpus, ns=(1, 1))
    with pytest.raises(CheckpointError, match="the corpus has changed"):
        resumed(corpus)


def test_a_corpus_of_other_files_is_refused(corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(TEXTS[0])
    for files in ([corpus, other], other):
        with pytest.raises(CheckpointError, match="another corpus"):
            Tokenizer.train_files(files, 270, checkpoint=tmp_path / "checkpoint")
    corpus.unlink()
    with pytest.raises(FileNotFoundError, match="corpus"):
        resumed(corpus)


def test_a_corpus_that_changes_while_it_is_counted_is_refused(corpus: Path, tmp_path: Path) -> None:
    def grow(event: ProgressEvent) -> None:
        if event.stage == "count" and event.done:
            corpus.write_text(TEXTS[0] + "more")

    with pytest.raises(CheckpointError, match="while it was counted"):
        Tokenizer.train_files(corpus, 270, checkpoint=tmp_path / "new", progress=grow)
    assert not (tmp_path / "new").exists()


def test_a_pipe_has_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for corpus in (tmp_path / "pipe.txt", "-"):
        with pytest.raises(CheckpointError, match="cannot check that a pipe sends the same"):
            Tokenizer.train_files(corpus, 280, checkpoint=tmp_path / "checkpoint")


def test_a_folder_takes_one_training_at_a_time(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"

    def at_work(event: ProgressEvent) -> None:
        with pytest.raises(FileExistsError, match="another run is writing here"):
            Tokenizer.train_files(FILES, 280, checkpoint=checkpoint)

    first = Tokenizer.train_files(FILES, 280, checkpoint=checkpoint, progress=at_work)
    assert first == Tokenizer.train_files(FILES, 280, checkpoint=checkpoint) == Tokenizer.train(TEXTS, 280)


@pytest.mark.filterwarnings("ignore")
def test_a_process_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    children: list[int] = []

    def fork(event: ProgressEvent) -> None:
        if not children:
            children.append(os.fork())
            if not children[0]:
                time.sleep(60)
                os._exit(0)

    for progress in (fork, None):
        Tokenizer.train_files(FILES, 280, checkpoint=tmp_path / "checkpoint", progress=progress)
    os.kill(children[0], signal.SIGKILL)
    os.waitpid(children[0], 0)


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
        Tokenizer.train_files(FILES, 280, checkpoint=tmp_path / "checkpoint", progress=fail)
    stages = set()
    again = Tokenizer.train_files(
        FILES, 280, checkpoint=tmp_path / "checkpoint", progress=lambda e: stages.add(e.stage)
    )
    assert again == Tokenizer.train(TEXTS, 280)
    assert stages == {"merge"}


def _counts_in(checkpoint: Path) -> Path:
    (file,) = checkpoint.iterdir()
    return file


def test_damaged_counts_are_refused_with_the_remedy(tmp_path: Path) -> None:
    # The tests of counts damage files in every way.
    checkpoint = tmp_path / "checkpoint"
    Tokenizer.train_files(FILES, 280, checkpoint=checkpoint)
    file = _counts_in(checkpoint)
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"counts-.*; delete the folder to count again"):
            Tokenizer.train_files(FILES, 280, checkpoint=checkpoint)


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    Tokenizer.train_files(FILES, 280, checkpoint=checkpoint)
    name = _counts_in(checkpoint).name
    (checkpoint / f".{name}.0123456789abcdef").write_bytes(b"half")
    Tokenizer.train_files(FILES, 280, checkpoint=checkpoint)
    assert _counts_in(checkpoint).name == name
