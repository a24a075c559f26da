"""On random corpora the core learns and encodes like the reference; the huggingface profile learns like tokenizers."""

import random
from typing import Any

import pytest
from tokenizers import Tokenizer as Peer
from tokenizers import models, pre_tokenizers, trainers

from pairloom import PretokenCounts, Tokenizer
from pairloom.patterns import PATTERNS
from pairloom.reference import encoder, naive
from pairloom.reference.incremental import BPETrainer
from tests.corpora import ALPHABETS, random_documents
from tests.parity.texts import library_files


def fields(draw: random.Random) -> dict[str, Any]:
    return {
        "pattern": draw.choice([*PATTERNS, "gpt2"]),
        "special_tokens": draw.choice([(), ("<|endoftext|>",), ("a", "ab"), (" c", "at", "<s>")]),
        "special_ids": draw.choice(["last", "after_bytes", "first"]),
        "byte_order": draw.choice(["value", "gpt2"]),
        "specials_counted": draw.choice([False, True]),
        "corpus_specials": draw.choice(["text", "split"]),
        "tie_break": draw.choice(["ids_least", "bytes_greatest", "first_seen"]),
        "min_frequency": draw.choice([1, 1, 1, 2, 3]),
        "max_token_bytes": draw.choice([None, None, 2, 3, 5]),
    }


def compare(seed: int) -> None:
    draw = random.Random(seed)
    alphabet = draw.choice(list(ALPHABETS.values()))
    documents = random_documents(draw, alphabet)
    chosen = fields(draw)
    vocab_size = 256 + len(chosen["special_tokens"]) + draw.randrange(40)
    expected = naive.train(documents, vocab_size, **chosen)
    if chosen["tie_break"] == "first_seen":
        # Counts do not say in which order they were seen.
        tokenizer = Tokenizer.train(documents, vocab_size, **chosen)
    else:
        how = {name: chosen[name] for name in ("pattern", "special_tokens", "corpus_specials")}
        counts = PretokenCounts.from_texts(documents, threads=draw.choice([1, 2, 3, 7]), **how)
        tokenizer = Tokenizer.train_from_counts(counts, vocab_size, threads=draw.choice([1, 2, 3, 7]), **chosen)
    assert tokenizer.model.merges.tolist() == [list(merge) for merge in expected.merges], seed
    assert tokenizer.model.tokens() == expected.vocab, seed
    assert tokenizer.special_tokens == expected.special_tokens, seed
    unseen = "".join(random_documents(draw, alphabet)) + "".join(draw.choices([*chosen["special_tokens"], " x"], k=4))
    ids = encoder.encode(unseen, expected)
    assert tokenizer.encode(unseen) == ids, seed
    assert tokenizer.encode_batch_to_numpy([unseen] * 3, threads=3)[0].tolist() == ids * 3, seed
    cut = draw.randrange(len(unseen) + 1)
    assert list(tokenizer.encode_iterable([unseen[:cut], unseen[cut:]])) == ids, seed
    assert tokenizer.count_tokens(unseen) == len(ids), seed
    assert tokenizer.decode(ids) == unseen, seed


LONG, SLOW = (pytest.mark.long, range(5, 20)), (pytest.mark.slow, range(20, 120))


@pytest.mark.filterwarnings("ignore:the corpus holds")
@pytest.mark.parametrize(
    "block", [*range(5), *(pytest.param(n, marks=mark) for mark, blocks in (LONG, SLOW) for n in blocks)]
)
def test_random_corpora(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        compare(seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_four_megabytes_to_three_thousand_merges() -> None:
    documents = list(library_files(4_000_000))
    words = [list(pretoken) for document in documents for pretoken in naive.pretokenize(document)]
    trainer = BPETrainer({byte: bytes([byte]) for byte in range(256)}, words)
    trainer.train(3000)
    tokenizer = Tokenizer.train(documents, 256 + 3000, "cs336")
    assert [bytes(token) for token in tokenizer.vocab.values()] == list(trainer.vocab.values())


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
