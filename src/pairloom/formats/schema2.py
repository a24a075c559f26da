"""Schema 2 of the native file: everything that a Model can hold, compact and quick to load.

One JSON object; docs/formats.md states every key. Tokens that merges make are not spelt out: a merge's bytes are those
of its parts. What is left is listed: `token_ids` as runs (first, count, first, count, ...), `token_lengths` and, all in
one base64 string, `token_bytes`. `merges` is flat (left, right, left, right, ...) in rank order and `made_ids` are the
ids that they make, as runs.
"""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import chain

from pairloom.model import Model

__all__ = ["KEYS", "LONGEST_DERIVED", "UNICODE_VERSION", "write"]

KEYS = frozenset(
    (
        "decode_errors",
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
        "whole_first",
    )
)
UNICODE_VERSION = "16.0.0"
LONGEST_DERIVED = 256
"""A token longer than this is listed though a merge makes it: else forty doublings would ask for a terabyte."""


def write(model: Model) -> bytes:
    """The canonical file: sorted keys, no spaces, ASCII."""
    tokens = model.tokens()
    rows = model.merges.tolist()
    listed = sorted(_listed(tokens, rows))
    file = {
        "decode_errors": model.decode_errors,
        "made_ids": _runs([made for _, _, made in rows]),
        "merges": list(chain.from_iterable((left, right) for left, right, _ in rows)),
        "pattern": model.pattern,
        "plain_specials": sorted(model.plain_specials),
        "rule": model.rule,
        "schema_version": 2,
        "special_tokens": model.special_tokens,
        "token_bytes": b64encode(b"".join(tokens[i] for i in listed)).decode(),
        "token_ids": _runs(listed),
        "token_lengths": [len(tokens[i]) for i in listed],
        "unicode_version": UNICODE_VERSION,
        "whole_first": model.whole_first,
    }
    return json.dumps(file, sort_keys=True, separators=(",", ":")).encode()


def _listed(tokens: dict[int, bytes], rows: list[list[int]]) -> set[int]:
    """The ids whose bytes a reader cannot derive by going through the merges once, in rank order."""
    listed = tokens.keys() - {made for _, _, made in rows}
    known = set(listed)
    for left, right, made in rows:
        if made not in known:
            if left not in known or right not in known or len(tokens[made]) > LONGEST_DERIVED:
                listed.add(made)
            known.add(made)
    return listed


def _runs(ids: list[int]) -> list[int]:
    """Ids as (first, count, first, count, ...).

    >>> _runs([3, 4, 5, 9])
    [3, 3, 9, 1]
    """
    runs: list[int] = []
    previous = -2
    for token_id in ids:
        if token_id == previous + 1:
            runs[-1] += 1
        else:
            runs += (token_id, 1)
        previous = token_id
    return runs
