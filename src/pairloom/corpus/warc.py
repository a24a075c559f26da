"""WARC -> documents: the texts of Common Crawl's WET files, and other records of plain text.

A record is a line with the version, headers, an empty line, as many bytes as Content-Length says, and two line ends.
Source: ISO 28500, WARC/1.0 and 1.1. Memory is a few blocks, or one record if that is longer.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pairloom import _core
from pairloom.errors import CorpusError

# Records about the crawl or about other records.
_NO_TEXTS = {"warcinfo", "request", "metadata", "revisit"}
# Longer than any real header.
_MAX_HEADER_BYTES = 1 << 20


class _Record(NamedTuple):
    type: str
    content_type: str
    body: bytes


class WarcReader:
    """Reads the texts of one file. on_skip: called with the number of records that are left out, and messages."""

    def __init__(
        self,
        name: str,
        *,
        replace: bool,
        skip: bool,
        piece_bytes: int,
        on_skip: Callable[[int, Sequence[str]], None],
    ) -> None:
        self._name, self._replace, self._skip = name, replace, skip
        self._piece_bytes, self._on_skip = piece_bytes, on_skip
        self._n_records = self._n_texts = 0

    def read(self, pieces: Iterator[bytes]) -> Iterator[_core.Documents]:
        """Yields the documents, some at a time."""
        bodies: list[bytes] = []
        size = 0
        for record in self._records(pieces):
            if not self._is_text(record):
                continue
            bodies.append(record.body)
            size += len(record.body)
            if size >= self._piece_bytes:
                yield self._documents(bodies)
                bodies, size = [], 0
        if bodies:
            yield self._documents(bodies)

    def _records(self, pieces: Iterator[bytes]) -> Iterator[_Record]:
        held = bytearray()

        def is_there(n_bytes: int) -> bool:
            while len(held) < n_bytes:
                piece = next(pieces, None)
                if piece is None:
                    return False
                held.extend(piece)
            return True

        while True:
            # Empty lines end a record; some writers leave more of them, or fewer.
            while is_there(1) and held[0] in b"\r\n":
                del held[0]
            if not held:
                return
            self._n_records += 1
            end = held.find(b"\r\n\r\n")
            while end < 0:
                if len(held) > _MAX_HEADER_BYTES:
                    raise self._damaged("its header does not end")
                if not is_there(len(held) + 1):
                    raise self._damaged("its header is incomplete; the file is truncated")
                end = held.find(b"\r\n\r\n")
            lines = bytes(held[:end]).decode("utf-8", "replace").split("\r\n")
            if not lines[0].startswith("WARC/"):
                raise self._damaged(f"it starts with {lines[0][:40]!r}, not with WARC/")
            headers = {}
            for line in lines[1:]:
                key, _, value = line.partition(":")
                headers[key.strip().lower()] = value.strip()
            length = headers.get("content-length", "")
            if not (length.isascii() and length.isdigit() and len(length) < 18):
                raise self._damaged(f"its Content-Length is {length[:40]!r}")
            stop = end + 4 + int(length)
            if not is_there(stop):
                raise self._damaged("its text is incomplete; the file is truncated")
            body = bytes(memoryview(held)[end + 4 : stop])
            del held[:stop]
            yield _Record(headers.get("warc-type", "").lower(), headers.get("content-type", "").lower(), body)

    def _is_text(self, record: _Record) -> bool:
        """Whether a record is a document; CorpusError for a page that is not text, unless such records are left out."""
        if record.type in _NO_TEXTS:
            return False
        # A record of type conversion can hold an image.
        if record.content_type.startswith("text/plain") or (record.type == "conversion" and not record.content_type):
            return True
        message = f"{self._name}: record {self._n_records} is a {record.type or 'record'} of {record.content_type}"
        if not self._skip:
            raise CorpusError(
                f"{message}, not text; read the WET files of the crawl, extract the text, or skip such records with "
                "skip_bad"
            )
        self._on_skip(1, [message])
        return False

    def _documents(self, bodies: list[bytes]) -> _core.Documents:
        texts, n_skipped = [], 0
        for number, body in enumerate(bodies, self._n_texts):
            try:
                texts.append(body.decode("utf-8", "replace" if self._replace else "strict"))
            except UnicodeDecodeError as error:
                if not self._skip:
                    raise CorpusError(
                        f"{self._name}: text {number} is not UTF-8, at its byte {error.start}; replace malformed bytes "
                        'with input_errors="replace", or skip such records with skip_bad'
                    ) from error
                n_skipped += 1
        self._n_texts += len(bodies)
        if n_skipped:
            self._on_skip(n_skipped, [f"{self._name}: {n_skipped} texts are not UTF-8"])
        return _core.Documents.from_texts(texts)

    def _damaged(self, what: str) -> CorpusError:
        return CorpusError(f"{self._name}: not readable as WARC: record {self._n_records}: {what}")
