"""Computes a tokenizer's statistics on a corpus: compression, vocabulary use, Renyi efficiency, speed.

Memory does not grow with the corpus: blocks are encoded on all threads, and only counts of ids are kept.
Source of the Renyi efficiency: Zouhar et al., "Tokenization and the Noiseless Channel", ACL 2023.
"""

import math
import time
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import resolve_threads
from pairloom._internal.background_io import ReadAhead
from pairloom._internal.progress import Progress, reporter
from pairloom.corpus import Corpus
from pairloom.tokenizer import Tokenizer

RENYI_ALPHA: Final = 2.5
"""The order at which Zouhar et al. found that the efficiency correlates best with translation quality."""

# bincount converts its input to 64 bits, so ids are counted in parts of this size.
_CHUNK_IDS: Final = 1 << 20


@dataclass(frozen=True, eq=False)
class CorpusStats:
    """The statistics of a tokenizer on a corpus.

    n_words: runs of characters between white space. n_skipped: records that were left out. seconds: time of reading and
    encoding. token_counts: int64 [n_vocab], how often each id occurred; token_bytes: int64 [n_vocab], bytes of each
    id's token, 0 for an unused id. Ratios are NaN if nothing was counted.
    """

    n_documents: int
    n_bytes: int
    n_words: int
    n_skipped: int
    seconds: float
    token_counts: npt.NDArray[np.int64]
    token_bytes: npt.NDArray[np.int64]

    @property
    def n_tokens(self) -> int:
        """The total number of ids, special tokens included."""
        return int(self.token_counts.sum())

    @property
    def bytes_per_token(self) -> float:
        """Compression: bytes of text per token."""
        return _ratio(self.n_bytes, self.n_tokens)

    @property
    def tokens_per_word(self) -> float:
        """Fertility: tokens per word; words are separated by white space, whose tokens count too."""
        return _ratio(self.n_tokens, self.n_words)

    @property
    def single_byte_share(self) -> float:
        """The share of tokens that have one byte."""
        return _ratio(int(self.token_counts[self.token_bytes == 1].sum()), self.n_tokens)

    @property
    def unused(self) -> npt.NDArray[np.int64]:
        """The ids of tokens that never occurred, special tokens included, ascending: int64 [n]."""
        return np.flatnonzero((self.token_counts == 0) & (self.token_bytes > 0))

    @property
    def n_vocab_tokens(self) -> int:
        """The number of ids that are tokens."""
        return int((self.token_bytes > 0).sum())

    @property
    def renyi_efficiency(self) -> float:
        """`renyi_efficiency` of the token counts at RENYI_ALPHA, over the whole vocabulary."""
        return renyi_efficiency(self.token_counts, self.n_vocab_tokens)

    @property
    def bytes_per_second(self) -> float:
        """Throughput of reading and encoding."""
        return _ratio(self.n_bytes, self.seconds)

    def as_dict(self) -> dict[str, int | float | None]:
        """Returns the statistics as JSON values; null if nothing was counted."""
        figures: dict[str, int | float] = {
            "documents": self.n_documents,
            "bytes": self.n_bytes,
            "words": self.n_words,
            "skipped": self.n_skipped,
            "tokens": self.n_tokens,
            "bytes_per_token": self.bytes_per_token,
            "tokens_per_word": self.tokens_per_word,
            "single_byte_share": self.single_byte_share,
            "vocabulary": self.n_vocab_tokens,
            "unused_tokens": len(self.unused),
            "renyi_efficiency": self.renyi_efficiency,
            "seconds": self.seconds,
            "bytes_per_second": self.bytes_per_second,
        }
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def renyi_efficiency(counts: npt.ArrayLike, n_vocab: int) -> float:
    """Returns the Renyi entropy of order RENYI_ALPHA of the tokens, divided by that of `n_vocab` tokens used evenly.

    counts: how often each token occurred. The result is 0 to 1; NaN if nothing was counted, or if the vocabulary has
    fewer than two tokens. Source: Zouhar et al. 2023, Eff_alpha = H_alpha(p) / log |V|.
    """
    used = np.asarray(counts, dtype=np.float64)
    used = used[used > 0]
    if not len(used) or n_vocab < 2:
        return math.nan
    share = used / used.sum()
    entropy = math.log(float((share**RENYI_ALPHA).sum())) / (1 - RENYI_ALPHA)
    # abs: if one token is used, the entropy is 0, not -0.
    return abs(entropy) / math.log(n_vocab)


def corpus_stats(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    threads: int = 0,
    progress: Progress = None,
    specials: str = "recognise",
) -> CorpusStats:
    """Returns the statistics of a tokenizer on a corpus.

    specials: encode special tokens as their ids ("recognise") or as plain text ("ordinary"), or raise
    SpecialTokenError ("error"). Warns if records were skipped. Raises OSError, and CorpusError (file and place).
    """
    reading = corpus.read()
    encoder = tokenizer.block_encoder(specials=specials, threads=resolve_threads(threads))
    token_counts = np.zeros(tokenizer.n_vocab, dtype=np.int64)
    n_documents = n_bytes = n_words = done = 0
    in_word, seconds = False, 0.0
    with reporter(progress) as report, ReadAhead(reading) as blocks:
        if report is not None:
            report("encode", 0, reading.total)
        started = time.perf_counter()
        for block in blocks:
            ids, _, _ = encoder.push(block.documents, name=corpus.names[block.source], first=block.first)
            seconds += time.perf_counter() - started
            n_documents += len(block.documents)
            n_bytes += block.documents.n_bytes
            n_more, in_word = block.documents.count_words(in_word)
            n_words += n_more
            for start in range(0, len(ids), _CHUNK_IDS):
                token_counts += np.bincount(ids[start : start + _CHUNK_IDS], minlength=len(token_counts))
            done = block.done
            if report is not None:
                report("encode", done, max(reading.total, done))
            started = time.perf_counter()
        if report is not None and corpus.max_bytes is None:
            report("encode", max(reading.total, done), max(reading.total, done))
    reading.warn()
    return CorpusStats(
        n_documents=n_documents,
        n_bytes=n_bytes,
        n_words=n_words,
        n_skipped=reading.n_skipped,
        seconds=seconds,
        token_counts=token_counts,
        token_bytes=tokenizer.token_byte_lengths(count_specials=True),
    )
