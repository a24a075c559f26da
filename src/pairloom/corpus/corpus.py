"""Corpus: what is read and how, and the blocks that reading gives.

Enters: sources and the options of reading. Leaves: `Block`s in the order of the input, each with its place, so that
reading can be taken up again there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from pairloom import _core
from pairloom.arguments import check_choice, check_int, check_paths, check_texts
from pairloom.corpus.columns import Rows, RowsReader
from pairloom.corpus.compression import PIECE_BYTES, pieces_of, sniffed
from pairloom.corpus.sources import STDIN, InputFormat, Source, resolve
from pairloom.notice import warn

__all__ = ["Block", "Corpus", "Position", "Reading", "is_dataset"]

# A text of an iterable counts as this much more than its characters, so that many empty ones make a block too.
_TEXT_OVERHEAD = 16
_DATASET_ROWS = 1024
_MOST_MESSAGES = 5


class Block(NamedTuple):
    """Some documents.

    source: number of the source they come from; first: how many documents of that source ended before this block.
    n_skipped_before: records left out in the sources before that one. done: how far reading has come, in the unit of
    `Reading.total`.
    """

    documents: _core.Documents
    source: int
    first: int
    n_skipped_before: int
    done: int


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two documents, from which reading can go on.

    source: number of the source; documents: how many of its documents lie before the place. n_bytes and n_skipped:
    the text and the records left out in the sources before it.
    """

    source: int = 0
    documents: int = 0
    n_bytes: int = 0
    n_skipped: int = 0


class Corpus:
    """Documents in files: `Corpus(paths)`; or in memory: `Corpus.of_texts(texts)`.

    paths: a path, glob, folder or URL, "-" for standard input, several of them, or a data set of `datasets`. Suffixes
    say how a file is read: .jsonl, .ndjson and .json hold one JSON object a line, .parquet and .arrow a column,
    anything else plain text; .gz, .zst, .bz2 and .xz after that are decompressed.
    text_field: the key or column of the text; dots lead to nested ones.
    separator: what stands between the documents of plain text; None makes each file one document. Empty documents of
    plain text are none, empty records are.
    max_bytes: read no more text than this. doc_cap: cut each document to this many bytes. Both cut at characters.
    skip_bad: leave out records that cannot be read (`Reading.n_skipped` counts them) instead of raising CorpusError.
    input_errors: "replace" makes U+FFFD of malformed bytes. input_format: "text", "jsonl", "parquet" or "arrow",
    whatever the suffix.

    Raises OSError for a path that is not there, CorpusError for a folder or glob without files.
    """

    def __init__(
        self,
        paths: Any,
        *,
        text_field: str = "text",
        separator: str | None = None,
        max_bytes: int | None = None,
        doc_cap: int | None = None,
        skip_bad: bool = False,
        input_errors: str = "strict",
        input_format: str | None = None,
    ) -> None:
        if not isinstance(text_field, str) or not all(text_field.split(".")):
            raise ValueError(f"text_field must name a key or column, nested ones apart by dots, not {text_field!r}")
        if separator is not None and (not isinstance(separator, str) or not separator):
            raise ValueError(f"separator must be a str of at least one character, not {separator!r}")
        check_choice("input_errors", input_errors, ("strict", "replace"))
        self.text_field = text_field
        self.separator = separator
        self.max_bytes = None if max_bytes is None else check_int("max_bytes", max_bytes, least=1)
        self.doc_cap = None if doc_cap is None else check_int("doc_cap", doc_cap, least=1)
        self.skip_bad = skip_bad
        self.input_errors = input_errors
        self._texts: Any = None
        self.sources: list[Source] = []
        if is_dataset(paths):
            self._texts = paths
        elif isinstance(paths, _Texts):
            self._texts = paths.texts
        else:
            self.sources = resolve(check_paths(paths), input_format)

    @classmethod
    def of_texts(
        cls, texts: Iterable[str] | Any, *, max_bytes: int | None = None, doc_cap: int | None = None
    ) -> Corpus:
        """A corpus of str, each a document."""
        check_texts("texts", texts)
        return cls(_Texts(texts), max_bytes=max_bytes, doc_cap=doc_cap)

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but whole local files of plain text: what the core reads by itself."""
        return (
            self._texts is None
            and self.max_bytes is None
            and self.doc_cap is None
            and self.separator is None
            and all(
                source.format == "text" and source.compression is None and not source.is_remote
                for source in self.sources
            )
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide what good records give; `skip_bad` does not."""
        names = ("text_field", "separator", "max_bytes", "doc_cap", "input_errors")
        return {name: getattr(self, name) for name in names}

    @property
    def listing(self) -> list[dict[str, Any]]:
        """The sources as a manifest names them: path, and size in bytes where there is one."""
        if self._texts is not None:
            return [{"path": "<texts>", "bytes": None}]
        return [{"path": source.name, "bytes": source.n_bytes} for source in self.sources]

    @property
    def names(self) -> list[str]:
        """What messages call the sources."""
        return [source.name for source in self.sources] if self._texts is None else ["<texts>"]

    def is_one_document(self, source: int) -> bool:
        """Whether the source of that number is one document as a whole: plain text without separators."""
        return self._texts is None and self.separator is None and self.sources[source].format == "text"

    def __iter__(self) -> Iterator[str]:
        """The documents as str; the engines take `read()` instead, which makes none."""
        open_text = ""
        for block in self.read():
            for text in block.documents.texts():
                yield open_text + text
                open_text = ""
            open_text += block.documents.open_text()

    def read(self, start: Position | None = None) -> Reading:
        """Reads the corpus once, from `start` on."""
        return Reading(self, start or Position())

    def __repr__(self) -> str:
        return f"Corpus({self.names!r})"


@dataclass(frozen=True, slots=True)
class _Texts:
    """An iterable of str where paths might stand."""

    texts: Iterable[str]


def is_dataset(value: Any) -> bool:
    """Whether `value` is a data set of the `datasets` library, or like one."""
    return hasattr(value, "with_format") and hasattr(value, "iter") and not isinstance(value, type)


class Reading:
    """One pass over a corpus: an iterator of `Block`s.

    total: bytes on the disk, 0 where unknown. n_skipped and messages: records left out so far, and what was wrong with
    the first of them.
    """

    def __init__(self, corpus: Corpus, start: Position) -> None:
        self._corpus = corpus
        self._start = start
        self._sizes = [source.n_bytes or 0 for source in corpus.sources]
        self._quota: _core.Quota | None = None
        if corpus.max_bytes is not None or corpus.doc_cap is not None:
            self._quota = _core.Quota(doc_cap=corpus.doc_cap, max_bytes=corpus.max_bytes)
            self._quota.use_up(start.n_bytes)
        self.total = sum(self._sizes)
        self.n_skipped = start.n_skipped
        self.messages: list[str] = []
        self._blocks = self._read()

    def __iter__(self) -> Iterator[Block]:
        return self._blocks

    def __next__(self) -> Block:
        return next(self._blocks)

    def warn(self) -> None:
        """Warns when records were left out."""
        if self.n_skipped:
            shown = "".join(f"\n  {message}" for message in self.messages)
            warn(f"{self.n_skipped} records that cannot be read were left out; the first:{shown}")

    def _read(self) -> Iterator[Block]:
        n_sources = 1 if self._corpus._texts is not None else len(self._corpus.sources)
        for number in range(self._start.source, n_sources):
            n_documents = 0
            n_skipped_before = self.n_skipped
            before = sum(self._sizes[:number])
            left_out = self._start.documents if number == self._start.source else 0
            for documents, done in self._source(number):
                if self._quota is not None:
                    documents = self._quota.apply(documents)
                first, n_documents = n_documents, n_documents + len(documents)
                if n_documents > left_out or (n_documents == left_out and not documents.is_empty):
                    if first < left_out:
                        documents = documents.skip(left_out - first)
                        first = left_out
                    if not documents.is_empty:
                        yield Block(documents, number, first, n_skipped_before, before + done)
                if self._quota is not None and self._quota.is_full:
                    return

    def _source(self, number: int) -> Iterator[tuple[_core.Documents, int]]:
        """The documents of one source, with how many of its bytes on the disk are read."""
        corpus = self._corpus
        if corpus._texts is not None:
            yield from ((documents, 0) for documents in self._in_memory(corpus._texts))
            return
        source = corpus.sources[number]
        with source.open() as file:
            format: InputFormat = source.format or "text"
            compression = source.compression
            if source.name == STDIN:
                file, looks_like, compression = _looked_at(file)
                format = source.format or looks_like
            if format in ("parquet", "arrow"):
                yield from self._rows_of(source, file, format, compression)
            else:
                yield from self._lines_of(source, file, format, compression)

    def _lines_of(
        self, source: Source, file: BinaryIO, format: InputFormat, compression: str | None
    ) -> Iterator[tuple[_core.Documents, int]]:
        corpus = self._corpus
        replace = corpus.input_errors == "replace"
        reader: _core.PlainText | _core.JsonLines
        if format == "text":
            reader = _core.PlainText(source.name, separator=corpus.separator, replace=replace)
        else:
            field = corpus.text_field.split(".")
            reader = _core.JsonLines(source.name, field=field, replace=replace, skip=corpus.skip_bad)
        before = self.n_skipped
        for piece in pieces_of(file, compression, source.name):
            documents = reader.push(piece)
            self._note(reader, before)
            yield documents, _told(file, source)
        documents = reader.finish()
        self._note(reader, before)
        yield documents, source.n_bytes or 0

    def _note(self, reader: _core.PlainText | _core.JsonLines, before: int) -> None:
        """Keeps the count of left out records, and what was wrong with the first."""
        if isinstance(reader, _core.JsonLines) and reader.n_skipped:
            known = self.n_skipped - before
            self.n_skipped = before + reader.n_skipped
            new = reader.messages[known:] if known < _MOST_MESSAGES else []
            self.messages.extend(new[: _MOST_MESSAGES - len(self.messages)])

    def _rows_of(
        self, source: Source, file: BinaryIO, format: InputFormat, compression: str | None
    ) -> Iterator[tuple[_core.Documents, int]]:
        reader = self._rows_reader(source.name)
        with tempfile.TemporaryFile() as whole:
            if compression is not None or not file.seekable():
                # Both formats are read from several places at once.
                for piece in pieces_of(file, compression, source.name):
                    whole.write(piece)
                whole.seek(0)
                file = whole
            rows = reader.parquet(file) if format == "parquet" else reader.arrow(file)
            for documents, done in self._noted(source.name, rows):
                yield documents, int(done * (source.n_bytes or 0))

    def _rows_reader(self, name: str) -> RowsReader:
        corpus = self._corpus
        replace = corpus.input_errors == "replace"
        return RowsReader(name, corpus.text_field.split("."), replace=replace, skip=corpus.skip_bad)

    def _noted(self, name: str, rows: Iterator[Rows]) -> Iterator[tuple[_core.Documents, float]]:
        for documents, n_skipped, done in rows:
            if n_skipped:
                self.n_skipped += n_skipped
                if len(self.messages) < _MOST_MESSAGES:
                    self.messages.append(f"{name}: {n_skipped} rows whose text is null or not UTF-8")
            yield documents, done

    def _in_memory(self, texts: Any) -> Iterator[_core.Documents]:
        if is_dataset(texts):
            tables = texts.with_format("arrow").iter(batch_size=_DATASET_ROWS)
            n_rows = len(texts) if hasattr(texts, "__len__") else None
            rows = self._rows_reader("<dataset>").tables(tables, n_rows)
            yield from (documents for documents, _ in self._noted("<dataset>", rows))
            return
        batch: list[str] = []
        size = 0
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"a text must be a str, not {type(text).__name__}")
            batch.append(text)
            size += len(text) + _TEXT_OVERHEAD
            if size >= PIECE_BYTES:
                yield _core.Documents.from_texts(batch)
                batch, size = [], 0
        yield _core.Documents.from_texts(batch)


def _told(file: BinaryIO, source: Source) -> int:
    """How many bytes of the file on the disk are read."""
    return file.tell() if source.n_bytes is not None else 0


def _looked_at(file: BinaryIO) -> tuple[BinaryIO, InputFormat, str | None]:
    """Standard input: (file, format, compression); what is compressed or Parquet is told by how it begins."""
    begin = file.read(8)
    compression = sniffed(begin)
    format: InputFormat = "text"
    if begin.startswith(b"PAR1"):
        format = "parquet"
    elif begin.startswith(b"ARROW1"):
        format = "arrow"
    return _Rewound(begin, file), format, compression  # type: ignore[return-value]


class _Rewound:
    """A stream whose first bytes were read already."""

    def __init__(self, begin: bytes, file: BinaryIO) -> None:
        self._begin = begin
        self._file = file

    def read(self, size: int) -> bytes:
        begin, self._begin = self._begin[:size], self._begin[size:]
        return begin + self._file.read(size - len(begin))

    def seekable(self) -> bool:
        return False
