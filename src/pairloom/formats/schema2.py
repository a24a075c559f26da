"""Schema 2 of the native file: everything that a Model can hold, compact and fast to load.

One JSON object; docs/formats.md specifies every key. Tokens that merges produce are not listed: their bytes are those
of the merge's parts. The others are: `token_ids` as runs (first, count, first, count, ...), `token_lengths`, and
`token_bytes` as one base64 string. `merges` is flat (left, right, left, right, ...) in rank order, and `made_ids` holds
the merged ids as runs.
"""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import chain
from typing import TYPE_CHECKING, Any

from pairloom._core import UNICODE_VERSION
from pairloom.model import Model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.integer[Any]]
else:
    from pairloom._internal.lazy import numpy as np

__all__ = ["KEYS", "LONGEST_DERIVED", "OPTIONAL_KEYS", "UNICODE_VERSION", "write"]

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
OPTIONAL_KEYS = frozenset(("normalizer", "post_processor", "special_rules", "tokenizer_config"))
LONGEST_DERIVED = 256
"""A token longer than this is listed though a merge makes it: else forty doublings would ask for a terabyte."""


def write(model: Model) -> bytes:
    """The canonical file: sorted keys, no spaces, ASCII."""
    listed = _listed(model)
    ends = model.token_ends.astype(np.int64)
    lengths = np.diff(ends, prepend=0)[listed].tolist()
    cuts = zip((ends[listed] - lengths).tolist(), ends[listed].tolist(), strict=True)
    file = {
        "decode_errors": model.decode_errors,
        "made_ids": _runs(model.merges[:, 2]),
        "merges": model.merges[:, :2].ravel().tolist(),
        "pattern": model.pattern,
        "plain_specials": sorted(model.plain_specials),
        "rule": model.rule,
        "schema_version": 2,
        "special_tokens": dict(model.special_tokens),
        "token_bytes": b64encode(b"".join(model.token_bytes[start:end] for start, end in cuts)).decode(),
        "token_ids": _runs(model.token_ids[listed]),
        "token_lengths": lengths,
        "unicode_version": UNICODE_VERSION,
        "whole_first": model.ignore_merges,
    }
    for key in sorted(OPTIONAL_KEYS):
        if value := getattr(model, key):
            file[key] = list(chain(*value)) if key == "special_rules" else value
    return json.dumps(file, sort_keys=True, separators=(",", ":")).encode()


def _listed(model: Model) -> Ids:
    """Indices of the tokens whose bytes a reader cannot derive from the merges in one pass in rank order."""
    left, right, merged_ids = np.searchsorted(model.token_ids, model.merges).T
    # The row that first makes a token: -1 if none does, for then it is listed and known from the beginning.
    first = np.full(len(model.token_ids), -1)
    rows = np.arange(len(merged_ids))
    first[merged_ids[::-1]] = rows[::-1]
    lengths = np.diff(model.token_ends.astype(np.int64), prepend=0)
    is_listed = (first < 0) | (lengths > LONGEST_DERIVED)
    # A merge whose parts are made by later rows, or by itself, derives nothing.
    too_early = (first[merged_ids] == rows) & ((first[left] >= rows) | (first[right] >= rows))
    is_listed[merged_ids[too_early]] = True
    return np.flatnonzero(is_listed)


def _runs(ids: Ids) -> list[int]:
    """Ids as (first, count, first, count, ...).

    >>> _runs(np.array([3, 4, 5, 9]))
    [3, 3, 9, 1]
    """
    begins = np.flatnonzero(np.diff(ids.astype(np.int64), prepend=-2) != 1)
    counts = np.diff(begins, append=len(ids))
    return np.stack([ids[begins], counts], axis=1).ravel().tolist()
