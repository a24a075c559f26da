"""Batches of an iterable of str, so that each call into the core carries several megabytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pairloom._internal.arguments import check_str

__all__ = ["BATCH_CHARACTERS", "batches_of"]

BATCH_CHARACTERS = 4 << 20


def batches_of(texts: Iterable[str]) -> Iterator[list[str]]:
    """Lists of texts of about BATCH_CHARACTERS characters together."""
    batch: list[str] = []
    size = 0
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            check_str(f"texts[{index}]", text)
        batch.append(text)
        size += len(text) + 16
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
