"""`train_bpe` with the signature and results of Stanford CS336, assignment 1."""

import os
from collections.abc import Sequence
from typing import Any

from pairloom._internal.progress import Progress
from pairloom.training.config import TrainingConfig
from pairloom.training.train import train_on_files


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **fields: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Trains on one file with profile "cs336"; returns the vocabulary (id -> bytes) and the merges as byte pairs.

    Merges are in rank order. The text is split on the special tokens, which vocab_size counts. Ties go to the greatest
    byte pair.
    Options and errors are those of `Tokenizer.train_files`. Source: Stanford CS336, assignment 1, `train_bpe`.
    """
    config = TrainingConfig.from_profile("cs336", special_tokens=special_tokens, **fields)
    model = train_on_files(
        input_path,
        vocab_size,
        config,
        threads=threads,
        progress=progress,
        max_memory=max_memory,
        checkpoint=checkpoint,
    )
    tokens = model.tokens()
    merges = [(tokens[left], tokens[right]) for left, right, _ in model.merges.tolist()]
    tokens.update((token_id, token.encode()) for token, token_id in model.special_tokens.items())
    return dict(sorted(tokens.items())), merges
