"""Schema 1 of the native file: a trained tokenizer of profile "bpetite", readable by a person.

One JSON object with exactly these keys: schema_version (1), mergeable_vocab_size (256 plus the number of merges),
pretokenizer_pattern (GPT-2's), vocab ({"id": [byte, ...]}, including the special token), merges ([[left id, right id],
...]; rank r produces id 256 + r) and special_tokens ({"<|endoftext|>": mergeable_vocab_size}). It equals the file that
bpetite writes, byte for byte. docs/formats.md specifies it in full.
"""

from __future__ import annotations

import json
from itertools import chain

from pairloom.model import Model
from pairloom.patterns import GPT2

__all__ = ["KEYS", "SPECIAL", "expresses", "write"]

KEYS = frozenset(
    ("mergeable_vocab_size", "merges", "pretokenizer_pattern", "schema_version", "special_tokens", "vocab")
)
SPECIAL = "<|endoftext|>"


def expresses(model: Model) -> bool:
    """Whether schema 1 can express `model` completely."""
    n = 256 + model.columns.n_merges
    return (
        model.rule == "pairs"
        and not model.ignore_merges
        and model.decode_errors == "strict"
        and not model.plain_specials
        and model.post_processor is None
        and model.tokenizer_config is None
        and not model.normalizer
        and not model.special_rules
        and _was_trained_by_bpetite(model)
        and model.pattern == GPT2
        and model.special_tokens == {SPECIAL: n}
        and _ids_are_bytes_and_ranks(model, n)
    )


def _ids_are_bytes_and_ranks(model: Model, n: int) -> bool:
    import numpy as np

    return (
        np.array_equal(model.token_ids, np.arange(n))
        and np.array_equal(model.token_ends[:256], np.arange(1, 257))
        and model.token_bytes[:256] == bytes(range(256))
        and np.array_equal(model.merges[:, 2], np.arange(256, n))
        and bool((model.merges[:, :2] < model.merges[:, 2:]).all())
    )


def _was_trained_by_bpetite(model: Model) -> bool:
    """Whether training continues by profile "bpetite"; how the corpus was read is told whenever it is."""
    record: dict[str, object] = json.loads(model.training or "{}")
    return record.pop("profile", "bpetite") == "bpetite" and record.keys() <= {"corpus_specials", "input_errors"}


def write(model: Model) -> bytes:
    """The canonical file: sorted keys, no spaces."""
    n = 256 + len(model.merges)
    ends = model.token_ends.tolist()
    blob = model.token_bytes
    vocab = {
        str(token_id): list(blob[start:end])
        for token_id, (start, end) in enumerate(zip(chain((0,), ends), ends, strict=False))
    }
    vocab[str(n)] = list(SPECIAL.encode())
    file = {
        "mergeable_vocab_size": n,
        "merges": model.merges[:, :2].tolist(),
        "pretokenizer_pattern": model.pattern,
        "schema_version": 1,
        "special_tokens": {SPECIAL: n},
        "vocab": vocab,
    }
    return json.dumps(file, sort_keys=True, separators=(",", ":")).encode()
