"""Encoding with BPE-dropout; `pairloom.reference.dropout` defines it."""

from typing import Any

from pairloom import _core
from pairloom._internal.arguments import LARGEST_INT, check_int, shown

_DRAW_BITS = 53


def encode(core: _core.Encoder, text: str, policy: _core.SpecialPolicy | None, dropout: Any, seed: Any) -> list[int]:
    """Returns the ids of `text`; at each step, every possible merge is skipped with probability `dropout`."""
    if dropout is None:
        raise ValueError("seed needs dropout; pass dropout=, a probability")
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
        raise TypeError(f"dropout must be a float, not {type(dropout).__name__}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout is {shown(dropout)}, but must be a probability, from 0 to 1")
    if seed is None:
        raise ValueError(
            "dropout needs seed=, an integer; equal seeds produce equal ids, so pass a different one for each text "
            "and epoch"
        )
    check_int("seed", seed, least=0, most=LARGEST_INT)
    if dropout == 0:
        return core.encode(text, policy)
    return core.encode_with_dropout(text, int(dropout * 2**_DRAW_BITS), seed, policy)
