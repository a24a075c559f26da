"""Properties of training and encoding that hold for any corpus."""

import itertools
import random
from typing import Any

import pytest

from pairloom.reference.encoder import encode_pretoken
from pairloom.reference.naive import apply_merge, train
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.vocabulary import Model
from tests.corpora import random_documents

SEEDS = range(60)


def random_model(seed: int, n_merges: int = 40) -> tuple[Model, list[str]]:
    """Returns a model trained on a random corpus with random options, and the corpus."""
    rng = random.Random(seed)
    documents = random_documents(rng)
    fields: dict[str, Any] = {
        "tie_break": rng.choice(["ids_least", "bytes_greatest"]),
        "byte_order": rng.choice(["value", "gpt2"]),
        "special_ids": rng.choice(["last", "after_bytes", "first"]),
        "min_frequency": rng.choice([1, 1, 2, 3]),
        "max_token_bytes": rng.choice([None, None, 2, 3, 9]),
    }
    return train(documents, 256 + n_merges, **fields), documents


def encode_by_rank(pretoken: bytes, model: Model) -> list[int]:
    """Encodes with one full pass from left to right for each merge, in rank order."""
    ids = [model.id_of_byte[byte] for byte in pretoken]
    for left, right, merged_id in model.merges:
        ids = apply_merge(ids, (left, right), merged_id)
    return ids


@pytest.mark.parametrize("seed", SEEDS)
def test_one_pass_per_rank_equals_lowest_rank_leftmost(seed: int) -> None:
    model, documents = random_model(seed)
    others = random_documents(random.Random(-seed - 1))
    for pretoken in itertools.chain(count_pretokens(documents), count_pretokens(others)):
        assert encode_pretoken(pretoken, model) == encode_by_rank(pretoken, model)
