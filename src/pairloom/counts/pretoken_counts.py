"""PretokenCounts: how often each distinct pretoken occurs in a corpus.

Counts form a commutative monoid under addition: counts of two parts of a corpus, computed anywhere, add up to the
counts of the whole. Training needs nothing else, so a corpus can be counted on several machines.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from pairloom import _core
from pairloom._internal import arrow
from pairloom._internal.arguments import (
    check_bool,
    check_choice,
    check_int,
    check_max_memory,
    check_path,
    check_paths,
    check_texts,
    resolve_threads,
    shown,
)
from pairloom._internal.background_io import ReadAhead
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus, Reading, check_not_of_corpus
from pairloom.corpus.first_bytes import doubtful_files, warn_of
from pairloom.corpus.text_batches import batches_of, is_arrow
from pairloom.counts import file as counts_file
from pairloom.counts.metadata import CountsMetadata, checked_metadata
from pairloom.errors import CountsError
from pairloom.model import Pattern

_LARGEST_COUNT = 2**64 - 1


class CountOptions(TypedDict, total=False):
    """Options of counting; `PretokenCounts.from_texts` explains them."""

    special_tokens: Sequence[str]
    corpus_specials: str
    threads: int
    progress: Progress
    max_memory: int | None


class PretokenCounts:
    """Distinct pretokens with their counts (u64), and how the corpus was cut.

    `a + b` are the counts of both corpora together. `a - b` are the counts of a corpus that lost the documents of `b`,
    without counting it again. Both raise CountsError unless the metadata match; `-` also if `b` has more of anything
    than `a`. `a += b` adds to `a` in place, which is the only way to change it. It allocates memory only for what is
    new in `b`, not for a third table, and on error leaves `a` as it was. No other call on `a` may run meanwhile
    (RuntimeError). To sum many counts, use `merged`, or `+=` to hold only one part at a time. `counts.items()` yields
    (bytes, int) in byte order. metadata: how the corpus was cut. columns: the pretokens and counts in the core's
    representation.
    """

    __slots__ = ("columns", "metadata")

    def __init__(self, columns: _core.PretokenCounts, metadata: CountsMetadata) -> None:
        self.columns = columns
        self.metadata = metadata

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[Any] | Corpus,
        pattern: Pattern = "gpt2",
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
    ) -> PretokenCounts:
        """Counts the pretokens of an iterable of str, each a document; memory grows only with the distinct pretokens.

        texts: can also be or yield batches: lists of str, or Arrow text columns. Or pass a `Corpus`, for example of a
        data set of the `datasets` library. No str is made for each document of a `Corpus` or of Arrow.

        special_tokens: literals that are counted as text, with a warning; with corpus_specials="split" (instead of
        "text") they end a document and are left out. threads: 0 for all processors.
        progress: True for a bar, or a function that receives each ProgressEvent. max_memory: bytes, None for no limit.

        Warns if records of a corpus were left out. Raises TypeError for a bare str, a mapping or a table;
        UnicodeEncodeError for lone surrogates; MemoryError if `max_memory` would be exceeded; for a corpus also OSError
        and CorpusError (naming the file and line, row or byte).
        """
        if not isinstance(texts, Corpus):
            check_texts("texts", texts, is_column=is_arrow(texts))
        metadata = checked_metadata(pattern, special_tokens, corpus_specials)
        # The core reads plain files itself, on all threads; going through blocks of a Reading takes a fifth more time.
        is_read = isinstance(texts, Corpus) and not (texts.is_plain and texts.input_errors == "strict")
        with reporter(progress) as report:
            counter = _counter(metadata, threads, max_memory, None if is_read else report)
            if not isinstance(texts, Corpus):
                for _ in _count_batches(counter, texts):
                    pass
            elif is_read:
                _count_blocks(counter, texts.read(joined=True), report)
            else:
                names = [source.name for source in texts.sources]
                warn_of(doubtful_files(names, is_meant=texts.input_format is not None))
                counter.count_files(names)
            counts = cls(counter.finish(), metadata)
        if corpus_specials == "text" and counts.columns.n_special_literals:
            warn(
                f"the corpus contains {counts.columns.n_special_literals} literals of the special tokens "
                f"({', '.join(metadata.special_tokens)}), which were counted as ordinary text; "
                'pass corpus_specials="split" to split documents there and drop them'
            )
        return counts

    @classmethod
    def from_files(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        pattern: Pattern = "gpt2",
        *,
        input_errors: str = "strict",
        **options: Unpack[CountOptions],
    ) -> PretokenCounts:
        """Counts the pretokens of UTF-8 files, each a document unless `corpus_specials="split"` cuts it.

        Files with a suffix of records or compression (.jsonl, .parquet, .arrow, .gz, .zst, .bz2, .xz) are read as
        `Corpus` reads them, with the text in the field "text"; to choose another field, pass a `Corpus` to
        `from_texts`. options: those of `from_texts`.

        Raises OSError for a file that cannot be read; CorpusError (file, byte offset, likely cause) for invalid UTF-8
        unless `input_errors="replace"`; MemoryError if `max_memory` (bytes) would be exceeded.
        """
        check_not_of_corpus(options, "PretokenCounts.from_texts")
        checked = check_paths(paths)
        check_choice("input_errors", input_errors, ("strict", "replace"))
        return cls.from_texts(Corpus(checked, input_errors=input_errors), pattern, **options)

    @classmethod
    def from_items(
        cls,
        items: Mapping[bytes, int] | Iterable[tuple[bytes, int]],
        pattern: Pattern = "gpt2",
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
        n_bytes: int | None = None,
        n_documents: int = 0,
    ) -> PretokenCounts:
        """Makes counts from (pretoken, count) pairs of a cluster or a database; sums the counts of equal pretokens.

        `pattern`, `special_tokens` and `corpus_specials` say how the corpus was cut. Raises TypeError for a pretoken
        that is not bytes or a count that is not an int; ValueError for a count that is negative or beyond 64 bits;
        CountsError if the counts of equal pretokens, or all bytes together, add up to more than 64 bits can hold.
        """
        metadata = checked_metadata(pattern, special_tokens, corpus_specials)
        pairs = _checked_items(items)
        if n_bytes is None:
            n_bytes = sum(len(pretoken) * count for pretoken, count in pairs)
            if n_bytes > _LARGEST_COUNT:
                raise CountsError(f"the pretokens have {n_bytes} bytes in all, which does not fit 64 bits")
        columns = _core.PretokenCounts.from_columns(
            b"".join(pretoken for pretoken, _ in pairs),
            np.cumsum([len(pretoken) for pretoken, _ in pairs], dtype=np.uint64),
            np.array([count for _, count in pairs], dtype=np.uint64),
            (
                check_int("n_bytes", n_bytes, least=0, most=_LARGEST_COUNT),
                check_int("n_documents", n_documents, least=0, most=_LARGEST_COUNT),
                0,
            ),
        )
        return cls(columns, metadata)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Saves atomically: as Parquet if the suffix is .parquet or .pq, else in the format of `pairloom.counts.file`.

        Equal counts produce equal bytes. Raises FileExistsError unless `overwrite`.
        """
        check_bool("overwrite", overwrite)
        file = Path(check_path("path", path))
        counts_file.save(file, self.columns, self._stored_metadata(), overwrite)

    def _stored_metadata(self) -> dict[str, Any]:
        return self.metadata.as_stored() | {
            "n_bytes": self.n_bytes,
            "n_documents": self.n_documents,
            "n_special_literals": self.columns.n_special_literals,
            "tool_version": _core.__version__,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PretokenCounts:
        """Loads counts that `save` wrote; reads a .parquet or .pq file like `from_parquet`.

        Raises OSError, CountsError naming the file, the location and the remedy.
        """
        file = Path(check_path("path", path))
        if counts_file.is_parquet(file):
            return cls.from_parquet(file)
        with file.open("rb") as opened:
            return cls(*counts_file.read_native(opened, str(file)))

    @classmethod
    def from_arrow(
        cls,
        table: Any,
        pattern: Pattern | None = None,
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
    ) -> PretokenCounts:
        """Makes counts from an Arrow table with the columns pretoken (binary or string) and count (integers).

        table: anything with `__arrow_c_stream__` or `__arrow_c_array__`, such as the result of a GROUP BY, in any
        order; counts of equal pretokens are summed. How the text was cut is read from the schema's metadata, as
        `to_arrow` writes them; if there are none, it is in `pattern`, `special_tokens` and `corpus_specials`. Raises
        TypeError for what is not an Arrow table; CountsError for other columns, nulls, negative counts, sums beyond 64
        bits, and if neither source says how the text was cut.
        """
        builder = CountBuilder(pattern, special_tokens=special_tokens, corpus_specials=corpus_specials)
        builder._run(builder._add_tables([table], "table"))
        return builder.finish()

    @classmethod
    def from_parquet(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        pattern: Pattern | None = None,
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
        max_memory: int | None = None,
    ) -> PretokenCounts:
        """Sums Parquet files of counts, or folders of them, as engines write them; reads a part at a time.

        Files hold the columns of `from_arrow`; pattern, special_tokens and corpus_specials are for files without
        metadata. Memory grows only with the distinct pretokens, and MemoryError is raised before it exceeds
        `max_memory` bytes. Raises OSError, CountsError naming the file.
        """
        builder = CountBuilder(
            pattern, special_tokens=special_tokens, corpus_specials=corpus_specials, max_memory=max_memory
        )
        for path in counts_file.parquet_files(paths):
            builder.add_parquet(path)
        return builder.finish()

    def to_arrow(self) -> Any:
        """Returns a pyarrow.Table of pretoken (large_binary) and count (int64), sorted, with metadata in its schema.

        Raises CountsError for a count beyond 63 bits.
        """
        return arrow.counts_table(self.columns, counts_file.metadata_pairs(self._stored_metadata()))

    def pruned(self, min_count: int) -> PretokenCounts:
        """Returns the counts without pretokens that occur fewer than `min_count` times; the metadata record this.

        Training on them takes less memory, but learns other merges than training on the exact counts. Pruned counts
        cannot be added: prune the sum.
        """
        check_int("min_count", min_count, least=1, most=_LARGEST_COUNT)
        least = max(min_count, self.metadata.min_count)
        return PretokenCounts(self.columns.pruned(least), replace(self.metadata, min_count=least))

    @staticmethod
    def merged(parts: Iterable[PretokenCounts]) -> PretokenCounts:
        """Returns the sum of several counts; CountsError unless their metadata agree."""
        listed = list(parts)
        for part in listed:
            if not isinstance(part, PretokenCounts):
                raise TypeError(f"parts must be PretokenCounts, not {type(part).__name__}")
        if not listed:
            raise ValueError("no counts to merge; pass at least one")
        for part in listed[1:]:
            listed[0].metadata.check_addable(part.metadata)
        return PretokenCounts(_core.PretokenCounts.merged([part.columns for part in listed]), listed[0].metadata)

    @property
    def n_bytes(self) -> int:
        """The size of the corpus in bytes of UTF-8."""
        return self.columns.n_bytes

    @property
    def n_documents(self) -> int:
        """The number of documents with text; special tokens that cut a document make several of it."""
        return self.columns.n_documents

    def __len__(self) -> int:
        return len(self.columns)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yields (pretoken, count) in byte order."""
        blob, ends, counts = self.columns.sorted_columns()
        starts = itertools.chain([0], ends.tolist())
        for start, end, count in zip(starts, ends.tolist(), counts.tolist(), strict=False):
            yield blob[start:end], count

    def __add__(self, other: PretokenCounts) -> PretokenCounts:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        return PretokenCounts.merged([self, other])

    def __iadd__(self, other: PretokenCounts) -> PretokenCounts:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        self.metadata.check_addable(other.metadata)
        if other.columns is self.columns:
            self.columns = _core.PretokenCounts.merged([self.columns, other.columns])
        else:
            self.columns.add(other.columns)
        return self

    def __sub__(self, other: PretokenCounts) -> PretokenCounts:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        self.metadata.check_addable(other.metadata)
        return PretokenCounts(self.columns.minus(other.columns), self.metadata)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        return (
            self.metadata == other.metadata
            and len(self) == len(other)
            and (self.n_bytes, self.n_documents) == (other.n_bytes, other.n_documents)
            and all(mine == theirs for mine, theirs in zip(self.items(), other.items(), strict=True))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        columns = self.columns
        text, ends, counts = columns.unsorted_columns()
        totals = columns.n_bytes, columns.n_documents, columns.n_special_literals
        # As arrays, which engines pass between processes without copying (pickle protocol 5).
        return _unpickled, (np.frombuffer(text, np.uint8), ends, counts, totals, self.metadata)

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is too large to hash

    def __repr__(self) -> str:
        return f"PretokenCounts({len(self)} pretokens of {self.n_bytes} bytes in {self.n_documents} documents)"


class CountBuilder:
    """Adds up batches of documents, tables and counts in place; `finish` returns the counts and ends the builder.

    CountBuilder(pattern="gpt2", *, special_tokens=(), corpus_specials="text", threads=0, max_memory=None); the
    arguments are those of `PretokenCounts.from_texts`. With pattern=None, the first counts or table determine how text
    is cut; before them, adding text is a CountsError.
    Memory grows only with the distinct pretokens; MemoryError is raised before it exceeds `max_memory` bytes. If a call
    fails in the middle, what it added is counted in part, so `finish` raises CountsError too; a call that was refused
    before that changes nothing.
    """

    __slots__ = ("_counter", "_is_partial", "_limits", "_metadata", "_totals")

    def __init__(
        self,
        pattern: Pattern | None = "gpt2",
        *,
        special_tokens: Sequence[str] = (),
        corpus_specials: str = "text",
        threads: int = 0,
        max_memory: int | None = None,
    ) -> None:
        checked = checked_metadata(pattern or "gpt2", special_tokens, corpus_specials)
        self._metadata: CountsMetadata | None = None if pattern is None else checked
        # For each (bytes, documents, literals) of totals in tables: (tables that carry them, bytes that they count).
        self._totals: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._is_partial = False
        self._limits = threads, max_memory
        self._counter = _counter(checked, threads, max_memory, None)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Counts texts, each a document; of an iterable that is not a list, holds a few megabytes at a time."""
        check_texts("texts", texts)
        self._check_can_cut()
        if isinstance(texts, (list, tuple)):
            self._counter.count_texts(texts)
        else:
            self._run(_count_batches(self._counter, texts))

    def add_arrow(self, texts: Any) -> None:
        """Counts the rows of an Arrow text column, as `Tokenizer.encode_arrow` takes it; leaves out nulls."""
        self._check_can_cut()
        self._counter.count_arrow(texts)

    def _check_can_cut(self) -> None:
        """Raises CountsError if the pattern is unknown yet, or if the counts so far were pruned."""
        if self._metadata is None:
            raise CountsError("the builder has no pattern to cut text with; pass one, or add counts before text")
        self._metadata.check_addable(self._metadata)

    def _run(self, steps: Iterable[None]) -> None:
        """Takes steps that each count something; if one fails after another, `finish` raises CountsError."""
        before, has_counted = self._metadata, False
        try:
            for _ in steps:
                has_counted = True
        except BaseException:
            if has_counted:
                self._is_partial = True
            else:
                self._metadata = before
            raise

    def add_counts(self, counts: Any) -> None:
        """Adds PretokenCounts, or an Arrow table as `PretokenCounts.from_arrow` takes it.

        Raises CountsError for counts of text that was cut in another way, and for pruned counts.
        """
        if isinstance(counts, PretokenCounts):
            self._check_same_metadata(counts.metadata)
            self._counter.add_counts(counts.columns)
        else:
            self._run(self._add_tables([counts], "counts"))

    def add_parquet(self, path: str) -> None:
        """Adds the counts of a Parquet file, some rows at a time."""
        self._run(self._add_tables(counts_file.read_parquet(path), path))

    def _add_tables(self, tables: Iterable[Any], name: str) -> Iterator[None]:
        """Adds the Arrow tables of one file, or one table, and yields after each; the first carries the metadata.

        If there are no metadata, the totals are the bytes of text that the tables count.
        """
        stored: counts_file.Stored | None = None
        n_text_bytes = 0
        for number, table in enumerate(tables):
            with _errors_of(name):
                pairs, pretokens, counts = arrow.counts_of_table(table)
            if number == 0:
                stored = counts_file.stored_in(pairs, name)
            with _errors_of(name):
                if number == 0:
                    self._take_metadata(stored)
                n_text_bytes += self._counter.add_rows(pretokens, counts)
            yield
        if stored is None:
            self._counter.add_totals(n_text_bytes, 0, 0)
            return
        n_tables, n_counted = self._totals.get(stored.totals, (0, 0))
        self._totals[stored.totals] = n_tables + 1, n_counted + n_text_bytes

    def _take_metadata(self, stored: counts_file.Stored | None) -> None:
        if stored is not None:
            self._check_same_metadata(stored.metadata)
        elif self._metadata is None:
            raise CountsError(
                "the table does not store the pattern that split its text (no metadata 'pairloom.pattern'); pass "
                "pattern to PretokenCounts.from_parquet or from_arrow"
            )

    def _check_same_metadata(self, metadata: CountsMetadata) -> None:
        if self._metadata is None:
            self._counter = _counter(metadata, *self._limits, None)
            self._metadata = metadata
        else:
            self._metadata.check_addable(metadata)

    def finish(self) -> PretokenCounts:
        """Returns the counts of everything added; RuntimeError when called again."""
        if self._metadata is None:
            raise CountsError("no counts to add; pass at least one")
        if self._is_partial:
            raise CountsError("an earlier call failed, so the counts are incomplete; count again from the start")
        # Tables with equal totals that together count no more bytes than these say are parts of one table, which was
        # written to many files, each with the metadata of the whole.
        for (n_bytes, n_documents, n_literals), (n_tables, n_counted) in self._totals.items():
            is_one = 0 < n_counted <= n_bytes
            for _ in range(1 if is_one else n_tables):
                self._counter.add_totals(n_bytes, n_documents, n_literals)
        self._totals.clear()
        return PretokenCounts(self._counter.finish(), self._metadata)


def _unpickled(text: Any, ends: Any, counts: Any, totals: Any, metadata: CountsMetadata) -> PretokenCounts:
    return PretokenCounts(_core.PretokenCounts.from_columns(text, ends, counts, totals, are_distinct=True), metadata)


def _checked_items(items: Any) -> list[tuple[bytes, int]]:
    """Returns (pretoken, count) pairs without empty pretokens and zeros; TypeError or ValueError for a bad item."""
    if isinstance(items, Mapping):
        items = items.items()
    pairs = []
    for item in items:
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            raise TypeError(f"an item must be a pair (bytes, int), not {shown(item)}")
        pretoken, count = item
        if not isinstance(pretoken, bytes):
            raise TypeError(f"a pretoken must be bytes, not {type(pretoken).__name__}")
        check_int(f"the count of {shown(pretoken)}", count, least=0, most=_LARGEST_COUNT)
        if pretoken and count:
            pairs.append((pretoken, count))
    return pairs


def _counter(metadata: CountsMetadata, threads: int, max_memory: int | None, report: Any) -> _core.Counter:
    """Returns an empty counter of the core."""
    return _core.Counter(
        pattern=metadata.pattern,
        special_tokens=list(metadata.special_tokens),
        split=metadata.corpus_specials == "split",
        threads=resolve_threads(threads),
        max_memory=check_max_memory(max_memory),
        report=report,
    )


def _count_blocks(counter: _core.Counter, reading: Reading, report: Any) -> None:
    """Counts the blocks of a reading; reading and counting overlap."""
    done = 0
    if report is not None:
        report("count", 0, reading.total)
    with ReadAhead(reading) as blocks:
        for block in blocks:
            counter.count_block(block.documents, n_bytes_read=3 * block.documents.n_bytes)
            done = block.done
            if report is not None:
                report("count", done, max(reading.total, done))
    reading.warn()


def _count_batches(counter: _core.Counter, texts: Any) -> Iterator[None]:
    """Counts texts, lists of texts and Arrow columns, as `batches_of` takes them; yields after each batch."""
    n_texts = 0
    for batch in batches_of(texts):
        if isinstance(batch, list):
            counter.count_texts(batch, n_texts)
            n_texts += len(batch)
        else:
            counter.count_block(batch)
        yield


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Makes each ValueError a CountsError that begins with `name`."""
    try:
        yield
    except ValueError as error:
        raise CountsError(f"{name}: {error}") from error
