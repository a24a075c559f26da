"""How `max_memory` of a run that writes shards is divided.

    3/16  the encoder's cache (bounded by 1/8, and half as much again while its table is replaced)
    of the rest, without what the writer of Parquet takes:
    3/4   blocks of text and their ids, on their way between reading, encoding and writing; ids of long documents
    1/4   what a decompressor keeps (its window), or pyarrow of a batch

The size of a block is such that its share is enough even where each document is one letter. Beside the limit there are
the tokenizer, the interpreter with what it imported, the list of inputs, and pages of mapped files.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pairloom._internal.arguments import check_max_memory
from pairloom.corpus.compression import PIECE_BYTES
from pairloom.shards.writers import parquet

__all__ = ["MemoryPlan", "memory_plan"]

LEAST_BYTES: Final = 16_000_000
# Of a byte of text where each document is one letter and a separator: offsets take most.
_BYTES_PER_BYTE_OF_TEXT: Final = 64
_THREADS_BYTES: Final = 2_000_000


class MemoryPlan(NamedTuple):
    """The shares of a run: max_memory as the user gave it, of which `n_fixed` bytes are the writer's."""

    max_memory: int
    n_fixed: int

    @property
    def n_held(self) -> int:
        """What is not for text and ids, whatever the corpus: the cache, the writer, stacks and buffers of threads."""
        return self.max_memory * 3 // 16 + self.n_fixed + _THREADS_BYTES

    @property
    def _n_shared(self) -> int:
        return self.max_memory - self.n_held

    @property
    def decoder_bytes(self) -> int:
        """The most that a decompressor may take."""
        return self._n_shared // 4

    @property
    def piece_bytes(self) -> int:
        """How much text a block holds, about."""
        return max(min(self._n_shared * 3 // 4 // _BYTES_PER_BYTE_OF_TEXT, PIECE_BYTES), 1 << 15)

    @property
    def unwritten_bytes(self) -> int:
        """So many bytes of ids may wait to be written while more are made."""
        return self._n_shared // 16


def memory_plan(max_memory: Any, format: str) -> MemoryPlan | None:
    """The shares of `max_memory`, None for no limit; MemoryError where it is too low for any corpus."""
    checked = check_max_memory(max_memory)
    if checked is None:
        return None
    n_fixed = parquet.MOST_BYTES if format == "parquet" else 0
    least = LEAST_BYTES + n_fixed * 5 // 4
    if checked < least:
        raise MemoryError(f"max_memory={checked} is too low: writing shards of format {format} takes {least:,} bytes")
    return MemoryPlan(checked, n_fixed)
