"""Batches of texts in memory, so that each call into the core carries several megabytes."""

import contextlib
from collections.abc import Iterator
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import check_str, check_texts
from pairloom.errors import CorpusError

BATCH_CHARACTERS = 4 << 20
TEXT_OVERHEAD = 16
"""Added to the length of each text, so that a batch also ends after many empty texts."""


def is_arrow(value: Any) -> bool:
    """Whether `value` has the interface of an Arrow column (of pyarrow, polars, pandas, DuckDB and others)."""
    return not isinstance(value, type) and (hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__"))


def batches_of(texts: Any, characters: int = BATCH_CHARACTERS) -> Iterator[list[str] | _core.Documents]:
    """Yields lists of texts that have about `characters` characters together, and Arrow columns as documents.

    texts: an iterable of str, of lists of str and of Arrow text columns, or one such column. Raises TypeError for
    anything else, CorpusError for a null.
    """
    if is_arrow(texts):
        # pandas needs pyarrow to export Arrow.
        with contextlib.suppress(ImportError):
            yield from _documents_of(texts)
            return
    batch: list[str] = []
    size = 0
    for index, item in enumerate(texts):
        if isinstance(item, str):
            batch.append(item)
            size += len(item) + TEXT_OVERHEAD
        elif isinstance(item, (list, tuple)):
            for place, text in enumerate(item):
                if not isinstance(text, str):
                    check_str(f"texts[{index}][{place}]", text)
                batch.append(text)
                size += len(text) + TEXT_OVERHEAD
        elif isinstance(item, _core.Documents) or is_arrow(item):
            if batch:
                yield batch
                batch, size = [], 0
            if isinstance(item, _core.Documents):
                yield item
                continue
            check_texts(f"texts[{index}]", item, is_column=True)
            yield from _documents_of(item)
        else:
            check_str(f"texts[{index}]", item)
        if size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _documents_of(column: Any) -> Iterator[_core.Documents]:
    columns = _core.TextColumns("texts", replace=False, skip=False)
    # One chunk at a time, so that the text is not copied all at once.
    for chunk in getattr(column, "chunks", None) or [column]:
        try:
            documents, _ = columns.read(chunk, 0)
        except CorpusError as error:
            # A `Corpus` has options for such rows; these callers have none, so give other advice.
            raise CorpusError(f"{str(error).partition(';')[0]}; correct or remove such rows first") from None
        yield documents
