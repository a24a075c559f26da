"""Writes pairloom's own file: schema 1 if it can express the model, else schema 2. docs/formats.md specifies both.

Schema 1 is bpetite's format, byte for byte: readable by people, and only for a tokenizer trained with profile
"bpetite". Schema 2 holds every Model and is compact and fast to load. Equal models give equal bytes. The core reads
both.
"""

import json
from itertools import chain

from pairloom._core import UNICODE_VERSION
from pairloom.model import Model
from pairloom.patterns import GPT2

_SPECIAL = "<|endoftext|>"
_OPTIONAL_KEYS = ("normalizer", "post_processor", "special_rules", "tokenizer_config", "training")


def write(model: Model) -> bytes:
    """Returns the canonical file: sorted keys, no spaces, ASCII."""
    return _schema1(model) if _is_schema1(model) else _schema2(model)


def _is_schema1(model: Model) -> bool:
    """Returns whether schema 1 can express `model` completely."""
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
        and model.special_tokens == {_SPECIAL: n}
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
    """Returns whether training continues with profile "bpetite"; how the corpus is read is passed again anyway."""
    record: dict[str, object] = json.loads(model.training or "{}")
    return record.pop("profile", "bpetite") == "bpetite" and record.keys() <= {"corpus_specials", "input_errors"}


def _schema1(model: Model) -> bytes:
    """Lists every token's bytes, the special token's too; the merge of rank r makes id 256 + r."""
    n = 256 + len(model.merges)
    tokens = {**model.tokens(), n: _SPECIAL.encode()}
    file = {
        "mergeable_vocab_size": n,
        "merges": model.merges[:, :2].tolist(),
        "pretokenizer_pattern": model.pattern,
        "schema_version": 1,
        "special_tokens": {_SPECIAL: n},
        "vocab": {str(token_id): list(token) for token_id, token in tokens.items()},
    }
    return _json(file)


def _schema2(model: Model) -> bytes:
    """Omits tokens that merges make; the others are in one base64 string, with their ids and lengths in lists."""
    file = {
        "decode_errors": model.decode_errors,
        "ignore_merges": model.ignore_merges,
        "pattern": model.pattern,
        "plain_specials": sorted(model.plain_specials),
        "rule": model.rule,
        "schema_version": 2,
        "special_tokens": dict(model.special_tokens),
        "unicode_version": UNICODE_VERSION,
    }
    for key in _OPTIONAL_KEYS:
        if value := getattr(model, key):
            file[key] = list(chain(*value)) if key == "special_rules" else value
    values = {key: _json(value) for key, value in file.items()} | model.columns.lists()
    return b"{" + b",".join(b'"%s":%s' % (key.encode(), values[key]) for key in sorted(values)) + b"}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
