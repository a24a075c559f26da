"""The public CS336 fixtures: 243 merges, the vocabulary, GPT-2's ids on every sample."""

import pytest
import tiktoken

from pairloom.patterns import GPT2
from pairloom.reference.encoder import decode, encode
from pairloom.reference.incremental import BPETrainer
from pairloom.reference.naive import NaiveTrainer
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.vocabulary import Merge, Model
from tests.cases import CS336, CS336_SAMPLES, ENDOFTEXT, model, read_gpt2_merges

pytestmark = pytest.mark.skipif(not CS336.exists(), reason=f"the CS336 fixtures are not at {CS336}")


@pytest.mark.long
def test_the_naive_trainer_learns_the_first_reference_merges() -> None:
    trained = NaiveTrainer().train(CS336 / "corpus.en", 300, [ENDOFTEXT])
    assert trained.merges_as_bytes() == read_gpt2_merges(CS336 / "train-bpe-reference-merges.txt")[:43]
    assert trained.special_tokens == {ENDOFTEXT: 256}
    assert sorted([*trained.vocab, 256]) == list(range(300))


def test_the_incremental_trainer_learns_the_reference_merges() -> None:
    counts = count_pretokens([(CS336 / "corpus.en").read_bytes().decode()])
    words = [list(pretoken) for pretoken, n in counts.items() for _ in range(n)]
    trainer = BPETrainer({byte: bytes([byte]) for byte in range(256)}, words)
    pairs = [(trainer.vocab[left], trainer.vocab[right]) for left, right, _ in trainer.train(243)]
    assert pairs == read_gpt2_merges(CS336 / "train-bpe-reference-merges.txt")


@pytest.mark.parametrize("sample", CS336_SAMPLES)
def test_gpt2_ids_are_those_of_tiktoken(sample: str) -> None:
    found = model("gpt2")
    assert found is not None
    gpt2 = Model(found.vocab, [Merge(*merge) for merge in found.merges], found.special_tokens)
    ranks = {token: token_id for token_id, token in found.vocab.items()}
    peer = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens=found.special_tokens)
    text = (CS336 / sample).read_bytes().decode()
    ids = encode(text, gpt2)
    assert ids == peer.encode(text, allowed_special="all")
    assert decode(ids, gpt2) == text
