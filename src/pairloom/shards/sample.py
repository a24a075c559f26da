"""Sample: pieces of a corpus at places spread over all its bytes, for `estimate`.

The bytes are divided into parts of equal size, and one place is drawn in each. What is read there depends on the file:

- Plain text without a separator: a window of bytes.
- JSON lines, and text with a separator: the records that begin in a window.
- Parquet: the first rows of the row group at that place.
- Anything else (compressed, remote, Arrow, WARC): the beginning of the file.
"""

import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom.corpus import Corpus
from pairloom.corpus.columns import group_bytes
from pairloom.corpus.sources import Source
from pairloom.errors import CorpusError

# The fewest bytes of a piece; the fewest pieces to read, even if long records make them exceed the sample.
_MIN_BYTES, _MIN_PIECES = 1 << 12, 24
# The longest record to read, unless the sample is larger.
_LONGEST_RECORD = 1 << 26
# Limits for files sampled from their start: fewest bytes to read, how many files share the sample, most decoded bytes
# per byte on disk.
_MIN_BEGINNING_BYTES, _MAX_FILES, _MAX_COMPRESSION_RATIO = 1 << 15, 64, 8


class Span(NamedTuple):
    """Some bytes of a file on disk, how many documents end in them, and their texts, the last maybe partial."""

    n_bytes: int
    n_documents: int
    texts: list[str]


@dataclass(slots=True)
class Piece:
    """What was read for `n_places` places, the first of which is `place`.

    weight: what the span's amounts are multiplied by to get, on average, the amounts per byte of the file.
    """

    place: float
    weight: float
    span: Span
    n_places: int = 1


class Sample:
    """Pieces of about `sample_bytes` in all, at up to `n_pieces` places, in the first `most` bytes on disk.

    sizes: bytes on disk of each source, without those after `most` or that a doc_cap leaves out. total: their sum.
    piece_bytes: the size of a window. n_read: bytes read so far.
    """

    def __init__(self, corpus: Corpus, sample_bytes: int, n_pieces: int, *, most: int | None = None) -> None:
        self._corpus = corpus
        self._sample_bytes = sample_bytes
        self.piece_bytes = max(sample_bytes // n_pieces, _MIN_BYTES)
        self._n_places = min(n_pieces, max(sample_bytes // _MIN_BYTES, 1))
        self.sizes = [source.n_bytes or 0 for source in corpus.sources]
        for number, source in enumerate(corpus.sources):
            if corpus.doc_cap is not None and corpus.is_one_document(number) and source.is_plain:
                self.sizes[number] = min(self.sizes[number], corpus.doc_cap)
        if most is not None:
            ends = np.minimum(np.cumsum(self.sizes), most)
            self.sizes = np.diff(ends, prepend=0).tolist()
        self.total, self.n_read = sum(self.sizes), 0
        self.pieces: list[Piece] = []
        # Where the row groups of Parquet files end, in uncompressed bytes.
        self._groups: dict[int, npt.NDArray[np.int64]] = {}

    @property
    def is_mostly_read(self) -> bool:
        """Whether so much of the corpus was read that all of it might as well be counted."""
        return 2 * self.n_read >= self.total

    def read(self) -> None:
        """Reads places in random order until there are enough bytes; leaves the pieces in the order of the corpus."""
        random, n = np.random.default_rng(0), self._n_places
        places = random.permutation((np.arange(n) + random.random(n)) * (self.total / n))
        ends = np.cumsum(self.sizes)
        numbers = np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1)
        shares = 1 - (ends[numbers] - places) / np.array(self.sizes)[numbers]
        n_places = Counter(numbers.tolist())
        groups: dict[tuple[int, int], Piece] = {}
        for number, share, place in zip(numbers.tolist(), shares.tolist(), places.tolist(), strict=True):
            if self.n_read >= self._sample_bytes and (len(self.pieces) >= _MIN_PIECES or self.is_mostly_read):
                break
            if self._has_windows(number):
                try:
                    self.pieces.append(Piece(place, *self._window(number, share)))
                except CorpusError:
                    if not self._corpus.skip_bad_files:
                        raise
                    self.pieces.append(Piece(place, 1.0, Span(1, 0, [])))
                continue
            source = self._corpus.sources[number]
            group, n_groups, source = self._group(number, share * self.sizes[number] / (source.n_bytes or 1))
            if (number, group) in groups:
                groups[number, group].n_places += 1
                continue
            n_bytes = max(self.piece_bytes * n_places[number] // n_groups, self._sample_bytes // _MAX_FILES)
            span = self._beginning(number, source, max(n_bytes, _MIN_BEGINNING_BYTES))
            groups[number, group] = Piece(place, 1 / max(span.n_bytes, 1), span)
            self.pieces.append(groups[number, group])
        self.pieces.sort(key=lambda piece: piece.place)

    def _has_windows(self, number: int) -> bool:
        source = self._corpus.sources[number]
        is_seekable = source.format in ("text", "jsonl") and source.compression is None and not source.is_remote
        return is_seekable and self.sizes[number] > 2 * self.piece_bytes

    # Files that are read from their beginning ----------------------------------------------------------------------

    def _group(self, number: int, share: float) -> tuple[int, int, Source]:
        """Returns (number, count, source) of the row group at a place in a Parquet file; other files are one group."""
        source = self._corpus.sources[number]
        if source.format != "parquet" or source.compression is not None or source.is_remote:
            return 0, 1, source
        if number not in self._groups:
            with source.open() as file:
                self._groups[number] = np.cumsum(group_bytes(source.shown, file))
        ends = self._groups[number]
        if len(ends) < 2 or not ends[-1]:
            return 0, 1, source
        group = int(np.searchsorted(ends, share * ends[-1], side="right"))
        n_bytes = (source.n_bytes or 0) * int(ends[group] - (ends[group - 1] if group else 0)) // int(ends[-1])
        return group, len(ends), replace(source, row_group=group, n_bytes=n_bytes)

    def _beginning(self, number: int, source: Source, n_bytes: int) -> Span:
        """Reads about `n_bytes` near the beginning of a file, or all of a small file."""
        corpus = copy.copy(self._corpus)
        corpus.sources, corpus.max_bytes = [source], None
        size = source.n_bytes or 0
        is_whole = 2 * n_bytes >= size or (corpus.doc_cap is not None and corpus.is_one_document(0))
        reading = corpus.read() if is_whole else corpus.read(piece_bytes=max(n_bytes >> 7, 1 << 10))
        blocks: list[_core.Documents] = []
        # At first compression has little to refer to, so the first bytes are read but left out.
        done = n_text = skipped = 0
        try:
            for block in reading:
                if not is_whole and block.done > done:
                    # `blocks` are now what `done` bytes hold, except for a record that is cut at either end.
                    if not skipped and done >= n_bytes // 2:
                        skipped, n_text = done, 0
                        blocks.clear()
                    elif skipped and (done - skipped >= n_bytes or n_text >= _MAX_COMPRESSION_RATIO * n_bytes):
                        break
                done = block.done
                blocks.append(block.documents)
                n_text += block.documents.n_bytes
            else:
                done = size
        finally:
            reading.close()
        self.n_read += done
        return self._span(number, done - skipped, blocks)

    def _span(self, number: int, n_bytes: int, blocks: Iterable[_core.Documents]) -> Span:
        texts: list[str] = []
        begun: list[str] = []
        for documents in blocks:
            for text in documents.texts():
                texts.append("".join([*begun, text]))
                begun = []
            begun.append(documents.open_text())
        n_documents = 0 if self._corpus.is_one_document(number) else len(texts)
        return Span(n_bytes, n_documents, [*texts, "".join(begun)] if any(begun) else texts)

    # Windows -------------------------------------------------------------------------------------------------------

    def _window(self, number: int, share: float) -> tuple[float, Span]:
        """Reads a window that begins anywhere from one window before the file to its end; returns (weight, span).

        So every byte is in equally many windows, and every record begins in equally many.
        """
        source, size, window = self._corpus.sources[number], self.sizes[number], self.piece_bytes
        begin = int(share * (size + window)) - window
        start, stop = max(begin, 0), min(begin + window, size)
        weight = (size + window) / size / window
        with source.open() as file:
            if self._corpus.is_one_document(number):
                file.seek(start)
                data = file.read(stop - start + 3)
                # A doc_cap can also end inside a character.
                last = len(data) if stop == source.n_bytes else _character_end(data, stop - start)
                first = _character_end(data, 0) if start else 0
                return weight, self._decoded(number, start + first, data[first:last])
            end = b"\n" if source.format == "jsonl" else (self._corpus.separator or "\n").encode()
            if source.format == "jsonl":
                # Refuses what is not JSON lines at all, as reading would.
                self._reader(number, 0).push(file.read(_MIN_BYTES))
            at = max(start - len(end), 0)
            file.seek(at)
            data = file.read(stop - at)
            found = data.find(end)
            if start and (found < 0 or found + len(end) == len(data)):
                return weight, Span(0, 0, [])
            first = found + len(end) if start else 0
            longest = max(self._sample_bytes, _LONGEST_RECORD)
            # Read on to the end of the last record.
            while (last := data.find(end, max(stop - at - len(end), 0))) < 0 and (more := file.read(len(data))):
                if len(data) >= longest:
                    raise CorpusError(
                        f"{source.shown}: a record at byte {stop} is longer than {longest:,} bytes; raise sample_bytes"
                    )
                data += more
        return weight, self._decoded(number, at + first, data[first : last + len(end) if last >= 0 else len(data)])

    def _decoded(self, number: int, first: int, data: bytes) -> Span:
        """Decodes the documents in some bytes of a file; first: the position of these bytes."""
        reader = self._reader(number, first)
        limit = _core.ByteLimit(doc_cap=self._corpus.doc_cap, max_bytes=None)
        self.n_read += len(data)
        return self._span(number, len(data), [limit.apply(reader.push(data)), limit.apply(reader.finish())])

    def _reader(self, number: int, first: int) -> _core.PlainText | _core.JsonLines:
        source = self._corpus.sources[number]
        name = f"{source.shown}, from byte {first} on" if first else source.shown
        return self._corpus.line_reader(source.format, name)


def _character_end(data: bytes, at: int) -> int:
    """Returns the first boundary of a character at or after a place."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at
