"""Corpus: the sources and options of reading, and the iterator of `Block`s that reading returns.

Blocks come in the order of the input. Each says where it stands, so that reading can resume from a `Position`.
"""

import contextlib
import errno
import itertools
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_choice, check_int, check_paths, check_texts, shown
from pairloom._internal.atomic import naming
from pairloom._internal.warnings import warn
from pairloom.corpus.columns import RowsReader
from pairloom.corpus.compression import PIECE_BYTES, pieces_of, sniffed
from pairloom.corpus.content import DigestedFile, digest_of
from pairloom.corpus.first_bytes import BEGIN_BYTES, doubt_of, warn_of
from pairloom.corpus.origins import Origins
from pairloom.corpus.sources import IN_MEMORY, STDIN, InputFormat, Source, resolve
from pairloom.corpus.streams import Stream
from pairloom.corpus.text_batches import TEXT_OVERHEAD, batches_of, is_arrow
from pairloom.corpus.warc import read_warc
from pairloom.errors import CorpusError

_DATASET_ROWS = 1024
_MAX_MESSAGES = 5
# System errors that are not about the file itself.
_SYSTEM_ERRNOS = {errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EINTR, errno.ESTALE}


@dataclass(frozen=True, slots=True)
class Position:
    """A boundary between two documents, from which reading can be resumed.

    source: index of the source. documents: number of its documents before the boundary. source_bytes, source_skipped:
    bytes of text and skipped records in earlier sources.
    """

    source: int = 0
    documents: int = 0
    source_bytes: int = 0
    source_skipped: int = 0


class Part(NamedTuple):
    """What a block holds of one source: the number of its documents before this part, and where the part begins."""

    start: int
    point: Position


class Block(NamedTuple):
    """Consecutive documents of one source, or of several if they are read `joined`.

    parts: one for each source. done: progress, in the unit of `Reading.total`. origins: of the documents, if asked for.
    """

    documents: _core.Documents
    parts: list[Part]
    done: int
    origins: Origins | None = None

    @property
    def source(self) -> int:
        """Index of the first source."""
        return self.parts[0].point.source

    @property
    def first(self) -> int:
        """Number of documents of the first source that ended before this block."""
        return self.parts[0].point.documents


_Read = tuple[_core.Documents, int, Origins | None]
"""Documents of a source, how many of its bytes on disk were read, and where the documents come from, if known."""


class SkippedFile(NamedTuple):
    """A file that was left out because it cannot be read. input: index of the source."""

    input: int
    path: str
    reason: str


class Corpus:
    """Documents in files: `Corpus(paths)`; or in memory: `Corpus.of_texts(texts)`.

    paths: a path, glob, folder or URL, "-" for standard input, several of them, or a data set of `datasets`. Suffixes
    select the format: .jsonl, .ndjson and .json hold one JSON object per line, .parquet and .arrow a text column, .warc
    and .wet the texts of a crawl, anything else plain text; a further .gz, .zst, .bz2 or .xz is decompressed.
    text_field: the key or column of the text. Dots separate the names of nested fields, and a name that ends with []
    holds a list, each text of which is a document: "messages[].content". Columns can hold text or UTF-8 bytes.
    separator: the text between documents of plain text; None makes each file one document. Empty plain-text documents
    are dropped; empty records are kept.
    doc_cap: truncate each document to this many bytes. max_bytes: stop after this many bytes of text, counted after
    that truncation. Both truncate at a character boundary.
    skip_bad: skip records that cannot be read (`Reading.n_skipped` counts them) instead of raising CorpusError.
    skip_bad_files: leave out files that cannot be read to their end (`Reading.skipped_files` lists them). Each file is
    read twice, since damage may only show at the end; a remote file or a pipe is copied to a temporary file first.
    input_errors: "replace" turns malformed bytes and lone surrogates into U+FFFD. input_format: "text", "jsonl",
    "parquet", "arrow" or "warc"; overrides the suffix.

    Warns about files of a folder that have no such suffix and are left out, and about .csv, .tsv and JSON that are read
    as text.
    Raises OSError for a path that does not exist, CorpusError for a folder or glob without files.
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
        skip_bad_files: bool = False,
        input_errors: str = "strict",
        input_format: str | None = None,
    ) -> None:
        if not isinstance(text_field, str) or not all(text_field.split(".")):
            raise ValueError(
                f"text_field must be a key or column, with dots between nested fields, not {shown(text_field)}"
            )
        if separator is not None and (not isinstance(separator, str) or not separator):
            raise ValueError(f"separator must be a str of at least one character, not {shown(separator)}")
        check_choice("input_errors", input_errors, ("strict", "replace"))
        self.text_field = text_field
        self.separator = separator
        self.max_bytes = None if max_bytes is None else check_int("max_bytes", max_bytes, least=1)
        self.doc_cap = None if doc_cap is None else check_int("doc_cap", doc_cap, least=1)
        self.skip_bad = check_bool("skip_bad", skip_bad)
        self.skip_bad_files = check_bool("skip_bad_files", skip_bad_files)
        self.input_errors = input_errors
        self.input_format = input_format
        if is_dataset(paths):
            if getattr(paths, "format", {}).get("type") == "custom":
                raise ValueError(
                    "the dataset has a transform that its columns do not contain; apply it with map, or pass "
                    "dataset.with_format(None)"
                )
            if separator is not None or input_format is not None:
                warn("separator and input_format are ignored: they apply to files, not to a dataset")
            self.sources = [Source(IN_MEMORY, None, None, None, texts=paths)]
        elif isinstance(paths, Source):
            self.sources = [paths]
        else:
            self.sources = resolve(check_paths(paths), input_format)
            formats = {source.format for source in self.sources}
            if separator is not None and "text" not in formats:
                warn("separator is ignored: it applies to plain text only, and no input is plain text")
            if text_field != "text" and formats <= {"text", "warc"}:
                warn("text_field is ignored: it applies to records only, and the inputs are plain text")

    @classmethod
    def of_texts(
        cls, texts: Iterable[str] | Any, *, max_bytes: int | None = None, doc_cap: int | None = None
    ) -> "Corpus":
        """Makes a corpus of str, each a document; lists of str and Arrow text columns are batches of documents."""
        check_texts("texts", texts, is_column=is_arrow(texts))
        if isinstance(texts, Iterator) and not is_arrow(texts):
            texts = _Once(texts)
        return cls(Source(IN_MEMORY, None, None, None, texts=texts), max_bytes=max_bytes, doc_cap=doc_cap)

    @property
    def is_plain(self) -> bool:
        """Whether all sources are local plain-text files that are read whole, so that the core can read them itself."""
        return (
            self.max_bytes is None
            and self.doc_cap is None
            and self.separator is None
            and not self.skip_bad_files
            and all(source.is_plain for source in self.sources)
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options that affect the documents of undamaged inputs; `skip_bad` and `skip_bad_files` do not."""
        names = ("text_field", "separator", "max_bytes", "doc_cap", "input_errors", "input_format")
        return {name: getattr(self, name) for name in names}

    @property
    def listing(self) -> list[dict[str, Any]]:
        """The sources as manifest entries: path, size in bytes and modification time, None where unknown."""
        return [{"path": source.name, "bytes": source.n_bytes, "mtime_ns": source.mtime_ns} for source in self.sources]

    @property
    def names(self) -> list[str]:
        """The names of the sources, for messages."""
        return [source.shown for source in self.sources]

    def is_one_document(self, source: int) -> bool:
        """Whether source `source` is one document: plain text without a separator."""
        return self.separator is None and self.sources[source].format == "text"

    def __iter__(self) -> Iterator[str]:
        """Yields the documents as str, then warns. `read` is faster: it makes no str."""
        open_text = ""
        reading = self.read()
        for block in reading:
            for text in block.documents.texts():
                yield open_text + text
                open_text = ""
            open_text += block.documents.open_text()
        reading.warn()

    def read(
        self,
        start: Position | None = None,
        *,
        piece_bytes: int | None = None,
        digests: dict[int, str] | None = None,
        joined: bool = False,
        origins: bool = False,
        id_field: str | None = None,
    ) -> "Reading":
        """Returns one pass over the corpus from `start`.

        piece_bytes: about how much text a block holds. digests: receives, by index, the digest of the bytes (XXH3, 128
        bits) of each source that is read to its end. joined: whether a block may hold the documents of several small
        files. origins: whether blocks say where their documents come from. id_field: the key or column of a document's
        id, a text or an integer.
        """
        wanted = (origins, [] if id_field is None else id_field.split("."))
        return Reading(self, start or Position(), piece_bytes, digests, joined, wanted)

    def line_reader(self, format: str | None, name: str, **origins: Any) -> _core.PlainText | _core.JsonLines:
        """Returns the core's reader of plain text or JSON lines; origins: further arguments of JsonLines."""
        replaces = self.input_errors == "replace"
        if format == "text":
            return _core.PlainText(name, separator=self.separator, replace=replaces)
        field = self.text_field.split(".")
        return _core.JsonLines(name, field=field, replace=replaces, skip=self.skip_bad, **origins)

    def check_id_field(self, id_field: str) -> None:
        """Raises ValueError unless each source can have a field or column of that name."""
        if not isinstance(id_field, str) or not all(id_field.split(".")) or "[]" in id_field:
            raise ValueError(f"id_field must be a key or column, not {shown(id_field)}")
        for source in self.sources:
            if source.format not in ("jsonl", "parquet", "arrow"):
                other = "standard input, which needs input_format" if source.texts is None else "texts in memory"
                raise ValueError(
                    f"{source.shown}: id_field applies to JSON lines, Parquet and Arrow only, but this is "
                    f"{source.format or other}"
                )

    def __repr__(self) -> str:
        return f"Corpus({self.names!r})"


class _Once:
    """An iterator of texts: what is left for a second pass would be taken for an empty corpus, so it is an error."""

    def __init__(self, texts: Iterator[Any]) -> None:
        self._texts: Iterator[Any] | None = texts

    def __iter__(self) -> Iterator[Any]:
        texts, self._texts = self._texts, None
        if texts is None:
            raise ValueError("the texts of this Corpus are an iterator, which was read already; pass a list of them")
        return texts


def check_not_of_corpus(options: Iterable[str], call: str) -> None:
    """Raises TypeError for an option of `Corpus` in a call that takes paths; `call` is one that takes a Corpus."""
    for name in options:
        if name in (Corpus.__init__.__kwdefaults__ or ()):
            raise TypeError(f"{name} is an option of Corpus; pass Corpus(paths, {name}=...) to {call}")


def is_dataset(value: Any) -> bool:
    """Whether `value` has the interface of a data set of the `datasets` library."""
    return hasattr(value, "with_format") and hasattr(value, "iter") and not isinstance(value, type)


@dataclass(slots=True)
class _SourceState:
    """The state of reading one source from `start`. is_used: whether any of its text was passed on."""

    start: Position
    n_documents: int = 0
    is_used: bool = False


class Reading:
    """One pass over a corpus: an iterator of `Block`s.

    total: bytes on disk, 0 if unknown; with `max_bytes`, bytes of text. n_skipped: records skipped so far. messages:
    the reasons for the first of them. skipped_files: files that were left out. To leave out the files that an earlier
    reading left out, add them here before the first block.
    """

    def __init__(
        self,
        corpus: Corpus,
        start: Position,
        piece_bytes: int | None = None,
        digests: dict[int, str] | None = None,
        joined: bool = False,
        origins: tuple[bool, list[str]] = (False, []),
    ) -> None:
        self._corpus = corpus
        self._has_origins, self._id_field = origins
        self._start = start
        self._piece_bytes = piece_bytes or PIECE_BYTES
        self._digests = digests
        self._number = 0
        self._sizes = [source.n_bytes or 0 for source in corpus.sources]
        self._before = [0, *itertools.accumulate(self._sizes)]
        self._limit: _core.ByteLimit | None = None
        if corpus.max_bytes is not None or corpus.doc_cap is not None:
            self._limit = _core.ByteLimit(doc_cap=corpus.doc_cap, max_bytes=corpus.max_bytes)
            self._limit.use_up(start.source_bytes)
        self.total = self._expected_total()
        self.n_skipped = start.source_skipped
        self.messages: list[str] = []
        self.skipped_files: list[SkippedFile] = []
        self._doubts: dict[str, list[str]] = {}
        self._n_text_bytes = start.source_bytes
        self._blocks = _join_blocks(self._read(), self._piece_bytes // 4) if joined else self._read()

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        return next(self._blocks)

    def close(self) -> None:
        """Closes open files."""
        self._blocks.close()

    def warn(self) -> None:
        """Warns if records or files were left out, or if files are probably not text."""
        warn_of(self._doubts)
        if self.n_skipped:
            shown = "".join(f"\n  {message}" for message in self.messages)
            warn(f"{self.n_skipped} records that could not be read were skipped; the first:{shown}")
        if self.skipped_files:
            some = self.skipped_files[:_MAX_MESSAGES]
            shown = "".join(f"\n  {file.reason}" for file in some)
            warn(f"{len(self.skipped_files)} files that could not be read were skipped; the first:{shown}")

    def _expected_total(self) -> int:
        """Returns the total to read, in the unit of `Block.done`."""
        corpus = self._corpus
        if corpus.max_bytes is None:
            return sum(self._sizes)
        if corpus.sources and all(source.is_plain for source in corpus.sources):
            return min(sum(self._sizes), corpus.max_bytes)
        return corpus.max_bytes

    def _read(self) -> Generator[Block]:
        known = {file.input for file in self.skipped_files}
        for number, source in enumerate(self._corpus.sources):
            if number < self._start.source or number in known:
                continue
            left_out = self._start.documents if number == self._start.source else 0
            state = _SourceState(Position(number, left_out, self._n_text_bytes, self.n_skipped))
            try:
                for documents, done, origins in self._source(number):
                    block = self._block(state, documents, done, origins)
                    if block is not None:
                        yield block
                    if self._limit is not None and self._limit.is_full:
                        source.check_version()
                        return
                source.check_version()
            except (CorpusError, OSError) as found:
                error = _true_cause(source, found)
                is_of_file = isinstance(error, CorpusError) or error.errno not in _SYSTEM_ERRNOS
                is_left_out = self._corpus.skip_bad_files and source.texts is None and is_of_file
                if state.is_used or not is_left_out:
                    raise error from error.__cause__
                reason = str(error) if isinstance(error, CorpusError) else f"{source.shown}: {error.strerror or error}"
                if left_out:
                    raise CorpusError(
                        f"{reason}; it cannot be skipped, because {left_out} of its documents were already "
                        "used; start again without the file"
                    ) from error
                self.skipped_files.append(SkippedFile(number, source.name, reason))

    def _block(
        self, state: _SourceState, documents: _core.Documents, done: int, origins: Origins | None
    ) -> Block | None:
        """Returns the block of those documents that are passed on; None if there are none."""
        if self._limit is not None:
            documents = self._limit.apply(documents)
        self._n_text_bytes += documents.n_bytes
        first, left_out = state.n_documents, state.start.documents
        state.n_documents += len(documents)
        if self._has_origins:
            origins = origins or Origins(np.arange(first, state.n_documents), None)
            origins = origins.part(max(left_out - first, 0), len(documents))
        if first < left_out:
            documents = documents.skip(left_out - first)
            first = left_out
        if documents.is_empty:
            return None
        state.is_used = True
        done = self._before[state.start.source] + done if self._corpus.max_bytes is None else self._n_text_bytes
        return Block(documents, [Part(0, replace(state.start, documents=first))], done, origins)

    def _source(self, number: int) -> Iterator[_Read]:
        """Yields the documents of one source."""
        corpus, source = self._corpus, self._corpus.sources[number]
        if source.texts is not None:
            yield from self._in_memory(source.texts)
            return
        self._number = number
        with naming(source.name), contextlib.ExitStack() as stack:
            file = stack.enter_context(source.open())
            if corpus.skip_bad_files:
                if source.is_remote or not file.seekable():
                    file = stack.enter_context(self._copied(source, file, None))
                self._test(source, file)
            yield from self._documents_of(source, file)

    def _test(self, source: Source, file: BinaryIO) -> None:
        """Reads a file to its end before any of it is used, so that damage leaves out the whole file."""
        n_skipped, n_messages, start = self.n_skipped, len(self.messages), file.tell()
        try:
            for _ in self._documents_of(source, file):
                pass
        finally:
            self.n_skipped = n_skipped
            del self.messages[n_messages:]
        file.seek(start)

    @contextlib.contextmanager
    def _copied(self, source: Source, file: BinaryIO, compression: str | None) -> Iterator[BinaryIO]:
        """Yields a temporary file with the bytes of another, decompressed."""
        with tempfile.TemporaryFile() as whole:
            for piece in self._pieces(source, file, compression):
                whole.write(piece)
            whole.seek(0)
            yield cast(BinaryIO, whole)

    def _documents_of(self, source: Source, file: BinaryIO) -> Iterator[_Read]:
        format: InputFormat = source.format or "text"
        compression = source.compression
        if source.name == STDIN:
            file, looks_like, compression = _detect_stdin_format(file)
            format = source.format or looks_like
        if format in ("parquet", "arrow"):
            yield from self._rows_of(source, file, format, compression)
        elif format == "warc":
            texts = read_warc(
                self._text_pieces(source, file, compression),
                source.shown,
                replace=self._corpus.input_errors == "replace",
                skip=self._corpus.skip_bad,
                piece_bytes=self._piece_bytes,
                on_skip=self._note_skipped,
            )
            for documents in texts:
                yield documents, _bytes_read(file, source), None
        else:
            yield from self._lines_of(source, file, format, compression)

    def _lines_of(
        self, source: Source, file: BinaryIO, format: InputFormat, compression: str | None
    ) -> Iterator[_Read]:
        wanted = {"origins": self._has_origins, "id_field": self._id_field}
        reader = self._corpus.line_reader(format, source.shown, **wanted)
        n_skipped, n_messages, origins = 0, 0, None
        try:
            for piece in itertools.chain(self._text_pieces(source, file, compression), [None]):
                documents = reader.finish() if piece is None else reader.push(piece)
                if isinstance(reader, _core.JsonLines):
                    if n := reader.n_skipped - n_skipped:
                        self._note_skipped(n, reader.messages[n_messages:])
                        n_skipped, n_messages = reader.n_skipped, len(reader.messages)
                    if self._has_origins:
                        lines, ids = reader.take_origins()
                        origins = Origins(lines, ids if self._id_field else None)
                yield documents, _bytes_read(file, source), origins
        except MemoryError as error:
            raise MemoryError(f"{source.shown}: {error}") from error

    def _note_skipped(self, n: int, messages: Sequence[str]) -> None:
        """Counts skipped records, and keeps the messages of the first ones."""
        self.n_skipped += n
        self.messages.extend(messages[: _MAX_MESSAGES - len(self.messages)])

    def _pieces(self, source: Source, file: BinaryIO, compression: str | None) -> Iterator[bytes]:
        # Not of a URL, which would have to be read again to compare digests.
        digested = None if self._digests is None or source.is_remote else DigestedFile(file)
        yield from pieces_of(
            file if digested is None else cast(BinaryIO, digested),
            compression,
            source.shown,
            n_bytes=source.n_bytes,
            piece_bytes=self._piece_bytes,
        )
        if digested is not None and self._digests is not None:
            self._digests[self._number] = digested.hex()

    def _text_pieces(self, source: Source, file: BinaryIO, compression: str | None) -> Iterator[bytes]:
        """Like `_pieces`, but raises CorpusError for what is not text, and notes what may not be."""
        is_first = True
        for piece in self._pieces(source, file, compression):
            if is_first:
                if kind := _core.not_text(piece[:BEGIN_BYTES]):
                    raise CorpusError(f"{source.shown}: {kind}")
                if doubt := self._why_doubtful(source, piece):
                    names = self._doubts.setdefault(doubt, [])
                    if source.shown not in names:
                        names.append(source.shown)
                is_first = False
            yield piece

    def _why_doubtful(self, source: Source, piece: bytes) -> str | None:
        """Returns why a file that begins with this piece is probably not meant to be read this way; None if it is."""
        separator = self._corpus.separator or ""
        is_text = source.format in ("text", None)
        if is_text and "\n" in separator and "\r" not in separator and piece.partition(b"\n")[0].endswith(b"\r"):
            wanted = separator.replace("\n", "\r\n").encode("unicode_escape").decode()
            return f'lines that end with CR LF, but the separator has only LF; pass separator="{wanted}"'
        if "\0" in separator:
            return None
        return doubt_of(piece[:BEGIN_BYTES], is_meant=not is_text or self._corpus.input_format is not None)

    def _rows_of(self, source: Source, file: BinaryIO, format: InputFormat, compression: str | None) -> Iterator[_Read]:
        reader = self._rows_reader(source.shown)
        with contextlib.ExitStack() as stack:
            is_copied = compression is not None or not file.seekable()
            if is_copied:
                # Both formats need random access.
                file = stack.enter_context(self._copied(source, file, compression))
            rows = reader.parquet(file, source.row_group) if format == "parquet" else reader.arrow(file)
            for documents, done, origins in rows:
                yield documents, int(done * (source.n_bytes or 0)), origins
            if self._digests is not None and not is_copied and not source.is_remote:
                file.seek(0)
                self._digests[self._number] = digest_of(file)

    def _rows_reader(self, name: str) -> RowsReader:
        origins = self._has_origins, self._id_field
        return RowsReader(self._corpus, name, self._piece_bytes, self._note_skipped, *origins)

    def _in_memory(self, texts: Any) -> Iterator[_Read]:
        if is_dataset(texts):
            reader = self._rows_reader("<dataset>")
            if hasattr(texts, "__len__"):
                rows = reader.tables(texts.with_format("arrow").iter(batch_size=_DATASET_ROWS), len(texts))
            else:
                rows = reader.stream(texts, _DATASET_ROWS)
            yield from ((documents, 0, origins) for documents, _, origins in rows)
            return
        first = 0
        for batch in batches_of(texts, self._piece_bytes):
            yield _core.Documents.from_texts(batch, first=first) if isinstance(batch, list) else batch, 0, None
            first += len(batch)


def _join_blocks(blocks: Iterator[Block], max_bytes: int) -> Generator[Block]:
    """Joins consecutive blocks of at most `max_bytes` together, since each block costs a call into the core."""
    held: list[Block] = []
    n_held = 0
    try:
        for block in blocks:
            n_bytes = block.documents.n_bytes + TEXT_OVERHEAD * len(block.documents)
            if held and n_held + n_bytes > max_bytes:
                yield _one(held)
                held, n_held = [], 0
            held.append(block)
            n_held += n_bytes
    except (CorpusError, OSError):
        if held:
            yield _one(held)
        raise
    if held:
        yield _one(held)


def _one(blocks: list[Block]) -> Block:
    """Joins consecutive blocks into one."""
    if len(blocks) == 1:
        return blocks[0]
    parts: list[Part] = []
    start = 0
    for block in blocks:
        parts += [part._replace(start=start + part.start) for part in block.parts]
        start += len(block.documents)
    origins = [block.origins for block in blocks if block.origins is not None]
    documents = _core.Documents.joined([block.documents for block in blocks])
    return Block(documents, parts, blocks[-1].done, Origins.joined(origins) if origins else None)


def _true_cause(source: Source, error: CorpusError | OSError) -> CorpusError | OSError:
    """Returns the error, or one saying that the file has changed meanwhile, which explains any other."""
    try:
        source.check_version()
    except OSError as found:
        if found.errno == errno.ESTALE:
            return found
    return error


def _bytes_read(file: BinaryIO, source: Source) -> int:
    """Returns how many bytes of the file on disk were read."""
    return file.tell() if source.n_bytes is not None else 0


def _detect_stdin_format(file: BinaryIO) -> tuple[BinaryIO, InputFormat, str | None]:
    """Returns (file, format, compression) of standard input; first bytes show compression, Parquet and Arrow."""
    begin = file.read(8)
    compression = sniffed(begin)
    format: InputFormat = "text"
    if begin.startswith(b"PAR1"):
        format = "parquet"
    elif begin.startswith(b"ARROW1"):
        format = "arrow"
    return cast(BinaryIO, Stream(file.read, begin)), format, compression
