"""`train_bpe` with the signature and results of Stanford CS336, assignment 1.

It is a thin layer over `Tokenizer.train_files` with profile "cs336".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pairloom._internal.progress import Progress
from pairloom.tokenizer import Tokenizer

__all__ = ["train_bpe"]


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    *,
    threads: int = 0,
    progress: Progress = None,
    **fields: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Trains on one file under profile "cs336": the vocabulary (id -> bytes) and the merges (byte pairs) in order.

    The text is split on the special tokens, vocab_size counts them, and ties go to the greatest byte pair.
    Raises what `Tokenizer.train_files` raises. Source: Stanford CS336, assignment 1, `train_bpe`.
    """
    tokenizer = Tokenizer.train_files(
        input_path, vocab_size, "cs336", special_tokens=special_tokens, threads=threads, progress=progress, **fields
    )
    return tokenizer.vocab, tokenizer.merges
