"""estimate: how many tokens, shards, bytes and seconds a corpus will take, from a sample spread over it.

The tokens of the corpus are its bytes on disk times the sample's tokens per byte (a ratio estimate). The error comes
from how much neighbouring places differ, by Student's t, plus one token for each cut through a text. Source: W. G.
Cochran, Sampling Techniques, 3rd edition, sections 5A.12 (one place in each stratum) and 6.3.
"""

import math
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arguments import check_int, resolve_threads
from pairloom.corpus import Corpus
from pairloom.corpus.text_batches import batches_of
from pairloom.errors import CorpusError
from pairloom.shards.config import SHARD_TOKENS
from pairloom.shards.files import dtype_of
from pairloom.shards.sample import Piece, Sample
from pairloom.tokenizer import Tokenizer

Amounts = npt.NDArray[np.float64]
"""[4] or [n, 4]: bytes on disk, tokens, documents, bytes of text."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What tokenizing a corpus will produce, extrapolated from the sample.

    tokens_error: half the width of the 95 % interval of tokens; None if unknown (fewer than three pieces), 0 if the
    whole corpus was counted. disk_bytes: of shards in format npy. seconds: of encoding on this machine, at the speed of
    the sample. share: the part of the corpus's bytes on disk that was read, 1 if all text up to max_bytes was counted.
    pieces: in how many places.
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
    pieces: int = 256,
    shard_tokens: int = SHARD_TOKENS,
    threads: int = 0,
    **options: Any,
) -> Estimate:
    """Estimates what `tokenize_files` will make of a corpus, from about sample_bytes at up to `pieces` places.

    Not included are eot and bos, which add a token to each document. If a sample would be half of the corpus or more,
    counts the whole corpus. model, inputs and options are those of `tokenize_files`. Raises OSError, CorpusError for
    what cannot be read, for inputs of unknown size (pipes), for records longer than both sample_bytes and 64 MiB, and
    if no record starts in the sample.
    """
    check_int("sample_bytes", sample_bytes, least=1)
    check_int("pieces", pieces, least=1)
    check_int("shard_tokens", shard_tokens, least=1)
    tokenizer = model if isinstance(model, Tokenizer) else Tokenizer.load(model)
    corpus = inputs if isinstance(inputs, Corpus) else Corpus(inputs, **options)
    if not corpus.sources or any(source.n_bytes is None for source in corpus.sources):
        raise CorpusError("the size of the corpus is unknown, so its tokens cannot be estimated; pass files")
    encoder = tokenizer.block_encoder(specials="ordinary", threads=resolve_threads(threads))
    sample = Sample(corpus, sample_bytes, pieces)
    max_bytes = math.inf if corpus.max_bytes is None else corpus.max_bytes
    is_small = sample.total <= sample_bytes or max_bytes <= sample_bytes
    if not is_small:
        sample.read()
    error: int | None = 0
    if not is_small and not sample.is_mostly_read:
        amounts, error, seconds = _sampled(encoder, corpus, sample)
        if amounts[3] > max_bytes:
            # Only the text before max_bytes counts, and what follows can be of another kind.
            sample = Sample(corpus, sample_bytes, pieces, most=math.ceil(sample.total * max_bytes / float(amounts[3])))
            sample.read()
            if not sample.is_mostly_read:
                amounts, error, seconds = _sampled(encoder, corpus, sample)
                scale = max_bytes / float(amounts[3])
                amounts, seconds, error = amounts * scale, seconds * scale, error and math.ceil(error * scale)
    if is_small or sample.is_mostly_read:
        amounts, seconds = _counted(encoder, corpus)
        error, share, n_pieces = 0, 1.0, len(corpus.sources)
    else:
        share, n_pieces = sample.n_read / sum(source.n_bytes or 0 for source in corpus.sources), len(sample.pieces)
    tokens, documents, text_bytes = (round(float(amount)) for amount in amounts[1:])
    dtype = dtype_of("npy", tokenizer.n_vocab)
    return Estimate(
        tokens=tokens,
        tokens_error=error,
        documents=documents,
        text_bytes=text_bytes,
        shards=math.ceil(tokens / shard_tokens),
        disk_bytes=tokens * dtype.itemsize + 8 * documents,
        seconds=seconds,
        share=share,
        pieces=n_pieces,
    )


def _sampled(encoder: _core.BlockEncoder, corpus: Corpus, sample: Sample) -> tuple[Amounts, int | None, float]:
    """Extrapolates a sample; returns the amounts, the 95 % error of the tokens (None if unknown), and the seconds."""
    rows, seconds = _rows(encoder, sample.pieces)
    amounts, error = _extrapolated(rows, sample)
    amounts[2] += sum(size > 0 and corpus.is_one_document(number) for number, size in enumerate(sample.sizes))
    return amounts, error, seconds * sample.total / sample.n_read


def _counted(encoder: _core.BlockEncoder, corpus: Corpus) -> tuple[Amounts, float]:
    """Counts the whole corpus; returns its amounts, and the seconds this took."""
    started = time.perf_counter()
    amounts = np.zeros(4)
    for block in corpus.read():
        ids, ends, _ = encoder.push(block.documents)
        amounts += 0, len(ids), len(ends), block.documents.n_bytes
    return amounts, time.perf_counter() - started


def _rows(encoder: _core.BlockEncoder, pieces: list[Piece]) -> tuple[Amounts, float]:
    """Returns the amounts per byte of the corpus at each piece, and the seconds that encoding them took."""
    tokens, n_bytes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    started = time.perf_counter()
    texts: Any
    for texts in batches_of([text for piece in pieces for text in piece.span.texts]):
        documents = _core.Documents.from_texts(texts)
        tokens.append(np.diff(encoder.push(documents)[1], prepend=0))
        n_bytes.append(np.diff(documents.ends(), prepend=0))
    seconds = time.perf_counter() - started
    sums = [np.concatenate([[0], np.cumsum(np.concatenate(counts))]) for counts in (tokens, n_bytes)]
    rows, first = np.zeros((len(pieces), 4)), 0
    for number, piece in enumerate(pieces):
        span = piece.span
        n_tokens, n_text_bytes = (int(ends[first + len(span.texts)] - ends[first]) for ends in sums)
        rows[number] = piece.weight * np.array([span.n_bytes, n_tokens, span.n_documents, n_text_bytes])
        first += len(span.texts)
    return rows, seconds


def _extrapolated(rows: Amounts, sample: Sample) -> tuple[Amounts, int | None]:
    """Extrapolates to the whole corpus; returns the amounts, and the 95 % error of the tokens (None if unknown)."""
    n_places = np.array([piece.n_places for piece in sample.pieces], float)
    shares = n_places / n_places.sum()
    means = shares @ rows
    if not means[0]:
        raise CorpusError("no record starts in the sample; raise sample_bytes")
    # The effective number of pieces: this many pieces of equal shares would vary as much.
    n = 1 / float((shares**2).sum())
    error = None
    if n > 2.99:
        # Assumes that neighbours differ only by chance; large-scale differences are in the sample as in the corpus.
        residuals = shares * (rows[:, 1] - means[1] / means[0] * rows[:, 0])
        deviation = math.sqrt(float((np.diff(residuals) ** 2).sum()) / 2 * n / (n - 1)) / float(means[0])
        error = math.ceil(_students_t((n - 1) / 1.5) * deviation * sample.total + sample.total / sample.piece_bytes)
    return means * (sample.total / float(means[0])), error


def _students_t(freedom: float) -> float:
    """Returns the 97.5 % quantile of Student's t, within 3 % (Abramowitz and Stegun, 26.7.5)."""
    z = 1.959964
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return sum(term / freedom**power for power, term in enumerate(terms))
