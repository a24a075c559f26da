"""BPETrainer learns what the naive trainer learns, and keeps its three maps correct."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from pairloom.reference.incremental import BPETrainer
from pairloom.reference.naive import apply_merge, train
from pairloom.reference.pretokens import count_pretokens
from tests.corpora import random_documents

BYTES = {byte: bytes([byte]) for byte in range(256)}


def assert_maps_are_true(trainer: BPETrainer) -> None:
    """Compares the maps with a recount of all words."""
    pairs_of = {index: list(enumerate(pairwise(word))) for index, word in enumerate(trainer.words)}
    words_with: dict[tuple[int, int], set[int]] = {}
    for index, pairs in pairs_of.items():
        for _, pair in pairs:
            words_with.setdefault(pair, set()).add(index)
    assert trainer.word_pair_indices == pairs_of
    assert trainer.pair_counts == Counter(pair for pairs in pairs_of.values() for _, pair in pairs)
    assert trainer.pair_to_words == words_with
    assert 0 not in trainer.pair_counts.values()


def test_what_was_passed_never_changes() -> None:
    vocab, words = dict(BYTES), [list(b"aaa"), list(b"aaa")]
    trainer = BPETrainer(vocab, words)
    trainer.train(2)
    assert trainer.words == [[257], [257]]
    assert vocab == BYTES
    assert words == [list(b"aaa"), list(b"aaa")]


def test_no_pair_left() -> None:
    trainer = BPETrainer(BYTES, [list(b"ab"), [], [97]])
    assert len(trainer.train(10)) == 1
    assert trainer.get_best_pair() is None
    assert trainer.pair_counts == {}
    assert trainer.pair_to_words == {}


@pytest.mark.parametrize("seed", range(100))
def test_equals_the_naive_trainer(seed: int) -> None:
    documents = random_documents(random.Random(seed))
    counts = count_pretokens(documents)
    words = [list(pretoken) for pretoken, n in counts.items() for _ in range(n)]
    trainer = BPETrainer(BYTES, words)
    wanted = train(documents, 256 + 30, tie_break="bytes_greatest").merges
    for step, merge in enumerate(wanted):
        before = [list(word) for word in trainer.words]
        pair = trainer.get_best_pair()
        assert pair == (merge.left, merge.right), f"step {step}"
        assert trainer.merge_pair(pair) == merge.merged_id
        assert trainer.words == [apply_merge(word, pair, merge.merged_id) for word in before]
        assert_maps_are_true(trainer)
    assert trainer.merges == wanted
    assert len(wanted) == 30 or trainer.get_best_pair() is None
