"""A killed training goes on where it stopped and ends in the identical model."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.checkpoint import Checkpoint, CheckpointError

SCRIPT = """
import sys
from pairloom import Tokenizer
corpus, model, checkpoint = sys.argv[1:]
Tokenizer.train_files([corpus], 6000, checkpoint=checkpoint).save(model, overwrite=True)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(5)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 12))) for _ in range(30_000)]
    file = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    file.write_text(" ".join(draw.choices(words, k=400_000)))
    return file


def kill_and_resume(corpus: Path, folder: Path, times: int) -> None:
    expected = folder / "expected.json"
    Tokenizer.train_files([corpus], 6000).save(expected)
    draw = random.Random(times)
    for turn in range(times):
        checkpoint, model = folder / f"checkpoint{turn}", folder / f"model{turn}.json"
        command = [sys.executable, "-c", SCRIPT, str(corpus), str(model), str(checkpoint)]
        with subprocess.Popen(command) as process:
            time.sleep(draw.uniform(0.05, 1.0))
            process.send_signal(signal.SIGKILL)
        subprocess.run(command, check=True, timeout=120)
        assert model.read_bytes() == expected.read_bytes(), turn


def test_killed_and_resumed(corpus: Path, tmp_path: Path) -> None:
    kill_and_resume(corpus, tmp_path, times=3)


@pytest.mark.slow
def test_killed_and_resumed_twenty_times(corpus: Path, tmp_path: Path) -> None:
    kill_and_resume(corpus, tmp_path, times=20)


def test_merges_are_not_learned_twice_and_sizes_are_nested(tmp_path: Path) -> None:
    texts = ["the cat sat on the mat " * 5, "the dog sat on the log " * 3]
    checkpoint = tmp_path / "checkpoint"
    big = Tokenizer.train(texts, 280, checkpoint=checkpoint)
    stages: list[tuple[str, int]] = []
    again = Tokenizer.train([], 280, checkpoint=checkpoint, progress=lambda e: stages.append((e.stage, e.done)))
    assert again == big
    assert ("count", 0) not in stages
    assert Tokenizer.train([], 270, checkpoint=checkpoint) == Tokenizer.train(texts, 270)
    assert Tokenizer.train([], 290, checkpoint=checkpoint) == Tokenizer.train(texts, 290)


@pytest.mark.parametrize("n_lost", range(0, 60, 7))
def test_a_torn_record_is_dropped(tmp_path: Path, n_lost: int) -> None:
    texts = ["the cat sat on the mat " * 5]
    expected = Tokenizer.train(texts, 275, checkpoint=tmp_path / "checkpoint")
    merges = tmp_path / "checkpoint" / "merges"
    merges.write_bytes(merges.read_bytes()[: max(0, merges.stat().st_size - n_lost)] + b"\x05\0\0\0junk" * (n_lost % 2))
    assert Tokenizer.train(texts, 275, checkpoint=tmp_path / "checkpoint") == expected


def test_the_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    Tokenizer.train(["ab ab"], 258, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CheckpointError, match="min_frequency"):
        Tokenizer.train(["ab ab"], 258, checkpoint=tmp_path / "checkpoint", min_frequency=2)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"thesis\.txt"):
        Tokenizer.train(["ab ab"], 258, checkpoint=tmp_path / "full")
    with pytest.raises(FileNotFoundError):
        Tokenizer.train(["ab ab"], 258, checkpoint=tmp_path / "no" / "parent")


def test_counts_come_back_as_they_were(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "checkpoint", {"a": 1})
    assert kept.counts() is None
    counts = PretokenCounts.from_texts(["the cat", "the dog"])
    kept.keep_counts(counts)
    assert Checkpoint(tmp_path / "checkpoint", {"a": 1}).counts() == counts
