"""How well a tokenizer fits a corpus: compression, use of the vocabulary, balance, speed.

Enters: a Tokenizer and files or texts. Leaves: CorpusStats; for plots, the compression of its truncations. Memory does
not grow with the corpus: files up to WHOLE_FILE_BYTES are encoded at once on all threads, larger ones as a stream; ids
are counted in blocks and forgotten. Source of the Renyi efficiency: Zouhar et al., "Tokenization and the Noiseless
Channel", ACL 2023.
"""

from __future__ import annotations

import codecs
import itertools
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pairloom.arguments import check_paths, check_texts
from pairloom.errors import CorpusError
from pairloom.progress import Progress, ProgressEvent, reporter
from pairloom.tokenizer import Tokenizer

__all__ = [
    "RENYI_ALPHA",
    "WHOLE_FILE_BYTES",
    "CorpusStats",
    "compression_by_size",
    "corpus_stats",
    "renyi_efficiency",
    "sample_text",
    "text_stats",
]

RENYI_ALPHA: Final = 2.5
"""The order at which Zouhar et al. found the efficiency to follow the quality of translations best."""

WHOLE_FILE_BYTES: Final = 1 << 28
"""Files above this many bytes are encoded as a stream, on one thread."""

_BLOCK: Final = 1 << 20
_BATCH_CHARACTERS: Final = 1 << 23


@dataclass(frozen=True, eq=False)
class CorpusStats:
    """What a corpus became under a tokenizer.

    n_words: runs of bytes between ASCII white space. seconds: reading and encoding. token_counts: int64 [n_vocab], how
    often each id came; token_bytes: int64 [n_vocab], bytes of each id's token, 0 where an id stands for nothing.
    Ratios are NaN where nothing was counted.
    """

    n_documents: int
    n_bytes: int
    n_words: int
    seconds: float
    token_counts: npt.NDArray[np.int64]
    token_bytes: npt.NDArray[np.int64]

    @property
    def n_tokens(self) -> int:
        """All ids that the corpus became, special tokens included."""
        return int(self.token_counts.sum())

    @property
    def bytes_per_token(self) -> float:
        """Compression: bytes of text a token."""
        return _ratio(self.n_bytes, self.n_tokens)

    @property
    def tokens_per_word(self) -> float:
        """Fertility: tokens a word between white space; the white space's tokens count too."""
        return _ratio(self.n_tokens, self.n_words)

    @property
    def single_byte_share(self) -> float:
        """The share of tokens that are one byte long."""
        return _ratio(int(self.token_counts[self.token_bytes == 1].sum()), self.n_tokens)

    @property
    def unused(self) -> npt.NDArray[np.int64]:
        """The ids of tokens that never came, special tokens included, ascending: int64 [n]."""
        return np.flatnonzero((self.token_counts == 0) & (self.token_bytes > 0))

    @property
    def n_vocab_tokens(self) -> int:
        """Ids that stand for a token."""
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
        """The figures in terms of JSON; null where nothing was counted."""
        figures: dict[str, int | float] = {
            "documents": self.n_documents,
            "bytes": self.n_bytes,
            "words": self.n_words,
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


def renyi_efficiency(counts: npt.ArrayLike, n_vocab: int, alpha: float = RENYI_ALPHA) -> float:
    """Renyi entropy of order `alpha` of the token distribution, over that of `n_vocab` tokens used evenly: 0 to 1.

    counts: how often each token came. At alpha = 1 this is Shannon's entropy. NaN where nothing was counted or a
    vocabulary of one token has no entropy. Source: Zouhar et al. 2023, Eff_alpha = H_alpha(p) / log |V|.
    """
    used = np.asarray(counts, dtype=np.float64)
    used = used[used > 0]
    if not len(used) or n_vocab < 2:
        return math.nan
    share = used / used.sum()
    if alpha == 1:
        entropy = -float((share * np.log(share)).sum())
    else:
        entropy = math.log(float((share**alpha).sum())) / (1 - alpha)
    # A single token used has entropy 0, not -0.
    return abs(entropy) / math.log(n_vocab)


class _Tally:
    """The sums of CorpusStats while they grow."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._counts = np.zeros(tokenizer.n_vocab, dtype=np.int64)
        self._in_word = False
        self.n_documents = self.n_bytes = self._n_words = 0
        self.seconds = 0.0

    def add_ids(self, ids: npt.NDArray[Any]) -> None:
        # bincount widens what it counts to 64 bits: a block at a time keeps that small.
        for start in range(0, len(ids), _BLOCK):
            self._counts += np.bincount(ids[start : start + _BLOCK], minlength=len(self._counts))

    def add_bytes(self, data: bytes) -> None:
        """A stretch of the current document, for the number of words and bytes."""
        if not data:
            return
        codes = np.frombuffer(data, dtype=np.uint8)
        # White space as bytes.split() has it, 9 to 13 and 32; below 9, codes wrap around.
        space = (codes == 32) | (codes - np.uint8(9) < 5)
        starts = int(np.count_nonzero(space[:-1] > space[1:]))
        self._n_words += starts + (not self._in_word and not bool(space[0]))
        self._in_word = not bool(space[-1])
        self.n_bytes += len(data)

    def end_document(self) -> None:
        self._in_word = False
        self.n_documents += 1

    def finish(self) -> CorpusStats:
        return CorpusStats(
            n_documents=self.n_documents,
            n_bytes=self.n_bytes,
            n_words=self._n_words,
            seconds=self.seconds,
            token_counts=self._counts,
            token_bytes=self._tokenizer.token_byte_lengths(),
        )


def corpus_stats(tokenizer: Tokenizer, paths: Any, *, threads: int = 0, progress: Progress = None) -> CorpusStats:
    """The figures of UTF-8 files, each a document, special tokens recognised.

    Raises OSError, and CorpusError (file, byte offset) for invalid UTF-8.
    """
    files = [Path(path) for path in check_paths(paths)]
    total = sum(file.stat().st_size for file in files)
    tally = _Tally(tokenizer)
    with reporter(progress) as report:

        def within(event: ProgressEvent) -> None:
            if report is not None:
                report("encode", tally.n_bytes + event.done, total)

        for file in files:
            within(ProgressEvent("encode", 0, 0))
            started = time.perf_counter()
            # What is no regular file (a pipe) has no size, and can be read only once.
            if file.is_file() and file.stat().st_size <= WHOLE_FILE_BYTES:
                ids = tokenizer.encode_file(file, threads=threads, progress=within)
                tally.seconds += time.perf_counter() - started
                tally.add_ids(ids)
                for data in _blocks(file):
                    tally.add_bytes(data)
            else:
                _stream(tokenizer, file, tally, within)
                tally.seconds += time.perf_counter() - started
            tally.end_document()
        within(ProgressEvent("encode", 0, 0))
    return tally.finish()


def text_stats(tokenizer: Tokenizer, texts: Iterable[str], *, threads: int = 0) -> CorpusStats:
    """The figures of texts, each a document, special tokens recognised; `seconds` is that of encoding alone."""
    check_texts("texts", texts)
    tally = _Tally(tokenizer)
    for batch in _batches(texts):
        started = time.perf_counter()
        ids, _ = tokenizer.encode_batch_to_numpy(batch, threads=threads)
        tally.seconds += time.perf_counter() - started
        tally.add_ids(ids)
        for text in batch:
            tally.add_bytes(text.encode())
            tally.end_document()
    return tally.finish()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in lists that are worth several threads, and small beside the longest text."""
    batch: list[str] = []
    n_characters = 0
    for text in texts:
        batch.append(text)
        n_characters += len(text) + 64
        if n_characters >= _BATCH_CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch


def _blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as handle:
        while data := handle.read(_BLOCK):
            yield data


def _stream(tokenizer: Tokenizer, file: Path, tally: _Tally, within: Any) -> None:
    """Encodes a file of any size in the memory of a block."""

    def pieces() -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        done = 0
        try:
            for data in _blocks(file):
                # The bytes of a character that a block ends in wait in the decoder.
                waiting = len(decoder.getstate()[0])
                yield decoder.decode(data)
                tally.add_bytes(data)
                done += len(data)
                within(ProgressEvent("encode", 0, 0))
            waiting = len(decoder.getstate()[0])
            yield decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            at = done - waiting + error.start
            raise CorpusError(f"{file}: invalid UTF-8 at byte {at}; pass UTF-8 text") from error

    ids = tokenizer.encode_iterable(pieces())
    while len(block := np.fromiter(itertools.islice(ids, _BLOCK), dtype=np.int64)):
        tally.add_ids(block)


def sample_text(paths: Any, n_bytes: int = 1 << 22) -> str:
    """The beginnings of the files, an equal share of `n_bytes` from each; a character that is cut in two is dropped."""
    files = check_paths(paths)
    share = n_bytes // max(len(files), 1) + 1
    texts = []
    for path in files:
        with Path(path).open("rb") as handle:
            texts.append(handle.read(share).decode(errors="ignore"))
    return "".join(texts)


def compression_by_size(tokenizer: Tokenizer, text: str, n_sizes: int = 12) -> list[tuple[int, float]]:
    """(tokens in the vocabulary, bytes per token of `text`) of truncations to sizes in geometric steps, ascending.

    Raises ValueError where a tokenizer cannot be truncated: ranks instead of merges, or merges out of order.
    """
    model = tokenizer.model
    n_bytes, n_merges = len(text.encode()), len(model.merges)
    n_base = len(model.token_ids) - n_merges
    if tokenizer.config is not None and tokenizer.config.specials_counted:
        n_base += len(model.special_tokens)
    elif tokenizer.config is None:
        last_made = int(model.merges[-1, 2] if n_merges else model.token_ids.max(initial=0))
        n_base += sum(token_id <= last_made for token_id in model.special_tokens.values())
    points = []
    for size in np.unique(
        np.geomspace(max(n_base, 1), max(n_base, 1) + n_merges, n_sizes).round().astype(int)
    ).tolist():
        smaller = tokenizer.truncate_vocab(size)
        points.append((len(smaller.vocab), _ratio(n_bytes, smaller.count_tokens(text))))
    return points
