"""CountBuilder: counts out of batches, as a worker of an engine gets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pairloom._internal.arguments import check_texts
from pairloom.counts.count_sum import CountSum
from pairloom.counts.metadata import checked_metadata
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import Pattern

__all__ = ["CountBuilder"]


class CountBuilder:
    """Adds up batches of documents and counts in place; `finish` gives the counts and ends the builder.

    CountBuilder(pattern="gpt2", *, special_tokens=(), corpus_specials="text", threads=0, max_memory=None); the
    arguments are those of `PretokenCounts.from_texts`. Memory grows with the distinct pretokens only; MemoryError is
    raised before `max_memory` bytes. After an error while a batch was counted, which is then counted in part, `finish`
    is a CountsError too; a batch that was refused before is left out.
    """

    __slots__ = ("_sum",)

    def __init__(
        self,
        pattern: Pattern = "gpt2",
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
        threads: int = 0,
        max_memory: int | None = None,
    ) -> None:
        metadata = checked_metadata(pattern, special_tokens, corpus_specials)
        self._sum = CountSum(metadata, threads=threads, max_memory=max_memory)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Counts texts, each a document; of an iterable that is no list a few megabytes are held at a time."""
        check_texts("texts", texts)
        self._sum.add_texts(texts)

    def add_arrow(self, texts: Any) -> None:
        """Counts the rows of an Arrow column of text, as `Tokenizer.encode_arrow` takes it; nulls are left out."""
        self._sum.add_column(texts)

    def add_counts(self, counts: Any) -> None:
        """Adds PretokenCounts, or an Arrow table as `PretokenCounts.from_arrow` takes it.

        Raises CountsError for counts that were made in another way or pruned.
        """
        if isinstance(counts, PretokenCounts):
            self._sum.add_counts(counts.columns, counts.metadata)
        else:
            self._sum.add_tables([counts], "counts")

    def finish(self) -> PretokenCounts:
        """The counts of everything given; RuntimeError the second time."""
        return PretokenCounts._summed(self._sum)
