"""Adds texts, columns of text and tables of counts, batch after batch, into one table of the core."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import check_max_memory, check_paths, resolve_threads
from pairloom.corpus.text_batches import batches_of
from pairloom.counts import file as counts_file
from pairloom.counts.metadata import CountsMetadata, stored_metadata
from pairloom.errors import CountsError
from pairloom.patterns import pattern_text

__all__ = ["CountSum", "count_batches", "parquet_files"]


class CountSum:
    """A sum of counts; memory grows with the distinct pretokens, and MemoryError is raised before `max_memory` bytes.

    metadata: None takes those of the first table.
    """

    def __init__(self, metadata: CountsMetadata | None, *, threads: int = 0, max_memory: int | None = None) -> None:
        self.metadata = metadata
        # By the totals (bytes, documents, literals) that tables carry: (tables that carry them, bytes that they count).
        self._totals: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._counter = _core.Counter(
            pattern=pattern_text("gpt2") if metadata is None else metadata.pattern,
            special_tokens=[] if metadata is None else list(metadata.special_tokens),
            split=metadata is not None and metadata.corpus_specials == "split",
            replace=False,
            threads=resolve_threads(threads),
            max_memory=check_max_memory(max_memory),
            report=None,
        )

    def add_texts(self, texts: Iterable[str]) -> None:
        """Counts texts, each a document; of an iterable that is no list a batch is held at a time."""
        if isinstance(texts, (list, tuple)):
            self._counter.count_texts(texts)
        else:
            count_batches(self._counter, texts)

    def add_column(self, texts: Any) -> None:
        """Counts the rows of an Arrow column of text."""
        self._counter.count_arrow(texts)

    def add_counts(self, columns: _core.PretokenCounts, metadata: CountsMetadata) -> None:
        """Adds counts."""
        self._agree(metadata)
        self._counter.add_counts(columns)

    def add_tables(self, tables: Iterable[Any], name: str) -> None:
        """Adds the Arrow tables of one file, or one table; the first carries the metadata.

        Where there are none, the totals are the text that the tables count.
        """
        stored: dict[str, Any] | None = None
        n_text_bytes = 0
        for number, table in enumerate(tables):
            try:
                pairs, n_bytes = self._counter.add_table(table)
            except ValueError as error:
                raise CountsError(f"{name}: {error}") from error
            n_text_bytes += n_bytes
            if number == 0:
                stored = counts_file.metadata_of(pairs, name)
                self._take_over(stored, name)
        if stored is None:
            self._counter.add_totals(n_text_bytes, 0, 0)
            return
        totals = stored["n_bytes"], stored["n_documents"], stored["n_special_literals"]
        n_tables, n_counted = self._totals.get(totals, (0, 0))
        self._totals[totals] = n_tables + 1, n_counted + n_text_bytes

    def _take_over(self, stored: dict[str, Any] | None, name: str) -> None:
        if stored is not None:
            try:
                self._agree(stored_metadata(stored))
            except CountsError as error:
                raise CountsError(f"{name}: {error}") from None
        elif self.metadata is None:
            raise CountsError(
                f"{name}: the table does not say how its text was cut (no metadata 'pairloom.pattern'); pass pattern"
            )

    def _agree(self, metadata: CountsMetadata) -> None:
        if self.metadata is None:
            self.metadata = metadata
        else:
            self.metadata.check_addable(metadata)

    def finish(self) -> _core.PretokenCounts:
        """The sum, which cannot be added to any more.

        Tables with the same totals that together count no more bytes than one had are parts of one table, which was
        written in many files, each with the metadata of the whole.
        """
        for (n_bytes, n_documents, n_literals), (n_tables, n_counted) in self._totals.items():
            is_one = 0 < n_counted <= n_bytes
            for _ in range(1 if is_one else n_tables):
                self._counter.add_totals(n_bytes, n_documents, n_literals)
        self._totals.clear()
        return self._counter.finish()


def count_batches(counter: _core.Counter, texts: Any) -> None:
    """Counts texts, lists of texts and Arrow columns, as `batches_of` takes them."""
    n_texts = 0
    for batch in batches_of(texts):
        if isinstance(batch, list):
            counter.count_texts(batch, n_texts)
            n_texts += len(batch)
        else:
            counter.count_block(batch)


def parquet_files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files, those of folders sorted by name; names that begin with "_" or "." are left out, as engines do."""
    files: list[str] = []
    for path in map(Path, check_paths(paths)):
        if not path.is_dir():
            files.append(str(path))
            continue
        found = sorted(str(file) for file in path.glob("*.parquet") if file.name[0] not in "._" and file.is_file())
        if not found:
            raise CountsError(f"{path}: no *.parquet in this folder; name the folder that holds the parts")
        files += found
    return files
