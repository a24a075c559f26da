"""The public fixtures of the CS336 assignment, reproduced exactly."""

from pathlib import Path

import pytest
import tiktoken

from pairloom import Tokenizer, train_bpe
from tests.cases import CS336, CS336_SAMPLES


@pytest.fixture(scope="module")
def gpt2() -> Tokenizer:
    if not CS336.exists():
        pytest.skip(f"the CS336 fixtures are not at {CS336}")
    return Tokenizer.from_files(CS336 / "gpt2_vocab.json", CS336 / "gpt2_merges.txt", ["<|endoftext|>"])


@pytest.fixture(scope="module")
def peer(gpt2: Tokenizer) -> tiktoken.Encoding:
    """tiktoken over the same ranks, made without a network."""
    ranks = {token: token_id for token_id, token in gpt2.vocab.items() if token_id != 50256}
    return tiktoken.Encoding(
        "gpt2", pat_str=str(gpt2.pattern), mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256}
    )


def test_the_reference_merges_and_vocabulary(cs336: Path) -> None:
    vocab, merges = train_bpe(cs336 / "corpus.en", 500, ["<|endoftext|>"])
    files = (cs336 / "train-bpe-reference-vocab.json", cs336 / "train-bpe-reference-merges.txt")
    published = Tokenizer.from_files(*files, ["<|endoftext|>"])
    assert merges == published.merges
    assert set(vocab) == set(published.vocab) and set(vocab.values()) == set(published.vocab.values())


@pytest.mark.parametrize("name", [*CS336_SAMPLES, "corpus.en"])
def test_ids_equal_tiktokens(gpt2: Tokenizer, peer: tiktoken.Encoding, cs336: Path, name: str) -> None:
    text = (cs336 / name).read_bytes().decode()
    ids = peer.encode(text, allowed_special="all")
    assert gpt2.encode(text) == ids
    assert gpt2.encode_file(cs336 / name).tolist() == ids
    with (cs336 / name).open(encoding="utf-8", newline="") as lines:
        assert list(gpt2.encode_iterable(lines)) == ids
    assert gpt2.decode(ids) == text
    assert gpt2.encode_ordinary(text) == peer.encode_ordinary(text)


def test_train_bpe_equals_train_files_with_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat<|end|>the mat<|pad|> the rat", encoding="utf-8")
    specials = ["<|end|>", "<|pad|>"]
    for special_ids in ("first", "after_bytes", "last"):
        vocab, merges = train_bpe(path, 262, specials, special_ids=special_ids)
        tokenizer = Tokenizer.train_files(path, 262, "cs336", special_tokens=specials, special_ids=special_ids)
        assert (list(vocab.items()), merges) == (list(tokenizer.vocab.items()), tokenizer.merges)
