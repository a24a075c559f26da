"""Schema 2 of the native file: everything that a Model can hold, compact and fast to load.

One JSON object; docs/formats.md specifies every key. Tokens that merges produce are not listed: their bytes are those
of the merge's parts. The others are: `token_ids` as runs (first, count, first, count, ...), `token_lengths`, and
`token_bytes` as one base64 string. `merges` is flat (left, right, left, right, ...) in rank order, and `made_ids` holds
the merged ids as runs.
"""

from __future__ import annotations

import json
from itertools import chain

from pairloom._core import UNICODE_VERSION
from pairloom.model import Model

__all__ = ["KEYS", "LONGEST_DERIVED", "OPTIONAL_KEYS", "UNICODE_VERSION", "write"]

KEYS = frozenset(
    (
        "decode_errors",
        "ignore_merges",
        "made_ids",
        "merges",
        "pattern",
        "plain_specials",
        "rule",
        "schema_version",
        "special_tokens",
        "token_bytes",
        "token_ids",
        "token_lengths",
        "unicode_version",
    )
)
OPTIONAL_KEYS = frozenset(("normalizer", "post_processor", "special_rules", "tokenizer_config", "training"))
LONGEST_DERIVED = 256
"""A token longer than this is listed though a merge makes it: else forty doublings would ask for a terabyte."""


def write(model: Model) -> bytes:
    """The canonical file: sorted keys, no spaces, ASCII."""
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
    for key in sorted(OPTIONAL_KEYS):
        if value := getattr(model, key):
            file[key] = list(chain(*value)) if key == "special_rules" else value
    values = {key: json.dumps(value, sort_keys=True, separators=(",", ":")).encode() for key, value in file.items()}
    values |= model.columns.lists()
    return b"{" + b",".join(b'"%s":%s' % (key.encode(), values[key]) for key in sorted(values)) + b"}"
