"""Fingerprints of corpora: JSON objects by which a checkpoint recognises the corpus that it was counted from.

Files: name and size of each, and its modification time or, if the files hold at most 64 MiB together, the SHA-256 of
its content. A list or tuple of texts: their number and the SHA-256 of
all of them. Any other iterable can be read only once, so only its first texts, up to four million characters, are used;
so is a data set without a fingerprint of its own, as one that is streamed.
"""

from __future__ import annotations

import hashlib
import itertools
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import _core
from pairloom.corpus import Corpus, is_dataset
from pairloom.corpus.corpus import texts_of, with_texts
from pairloom.corpus.sources import STDIN, Source, resolve
from pairloom.corpus.text_batches import BATCH_CHARACTERS, batches_of, is_arrow
from pairloom.errors import CheckpointError

__all__ = ["of_corpus", "of_files", "of_first_texts", "of_texts"]

_MOST_DIGESTED_BYTES = 64 << 20
_PIECE_CHARACTERS = 1 << 20


def of_files(paths: list[str]) -> dict[str, Any]:
    """The fingerprint of the files that training on `paths` reads; OSError for one that does not exist.

    A URL is known by its name, and by its size and modification time where its store says them. Raises CheckpointError
    for standard input and pipes, since what they bring cannot be told apart.
    """
    return {"files": _files(resolve(paths, warns=False))}


def of_corpus(corpus: Corpus) -> tuple[dict[str, Any], Corpus]:
    """(the fingerprint of what a corpus reads, and how, the corpus): of texts in memory as `of_texts`."""
    options = {**corpus.options, "skip_bad": corpus.skip_bad, "skip_bad_files": corpus.skip_bad_files}
    if (texts := texts_of(corpus)) is None:
        return {"files": _files(corpus.sources), "options": options}, corpus
    if is_dataset(texts):
        n_rows = len(texts) if hasattr(texts, "__len__") else None
        return {"dataset": _of_dataset(corpus), "rows": n_rows, "options": options}, corpus
    known, texts = of_texts(texts)
    return {**known, "options": options}, with_texts(corpus, texts)


def of_texts(texts: Iterable[Any]) -> tuple[dict[str, Any], Iterable[Any]]:
    """(the fingerprint of texts, the texts): the first texts of an iterator are taken and put back."""
    if isinstance(texts, Corpus):
        return of_corpus(texts)
    if isinstance(texts, (list, tuple)):
        return {"texts": len(texts), "sha256": _digest(batches_of(texts))}, texts
    if is_arrow(texts):
        texts = _read_again(texts)
        return {"texts": None, "sha256": _digest(batches_of(texts))}, texts
    remaining = iter(texts)
    taken: list[Any] = []

    def noted() -> Iterator[Any]:
        for item in remaining:
            taken.append(item)
            yield item

    first = next(batches_of(noted()), [])
    return {"texts": None, "sha256": _digest([first])}, itertools.chain(taken, remaining)


def of_first_texts(corpus: Corpus) -> tuple[str | None, Corpus]:
    """(the SHA-256 of the first texts of a corpus in memory, up to four million characters, the corpus).

    None for files.
    """
    texts = texts_of(corpus)
    if texts is None:
        return None, corpus
    if is_dataset(texts):
        return _of_dataset(corpus), corpus
    if is_arrow(texts):
        texts = _read_again(texts)
        first = next(batches_of(texts), [])
        if not isinstance(first, list):
            first = _core.ByteLimit(doc_cap=None, max_bytes=BATCH_CHARACTERS).apply(first)
        return _digest([first]), with_texts(corpus, texts)
    if isinstance(texts, (list, tuple)):
        return _digest([next(batches_of(texts), [])]), corpus
    known, texts = of_texts(texts)
    return known["sha256"], with_texts(corpus, texts)


def _of_dataset(corpus: Corpus) -> str:
    """The fingerprint that a data set has, else the SHA-256 of its first texts."""
    known = getattr(texts_of(corpus), "_fingerprint", None)
    return known if isinstance(known, str) else of_texts(iter(corpus))[0]["sha256"]


def _read_again(column: Any) -> Any:
    """An Arrow column in a form that can be read twice: a stream may be empty the second time."""
    is_stream = not hasattr(column, "__arrow_c_array__") and getattr(column, "chunks", None) is None
    return list(batches_of(column)) if is_stream else column


def _files(sources: list[Source]) -> list[dict[str, Any]]:
    """What is known of each file."""
    files: list[dict[str, Any]] = []
    for source in sources:
        status = None if source.is_remote or source.name == STDIN else Path(source.name).stat()
        known = {"path": source.name, "bytes": source.n_bytes, "modified_ns": source.mtime_ns}
        if status is not None and stat.S_ISREG(status.st_mode):
            known |= {"bytes": status.st_size, "modified_ns": status.st_mtime_ns}
        elif not source.is_remote:
            raise CheckpointError(
                f"{source.shown}: a checkpoint cannot tell whether a pipe brings the same text again; train on a file, "
                "or without a checkpoint"
            )
        files.append(known)
    if sum(file["bytes"] or 0 for file in files) <= _MOST_DIGESTED_BYTES:
        for file, source in zip(files, sources, strict=True):
            if file["modified_ns"] is not None and not source.is_remote:
                with Path(file["path"]).open("rb") as opened:
                    file["sha256"] = hashlib.file_digest(opened, "sha256").hexdigest()
                del file["modified_ns"]
    return files


def _digest(batches: Iterable[list[str] | _core.Documents]) -> str:
    """The SHA-256 of texts and where each ends."""
    digest = hashlib.sha256()
    for batch in batches:
        texts = batch if isinstance(batch, list) else batch.texts()
        digest.update(np.fromiter(map(len, texts), dtype="<u8", count=len(texts)).tobytes())
        joined = texts[0] if len(texts) == 1 else "".join(texts)
        for start in range(0, len(joined), _PIECE_CHARACTERS):
            digest.update(joined[start : start + _PIECE_CHARACTERS].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
