"""On random corpora, the core learns and encodes exactly like the reference."""

import random
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer
from pairloom.reference import encoder, naive
from pairloom.reference.incremental import BPETrainer
from tests.corpora import ALPHABETS, random_documents
from tests.parity.texts import library_files


def fields(draw: random.Random) -> dict[str, Any]:
    return {
        "special_tokens": draw.choice([(), ("<|endoftext|>",), ("a", "ab"), (" c", "at", "<s>")]),
        "special_ids": draw.choice(["last", "after_bytes", "first"]),
        "byte_order": draw.choice(["value", "gpt2"]),
        "specials_counted": draw.choice([False, True]),
        "corpus_specials": draw.choice(["text", "split"]),
        "tie_break": draw.choice(["ids_least", "bytes_greatest"]),
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
    counts = PretokenCounts.from_texts(
        documents,
        special_tokens=chosen["special_tokens"],
        corpus_specials=chosen["corpus_specials"],
        threads=draw.choice([1, 2, 3, 7]),
    )
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


@pytest.mark.filterwarnings("ignore:the corpus holds")
@pytest.mark.parametrize(
    "block", [*range(20), *(pytest.param(block, marks=pytest.mark.slow) for block in range(20, 120))]
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
