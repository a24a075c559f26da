"""The huggingface profile learns what the `tokenizers` package's own trainer learns."""

import pytest
from tokenizers import Tokenizer as Peer
from tokenizers import models, pre_tokenizers, trainers

from pairloom import Tokenizer
from tests.parity.texts import library_files

N_BYTES = 3_000_000
VOCAB_SIZE = 4257  # one special token, 256 bytes, 4,000 merges


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    """Returns three megabytes of the standard library's sources, one document per file."""
    return list(library_files(N_BYTES))


def test_the_same_four_thousand_merges(corpus: list[str]) -> None:
    peer = Peer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator(corpus, trainer)
    ours = Tokenizer.train(corpus, VOCAB_SIZE, "huggingface", special_tokens=["<|endoftext|>"])
    assert len(ours.merges) == 4000
    assert ours.as_huggingface().get_vocab() == peer.get_vocab()
    sample = corpus[0]
    assert ours.encode_ordinary(sample) == peer.encode(sample).ids
