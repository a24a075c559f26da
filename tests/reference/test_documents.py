"""A file yields the same documents as its text."""

from pathlib import Path

import pytest

from pairloom.reference.documents import read_documents
from pairloom.reference.naive import NaiveTrainer, train
from tests.cases import PROFILES

SPECIALS = ["<|end|>", "<|end|><|end|>", "<|", "文章"]


def test_bytes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r<|end|>\r\n")
    assert read_documents(path, SPECIALS) == ["\ufeffa\r\nb\r", "\r\n"]


def test_a_byte_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc<|end|>\xc3\xa9\xff<|end|>")
    with pytest.raises(ValueError, match=r"corpus\.txt: byte 12 is not UTF-8"):
        read_documents(path, SPECIALS)


def test_the_naive_trainer_reports(tmp_path: Path) -> None:
    text = "<|end|>".join(["low low low", "lower lower", "newest newest newest", "widest"] * 5)
    path = tmp_path / "corpus.txt"
    path.write_text(text)
    trainer = NaiveTrainer()
    model = trainer.train(path, 280, ["<|end|>"])
    assert model == train(text, 280, **(PROFILES["cs336"] | {"special_tokens": ["<|end|>"]}))
    assert model.special_tokens == {"<|end|>": 256}
    assert list(trainer.seconds) == ["counting words", "counting pairs", "max", "updating"]
    assert all(seconds >= 0 for seconds in trainer.seconds.values())
    assert [line.split("  ")[0] for line in trainer.report().splitlines()] == [*trainer.seconds, "total"]
