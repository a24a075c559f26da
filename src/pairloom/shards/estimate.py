"""estimate: how many tokens, shards, bytes and seconds a corpus will take, from a sample spread over it.

Pieces of the corpus are encoded: of local uncompressed text and JSON lines at even distances, of other files the
beginnings of some at even distances. The tokens of the corpus are its bytes on disk times the tokens for each byte of
the sample (a ratio estimate); the error is 1.96 standard errors of it, from how much the pieces differ.
Source: W. G. Cochran, Sampling Techniques, 3rd edition, section 6.3.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairloom._internal.arguments import check_int, resolve_threads
from pairloom.corpus import Corpus
from pairloom.corpus.sources import Source
from pairloom.errors import CorpusError
from pairloom.shards.config import SHARD_TOKENS
from pairloom.shards.files import dtype_of
from pairloom.tokenizer import Tokenizer

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What tokenizing a corpus will give, each number extrapolated from the sample.

    tokens_error: half the width of the 95 % interval of tokens, None for a sample of one piece, 0 for a whole corpus.
    disk_bytes: of shards in format npy. seconds: on this machine, as fast as the sample went. share: of the corpus'
    bytes on disk that were read; pieces: in how many places.
    """

    tokens: int
    tokens_error: int | None
    documents: int
    text_bytes: int
    shards: int
    disk_bytes: int
    seconds: float
    share: float
    pieces: int


def estimate(
    model: Tokenizer | str | os.PathLike[str],
    inputs: Any,
    *,
    sample_bytes: int = 1 << 25,
    pieces: int = 32,
    shard_tokens: int = SHARD_TOKENS,
    threads: int = 0,
    **options: Any,
) -> Estimate:
    """Estimates what `tokenize_files` will make of a corpus, from `pieces` pieces of about sample_bytes in all.

    model, inputs and options are those of `tokenize_files`. Raises OSError, CorpusError for what cannot be read and for
    inputs of unknown size (pipes).
    """
    check_int("sample_bytes", sample_bytes, least=1)
    check_int("pieces", pieces, least=1)
    check_int("shard_tokens", shard_tokens, least=1)
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    corpus = inputs if isinstance(inputs, Corpus) else Corpus(inputs, **options)
    sizes = np.array([source.n_bytes or 0 for source in corpus.sources], np.int64)
    if not len(sizes) or any(source.n_bytes is None for source in corpus.sources):
        raise CorpusError("the size of the corpus is unknown, so nothing can be extrapolated; name files")
    total = int(sizes.sum())
    started = time.perf_counter()
    rows = _sampled(tokenizer, corpus, sizes, total, sample_bytes, pieces, resolve_threads(threads))
    elapsed = time.perf_counter() - started
    read = sum(row[0] for row in rows)
    scale = total / read if read else 0.0
    tokens, documents, text_bytes = (round(scale * sum(row[column] for row in rows)) for column in (1, 2, 3))
    dtype = dtype_of("npy", tokenizer.n_vocab)
    return Estimate(
        tokens=tokens,
        tokens_error=_error(rows, total, read),
        documents=documents,
        text_bytes=text_bytes,
        shards=math.ceil(tokens / shard_tokens),
        disk_bytes=tokens * dtype.itemsize + 8 * documents,
        seconds=elapsed * scale,
        share=min(read / total, 1.0) if total else 1.0,
        pieces=len(rows),
    )


Row = tuple[int, int, int, int]
"""Bytes on disk, tokens, documents and bytes of text of a piece."""


def _sampled(
    tokenizer: Tokenizer, corpus: Corpus, sizes: Any, total: int, sample_bytes: int, pieces: int, threads: int
) -> list[Row]:
    """A row for each piece."""
    encoder = tokenizer.block_encoder(specials="ordinary", threads=threads)
    if total <= sample_bytes:
        return [_read(encoder, corpus, [source], None) for source in corpus.sources]
    ends = np.cumsum(sizes)
    piece_bytes = max(sample_bytes // pieces, 1)
    rows: list[Row] = []
    taken: set[int] = set()
    for number in range(pieces):
        place = (2 * number + 1) * total // (2 * pieces)
        file = int(np.searchsorted(ends, place, side="right"))
        source = corpus.sources[file]
        if _is_seekable(corpus, source) and sizes[file] > 2 * piece_bytes:
            rows.append(_read_at(encoder, corpus, source, place - int(ends[file] - sizes[file]), piece_bytes))
        elif file not in taken:
            taken.add(file)
            rows.append(_read(encoder, corpus, [source], piece_bytes))
    return [row for row in rows if row[0]]


def _is_seekable(corpus: Corpus, source: Source) -> bool:
    return source.format in ("text", "jsonl") and source.compression is None and not source.is_remote


def _read_at(encoder: Any, corpus: Corpus, source: Source, offset: int, n_bytes: int) -> Row:
    """The row of the whole lines in a range of a file."""
    with open(source.name, "rb") as file:
        file.seek(offset)
        file.readline()
        data = file.read(n_bytes) + file.readline()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "piece"
        path.write_bytes(data)
        row = _read(encoder, corpus, [replace(source, name=str(path), n_bytes=len(data))], None)
    if corpus.is_one_document(corpus.sources.index(source)):
        # A part of a document is none.
        return (*row[:2], 0, row[3])
    return row


def _read(encoder: Any, corpus: Corpus, sources: list[Source], n_bytes: int | None) -> Row:
    """The row of files, or of about the first `n_bytes` of their text."""
    part = Corpus(
        [source.name for source in sources],
        text_field=corpus.text_field,
        separator=corpus.separator,
        doc_cap=corpus.doc_cap,
        skip_bad=corpus.skip_bad,
        skip_bad_files=corpus.skip_bad_files,
        input_errors=corpus.input_errors,
        input_format=sources[0].format,
    )
    reading = part.read()
    done = tokens = documents = text_bytes = 0
    try:
        for block in reading:
            ids, ends, _ = encoder.push(block.documents)
            tokens, documents, text_bytes = (
                tokens + len(ids),
                documents + len(ends),
                text_bytes + block.documents.n_bytes,
            )
            done = block.done
            if n_bytes is not None and text_bytes >= n_bytes:
                break
        else:
            done = sum(source.n_bytes or 0 for source in sources)
    finally:
        encoder.withdraw()
        reading.stop()
    return done, tokens, documents, text_bytes


def _error(rows: list[Row], total: int, read: int) -> int | None:
    """1.96 standard errors of the tokens of the corpus."""
    if read >= total:
        return 0
    if len(rows) < 2:
        return None
    sizes, tokens = (np.array([row[column] for row in rows], float) for column in (0, 1))
    residuals = tokens - tokens.sum() / sizes.sum() * sizes
    deviation = math.sqrt(float((residuals**2).sum()) / (len(rows) - 1) / len(rows) * (1 - read / total))
    return round(1.96 * total * deviation / float(sizes.mean()))
