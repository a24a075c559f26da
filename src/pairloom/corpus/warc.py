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


def read_warc(
    pieces: Iterator[bytes],
    name: str,
    *,
    replace: bool,
    skip: bool,
    piece_bytes: int,
    on_skip: Callable[[int, Sequence[str]], None],
) -> Iterator[_core.Documents]:
    """Yields the texts of a file as documents, about `piece_bytes` at a time.

    on_skip: called with the number of records that are left out, and messages.
    """
    texts: list[str] = []
    n_texts = size = 0
    for number, record in enumerate(_records(pieces, name), 1):
        if record.type in _NO_TEXTS:
            continue
        # A record of type conversion can hold an image.
        is_text = record.content_type.startswith("text/plain")
        if not is_text and (record.type != "conversion" or record.content_type):
            message = f"{name}: record {number} is a {record.type or 'record'} of {record.content_type}"
            if not skip:
                raise CorpusError(
                    f"{message}, not text; read the WET files of the crawl, extract the text, or skip such records "
                    "with skip_bad"
                )
            on_skip(1, [message])
            continue
        try:
            texts.append(record.body.decode("utf-8", "replace" if replace else "strict"))
        except UnicodeDecodeError as error:
            message = f"{name}: text {n_texts} is not UTF-8, at its byte {error.start}"
            if not skip:
                raise CorpusError(
                    f'{message}; replace malformed bytes with input_errors="replace", or skip such records with '
                    "skip_bad"
                ) from error
            on_skip(1, [message])
        n_texts, size = n_texts + 1, size + len(record.body)
        if size >= piece_bytes:
            yield _core.Documents.from_texts(texts)
            texts, size = [], 0
    if texts:
        yield _core.Documents.from_texts(texts)


def _records(pieces: Iterator[bytes], name: str) -> Iterator[_Record]:
    held = bytearray()
    number = 0

    def is_there(n_bytes: int) -> bool:
        while len(held) < n_bytes:
            piece = next(pieces, None)
            if piece is None:
                return False
            held.extend(piece)
        return True

    def damaged(what: str) -> CorpusError:
        return CorpusError(f"{name}: not readable as WARC: record {number}: {what}")

    while True:
        # Empty lines end a record; some writers leave more of them, or fewer.
        while is_there(1) and held[0] in b"\r\n":
            del held[0]
        if not held:
            return
        number += 1
        end = held.find(b"\r\n\r\n")
        while end < 0:
            if len(held) > _MAX_HEADER_BYTES:
                raise damaged("its header does not end")
            if not is_there(len(held) + 1):
                raise damaged("its header is incomplete; the file is truncated")
            end = held.find(b"\r\n\r\n")
        lines = bytes(held[:end]).decode("utf-8", "replace").split("\r\n")
        if not lines[0].startswith("WARC/"):
            raise damaged(f"it starts with {lines[0][:40]!r}, not with WARC/")
        headers = {}
        for line in lines[1:]:
            key, _, value = line.partition(":")
            headers[key.strip().lower()] = value.strip()
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 18):
            raise damaged(f"its Content-Length is {length[:40]!r}")
        stop = end + 4 + int(length)
        if not is_there(stop):
            raise damaged("its text is incomplete; the file is truncated")
        body = bytes(memoryview(held)[end + 4 : stop])
        del held[:stop]
        yield _Record(headers.get("warc-type", "").lower(), headers.get("content-type", "").lower(), body)
