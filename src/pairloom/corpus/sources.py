"""Resolves names (paths, folders, globs, URLs, "-") to `Source`s in a fixed order.

The suffixes of a name select the format, and the last one the compression; a name without a known suffix is plain text.
A folder stands for all files below it with a known suffix, sorted; a glob for the files that it matches, sorted. Links
are followed. What a link leads to a second time, within a folder or a glob, is left out with a warning: it would be in
the corpus twice, or, of links in a circle, forty times.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, cast, get_args

from pairloom._internal.arguments import as_text, check_choice
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.urls import errors_of_store, is_url, public_url
from pairloom._internal.warnings import warn
from pairloom.corpus.compression import COMPRESSIONS
from pairloom.corpus.local_files import each_once, files_below, matching, path_order
from pairloom.corpus.remote import check_version, modified_ns, open_remote, version_of
from pairloom.corpus.streams import Stream, is_stream, open_stdin, open_stream
from pairloom.errors import CorpusError

__all__ = ["STDIN", "InputFormat", "Source", "is_for_corpus", "resolve", "warn_of_tables"]

InputFormat = Literal["text", "jsonl", "parquet", "arrow", "warc"]
"""How the inside of a file is read, once it is decompressed."""

FORMATS: dict[str, InputFormat] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".warc": "warc",
    ".wet": "warc",
}

STDIN = "-"

_GLOB_CHARACTERS = frozenset("*?[")

_TABLES = frozenset({".csv", ".tsv"})
"""Suffixes of text that is mostly not meant to be a corpus as it is."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file.

    name: as messages and manifests show it; of a URL what is public. format: how it is read; None for standard input,
    which is looked at. n_bytes: its size on the disk, where it has one. mtime_ns: when it was modified last, where that
    is known. url: what a URL is opened by, secrets included. version: by what its store tells this object from a later
    one. row_group: the only one of a Parquet file that is read.
    """

    name: str
    format: InputFormat | None
    compression: str | None
    n_bytes: int | None
    mtime_ns: int | None = None
    url: str | None = dataclasses.field(default=None, repr=False)
    version: str | None = None
    row_group: int | None = None

    @property
    def shown(self) -> str:
        """Its name as messages of the core show it."""
        return as_text(self.name)

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return self.url is not None

    @property
    def is_plain(self) -> bool:
        """Whether it is a local file of plain text that supports random access."""
        return self.format == "text" and self.compression is None and not self.is_remote and self.n_bytes is not None

    @contextlib.contextmanager
    def open(self, stop: threading.Event) -> Iterator[BinaryIO]:
        """The file, opened for reading bytes; reading from a pipe ends with ReadingStopped once `stop` is set."""
        if self.name == STDIN:
            yield open_stdin(stop)
        elif self.url is not None:
            with errors_of_store(self.name), open_remote(self.url, self.name, self.n_bytes, stop) as file:
                yield cast(BinaryIO, file)
        elif self.n_bytes is None and is_stream(self.name):
            descriptor = open_stream(self.name)
            try:
                yield cast(BinaryIO, Stream(descriptor, stop))
            finally:
                os.close(descriptor)
        else:
            with open(self.name, "rb", buffering=0) as file:
                yield cast(BinaryIO, file)

    def check_version(self) -> None:
        """Raises OSError (ESTALE) for a URL that names another object now than when it was resolved."""
        if self.url is not None:
            check_version(self.url, self.name, self.n_bytes, self.version)


def resolve(paths: list[str], input_format: str | None = None, *, warns: bool = True) -> list[Source]:
    """The files that `paths` mean, in order; OSError or CorpusError for one that means none.

    input_format: format of all of them; overrides their suffixes. warns: whether to warn of files left out of a
    folder, and of tables that are read as plain text.
    """
    if input_format is not None:
        check_choice("input_format", input_format, get_args(InputFormat))
    left_out: list[str] = []
    doubled: list[str] = []
    sources = [source for path in paths for source in _resolve_one(path, left_out, doubled)]
    if not sources:
        raise CorpusError("no input: name at least one file, folder, glob or URL")
    if warns and left_out:
        verb = "files have" if len(left_out) > 1 else "file has"
        warn(
            f"{len(left_out)} {verb} no suffix of a corpus ({', '.join(FORMATS)}) and will not be read: "
            f"{as_text(left_out[0])}{', ...' if len(left_out) > 1 else ''}; name what is to be read, or pass a glob"
        )
    if warns and doubled:
        more = f" and {len(doubled) - 1} others" if len(doubled) > 1 else ""
        warn(f"{as_text(doubled[0])}{more} will not be read: by way of a link it is what is read already")
    if input_format is None:
        if warns:
            warn_of_tables([source.name for source in sources])
        return sources
    chosen = cast(InputFormat, input_format)
    return [dataclasses.replace(source, format=chosen) for source in sources]


def warn_of_tables(paths: list[str]) -> None:
    """Warns if one of these files is a table by its suffix, which is read as plain text."""
    for path in paths:
        if _suffix(path)[0] in _TABLES:
            warn(
                f"{as_text(path)} is read as plain text, with separators, quotes and all columns; write the column of "
                'the text to .jsonl or .parquet, or, if all of it is meant, pass input_format="text"'
            )
            return


def _resolve_one(path: str, left_out: list[str], doubled: list[str]) -> Iterator[Source]:
    """The files that a path means.

    Appends files of a folder that are no corpus to `left_out`, what links lead to again to `doubled`.
    """
    if path == STDIN:
        yield Source(STDIN, None, None, None)
    elif is_url(path):
        with errors_of_store(public_url(path)):
            sources = _remote(path, left_out)
        yield from sources
    elif Path(path).is_dir():
        yield from _folder(path, left_out, doubled)
    elif os.path.lexists(path) or not _GLOB_CHARACTERS.intersection(path):
        yield _local(path)
    else:
        names = [name for name in matching(path) if not Path(name).is_dir()]
        if not names:
            raise CorpusError(f"{path}: the glob matches no file")
        yield from _each_once(names, doubled)


def _local(path: str, status: os.stat_result | None = None) -> Source:
    status = status or Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    format, compression = _by_suffix(path)
    if not stat.S_ISREG(status.st_mode):
        return Source(path, format or "text", compression, None)
    return Source(path, format or "text", compression, status.st_size, status.st_mtime_ns)


def _folder(path: str, left_out: list[str], doubled: list[str]) -> Iterator[Source]:
    names = list(files_below(path))
    known = [name for name in names if _by_suffix(name)[0] is not None]
    if not known:
        raise CorpusError(
            f"{path}: the folder holds no file with a suffix of a corpus ({', '.join(FORMATS)}, each also with "
            f"{', '.join(COMPRESSIONS)}); name the files or pass a glob"
        )
    left_out += _others(names)
    yield from _each_once(known, doubled)


def _each_once(names: list[str], doubled: list[str]) -> Iterator[Source]:
    for name, status in each_once(names, doubled):
        yield _local(name, status)


def _others(names: list[str]) -> list[str]:
    """Those without a known suffix, sorted, but for names like _SUCCESS, with which engines mark their folders."""
    others = (name for name in names if _by_suffix(name)[0] is None)
    return sorted(
        (name for name in others if not PurePosixPath(path_order(name)).name.startswith(("_", "."))), key=path_order
    )


def _remote(url: str, left_out: list[str]) -> list[Source]:
    files, addresses = _expanded(url, left_out)
    sources = []
    for path, address in addresses.items():
        name, info = public_url(address), files.info(path)
        if info.get("mimetype") == "text/html" and _suffix(path)[0] not in (".html", ".htm"):
            raise CorpusError(
                f"{name}: a web page came (text/html), not a file; check the address, or whether it asks to log in; if "
                "the page is meant, download it"
            )
        format, compression = _by_suffix(path)
        status = info.get("size"), modified_ns(info)
        sources.append(Source(name, format or "text", compression, *status, address, version_of(info)))
    return sources


def _expanded(url: str, left_out: list[str]) -> tuple[Any, dict[str, str]]:
    """The file system of a URL, and the files that the URL means: their paths there, and the URL of each."""
    name = public_url(url)
    try:
        files, path = _fsspec().core.url_to_fs(url)
    except ImportError as error:
        # fsspec brings few protocols by itself; its message names the libraries.
        raise ImportError(f"{name}: cannot be read before a library is installed: {error}") from error
    is_http = "http" in files.protocol
    # There "?" begins the query. To see whether something is a folder, HTTP reads all of it.
    is_glob = bool(_GLOB_CHARACTERS.intersection(path.partition("?")[0] if is_http else path))
    if is_glob and not files.exists(path):
        paths = [name for name in files.glob(path) if not files.isdir(name)]
        if not paths:
            raise CorpusError(f"{name}: the glob matches no file")
    elif not (is_http and _by_suffix(path)[0] is not None) and files.isdir(path):
        names = files.find(path)
        paths = [name for name in names if _by_suffix(name)[0] is not None]
        left_out += map(public_url, _others(names))
        if not paths:
            raise CorpusError(f"{name}: the folder holds no file with a suffix of a corpus; pass a glob")
    else:
        return files, {path: url}
    return files, {path: files.unstrip_protocol(path) for path in sorted(paths)}


def _by_suffix(path: str) -> tuple[InputFormat | None, str | None]:
    """(format, compression) that the suffixes mean, None for unknown ones; "a.txt.gz" is ("text", "gzip")."""
    suffix, compression = _suffix(path)
    return FORMATS.get(suffix), compression


def _suffix(path: str) -> tuple[str, str | None]:
    """(the suffix in lower case, or "", without that of a compression; the compression that the latter means)."""
    name = public_url(path) if is_url(path) else Path(path).as_posix()
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    return (suffixes[-1] if suffixes else ""), compression


def is_for_corpus(path: str) -> bool:
    """Whether a `Corpus` must read it: records, compressed text, a URL, or a pipe, for which the core would wait."""
    format, compression = _by_suffix(path)
    return compression is not None or format not in (None, "text") or is_url(path) or is_stream(path)


def _raise(error: OSError) -> None:
    raise error


def _fsspec() -> Any:
    return import_optional("fsspec", "reading URLs")
