"""Documents come out of a file as out of its whole text, whatever the size of the blocks."""

import random
from pathlib import Path

import pytest

from pairloom.reference.documents import documents_of, read_documents
from pairloom.reference.naive import NaiveTrainer, train
from tests.cases import PROFILES
from tests.corpora import random_documents

SPECIALS = ["<|end|>", "<|end|><|end|>", "<|", "文章"]


@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_any_size(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    pieces = [piece for document in random_documents(rng) for piece in (document, *rng.choices(SPECIALS, k=2))]
    text = "".join(pieces)
    path = tmp_path / "corpus.txt"
    path.write_bytes(text.encode())
    for specials in (SPECIALS, SPECIALS[:1], []):
        for block_bytes in (1, 2, 7, 64, 50_000):
            documents = list(read_documents(path, specials, block_bytes=block_bytes))
            assert documents == documents_of(text, specials)


def test_bytes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r<|end|>\r\n")
    assert list(read_documents(path, SPECIALS)) == ["\ufeffa\r\nb\r", "\r\n"]


@pytest.mark.parametrize("block_bytes", [1, 10, 50_000])
def test_a_byte_that_is_not_utf8_is_named(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc<|end|>\xc3\xa9\xff<|end|>")
    with pytest.raises(ValueError, match=r"corpus\.txt: byte 12 is not UTF-8"):
        list(read_documents(path, SPECIALS, block_bytes=block_bytes))
    replaced = read_documents(path, SPECIALS, block_bytes=block_bytes, input_errors="replace")
    assert list(replaced) == ["abc", "é\ufffd"]


def test_the_naive_trainer_streams_and_reports(tmp_path: Path) -> None:
    text = "<|end|>".join(["low low low", "lower lower", "newest newest newest", "widest"] * 5)
    path = tmp_path / "corpus.txt"
    path.write_text(text)
    trainer = NaiveTrainer(block_bytes=16)
    model = trainer.train(path, 280, ["<|end|>"])
    assert model == train(text, 280, **(PROFILES["cs336"] | {"special_tokens": ["<|end|>"]}))
    assert model.special_tokens == {"<|end|>": 256}
    assert list(trainer.seconds) == ["counting words", "counting pairs", "max", "updating"]
    assert all(seconds >= 0 for seconds in trainer.seconds.values())
    assert [line.split("  ")[0] for line in trainer.report().splitlines()] == [*trainer.seconds, "total"]
