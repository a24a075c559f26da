"""Resolves names (paths, folders, globs, URLs, "-") to `Source`s in a fixed order.

The suffixes of a name select the format, and the last one can select a compression; a name without a known suffix is
plain text. A folder stands for all files below it with a known suffix, sorted; a glob for the files that it matches,
sorted. Links are followed. If links lead to a file a second time, within a folder or a glob, it is left out with a
warning, since it would be in the corpus twice.
"""

import contextlib
import dataclasses
import errno
import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast, get_args

from pairloom._internal.arguments import as_text, check_choice
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.urls import errors_of_store, is_url, public_url
from pairloom._internal.warnings import warn
from pairloom.corpus.compression import COMPRESSIONS
from pairloom.corpus.local_files import SKIPPED_PREFIXES, each_once, files_below, is_skipped, name_of, path_order
from pairloom.corpus.remote import check_version, modified_ns, open_remote, version_of
from pairloom.corpus.streams import Stream, is_stream, open_stdin
from pairloom.errors import CorpusError

InputFormat = Literal["text", "jsonl", "parquet", "arrow", "warc"]
"""How the content of a file is read, after decompression."""

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
IN_MEMORY = "<texts>"
"""The name of texts in memory."""

_GLOB_CHARACTERS = frozenset("*?[")

_TABLES = frozenset({".csv", ".tsv"})
"""Suffixes of text that is rarely meant to be a corpus as it is."""

_DESCRIPTIONS = frozenset({"dataset_info.json", "dataset_infos.json", "dataset_dict.json"})
"""Files in which `datasets` describes its data."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file.

    name: as messages and manifests show it; for a URL, its public part. format: how it is read; None for standard
    input, whose first bytes decide. n_bytes: its size on disk, if it has one. mtime_ns: when it was last modified, if
    known. url: the URL to open, including secrets. version: distinguishes this object from later ones of that URL.
    row_group: the only row group of a Parquet file to read. texts: what is read instead of a file.
    """

    name: str
    format: InputFormat | None
    compression: str | None
    n_bytes: int | None
    mtime_ns: int | None = None
    url: str | None = dataclasses.field(default=None, repr=False)
    version: str | None = None
    row_group: int | None = None
    texts: Any = dataclasses.field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The name as messages of the core show it."""
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
    def open(self) -> Iterator[BinaryIO]:
        """Opens the file for reading bytes."""
        if self.name == STDIN:
            yield open_stdin()
        elif self.url is not None:
            with errors_of_store(self.name), open_remote(self.url, self.name, self.n_bytes) as file:
                yield cast(BinaryIO, file)
        else:
            with open(self.name, "rb", buffering=0) as file:
                yield cast(BinaryIO, Stream.of_descriptor(file.fileno()) if is_stream(self.name) else file)

    def check_version(self) -> None:
        """Raises OSError (ESTALE) if a URL names another object now than when it was resolved."""
        if self.url is not None:
            check_version(self.url, self.name, self.n_bytes, self.version)


def resolve(paths: list[str], input_format: str | None = None, *, warns: bool = True) -> list[Source]:
    """Returns the files that `paths` mean, in order; OSError or CorpusError if one means none.

    input_format: the format of all of them; overrides their suffixes. warns: whether to warn about files of a folder
    that are left out, and about tables that are read as plain text.
    """
    if input_format is not None:
        check_choice("input_format", input_format, get_args(InputFormat))
    left_out = _LeftOut()
    sources = [source for path in paths for source in _resolve_one(path, left_out)]
    if not sources:
        raise CorpusError("no input: pass at least one file, folder, glob or URL")
    if warns:
        left_out.warn()
        if len(paths) > 1:
            _warn_of_doubled(sources)
        if input_format is None:
            _warn_of_tables(sources)
        _warn_of_empty(sources)
    if input_format is None:
        return sources
    chosen = cast(InputFormat, input_format)
    return [dataclasses.replace(source, format=chosen) for source in sources]


@dataclass(slots=True)
class _LeftOut:
    """Files of folders and globs that are not read: of unknown suffix, reached again by a link, or skipped by name."""

    unknown: list[str] = dataclasses.field(default_factory=list)
    linked: list[str] = dataclasses.field(default_factory=list)
    skipped_by_name: list[str] = dataclasses.field(default_factory=list)

    def warn(self) -> None:
        if self.unknown:
            verb = "files have" if len(self.unknown) > 1 else "file has"
            warn(
                f"{len(self.unknown)} {verb} no suffix of a corpus ({', '.join(FORMATS)}) and will not be read: "
                f"{as_text(self.unknown[0])}{', ...' if len(self.unknown) > 1 else ''}; pass the files by name, or "
                "pass a glob"
            )
        if self.linked:
            warn(f"{_first_and_others(self.linked)} will not be read: it is a link to a file that is already read")
        if self.skipped_by_name:
            warn(
                f"{_first_and_others(self.skipped_by_name)} will not be read: in folders, names that start with _ or "
                ". usually are "
                "not data; pass the files by name to read them"
            )


def _first_and_others(names: list[str]) -> str:
    return as_text(names[0]) + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _warn_of_tables(sources: list[Source]) -> None:
    """Warns if a file is read as plain text although its suffix is that of a table."""
    for source in sources:
        if _suffix(source.name)[0] in _TABLES:
            warn(
                f"{source.shown} is read as plain text, including separators, quotes and all columns; write the text "
                'column to .jsonl or .parquet, or, to use all of it as text, pass input_format="text"'
            )
            return


def _warn_of_doubled(sources: list[Source]) -> None:
    """Warns if a file is among the sources more than once; ValueError for standard input, which ends only once."""
    if sum(source.name == STDIN for source in sources) > 1:
        raise ValueError("standard input (-) is among the inputs more than once, but can be read only once")
    # Resolve the paths of files with equal size and time only; these are few.
    status = Counter((source.n_bytes, source.mtime_ns) for source in sources)
    alike = [source for source in sources if status[source.n_bytes, source.mtime_ns] > 1]
    files = Counter(source.name if source.is_remote else os.path.realpath(source.name) for source in alike)
    if doubled := [name for name, n in files.items() if n > 1]:
        warn(
            f"{_first_and_others(doubled)} will be read {files[doubled[0]]} times: it is among the inputs more than "
            "once"
        )


def _warn_of_empty(sources: list[Source]) -> None:
    # In a compressed, Parquet or Arrow file, having no bytes is damage, which is an error.
    plain = (source for source in sources if source.compression is None and source.format in ("text", "jsonl"))
    if empty := [source.name for source in plain if source.n_bytes == 0]:
        warn(f"{_first_and_others(empty)}: empty, so without documents")


def _resolve_one(path: str, left_out: _LeftOut) -> Iterator[Source]:
    """Yields the files that a path means."""
    if path == STDIN:
        yield Source(STDIN, None, None, None)
    elif is_url(path):
        with errors_of_store(public_url(path)):
            sources = _remote(path, left_out)
        yield from sources
    elif Path(path).is_dir():
        yield from _folder(path, left_out)
    elif os.path.lexists(path) or not _GLOB_CHARACTERS.intersection(path):
        yield _local(path)
    else:
        # Unlike Path.glob, this takes an absolute path with the pattern in it. With two "**" it repeats paths.
        found = [*{*glob.glob(path, recursive=True)}]  # noqa: PTH207
        names = [name for name in _not_skipped(found, path, left_out) if not Path(name).is_dir()]
        if not names:
            raise CorpusError(f"{path}: the glob matches no files")
        yield from _local_sources(_without_descriptions(names), left_out)


def _not_skipped(found: list[str], pattern: str, left_out: _LeftOut, shown: Callable[[str], str] = str) -> list[str]:
    """Returns the paths that a glob stands for; notes files of a corpus that "**" skips."""
    kept = [path for path in found if not is_skipped(path, pattern)]
    left_out.skipped_by_name += sorted(shown(path) for path in {*found}.difference(kept) if _by_suffix(path)[0])
    return kept


def _local(path: str, status: os.stat_result | None = None) -> Source:
    status = status or Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    format, compression = _by_suffix(path)
    if not stat.S_ISREG(status.st_mode):
        return Source(path, format or "text", compression, None)
    return Source(path, format or "text", compression, status.st_size, status.st_mtime_ns)


def _folder(path: str, left_out: _LeftOut) -> Iterator[Source]:
    skipped: list[str] = []
    names = list(files_below(path, skipped))
    left_out.skipped_by_name += sorted(
        name for name in skipped if _by_suffix(name)[0] is not None or Path(name).is_dir()
    )
    yield from _local_sources(_known_files(path, names, left_out), left_out)


def _known_files(folder: str, names: list[str], left_out: _LeftOut) -> list[str]:
    """Returns the files of a folder that have a suffix of a corpus; CorpusError if there are none."""
    unknown = [name for name in names if _by_suffix(name)[0] is None]
    # Shards of format npy and bin have a manifest in JSON.
    shards = {name.removesuffix(name_of(name)) for name in unknown if name_of(name).startswith("shard-")}
    known = [name for name in names if _by_suffix(name)[0] and name.removesuffix("manifest.json") not in shards]
    if not known:
        raise CorpusError(
            f"{folder}: the folder contains no file with a suffix of a corpus ({', '.join(FORMATS)}, each also with "
            f"{', '.join(COMPRESSIONS)}) and a name that does not start with _ or .; pass the files by name, or pass "
            "a glob"
        )
    left_out.unknown += sorted(unknown, key=path_order)
    return _without_descriptions(known)


def _without_descriptions(names: list[str]) -> list[str]:
    """Returns the files without what `datasets` keeps beside its data: descriptions, and cached results."""
    folders = {name.removesuffix(name_of(name)) for name in names if name_of(name) == "dataset_info.json"}

    def is_data(name: str) -> bool:
        last = name_of(name)
        is_beside = last == "state.json" or last.startswith("cache-")
        return last not in _DESCRIPTIONS and not (is_beside and name.removesuffix(last) in folders)

    return [name for name in names if is_data(name)]


def _local_sources(names: list[str], left_out: _LeftOut) -> Iterator[Source]:
    for name, status in each_once(names, left_out.linked):
        yield _local(name, status)


def _remote(url: str, left_out: _LeftOut) -> list[Source]:
    files, addresses = _expanded(url, left_out)
    sources = []
    for path, address in addresses.items():
        name, info = public_url(address), files.info(path)
        if info.get("mimetype") == "text/html" and _suffix(path)[0] not in (".html", ".htm"):
            raise CorpusError(
                f"{name}: the server sent a web page (text/html), not a file; check the address, and whether it needs "
                "a login. To read the page itself, download it first"
            )
        format, compression = _by_suffix(path)
        status = info.get("size"), modified_ns(info)
        sources.append(Source(name, format or "text", compression, *status, address, version_of(info)))
    return sources


def _expanded(url: str, left_out: _LeftOut) -> tuple[Any, dict[str, str]]:
    """Returns the file system of a URL, and the files that the URL means, as {path there: URL}."""
    name = public_url(url)
    try:
        files, path = import_optional("fsspec", "reading URLs").core.url_to_fs(url)
    except ImportError as error:
        # fsspec brings few protocols itself; its message names the missing libraries.
        raise ImportError(f"{name}: cannot be read without another library: {error}") from error
    is_http = "http" in files.protocol
    # In HTTP, "?" begins the query, and isdir() downloads all of a file.
    is_glob = bool(_GLOB_CHARACTERS.intersection(path.partition("?")[0] if is_http else path))
    if is_glob and not files.exists(path):
        found = _not_skipped(files.glob(path), path, left_out, lambda each: public_url(files.unstrip_protocol(each)))
        paths = [name for name in found if not files.isdir(name)]
        if not paths:
            raise CorpusError(f"{name}: the glob matches no files")
    elif not (is_http and _by_suffix(path)[0] is not None) and files.isdir(path):
        names = []
        for found in files.find(path):
            parts = found.removeprefix(path).split("/")
            if not any(part.startswith(SKIPPED_PREFIXES) for part in parts):
                names.append(found)
            elif _by_suffix(found)[0] is not None and not any(part.startswith(".") for part in parts):
                left_out.skipped_by_name.append(public_url(files.unstrip_protocol(found)))
        paths = _known_files(name, names, left_out)
    else:
        return files, {path: url}
    # What is in an archive is named by the archive, too: zip://a.txt::file:///x.zip.
    first, *archive = url.split("::", 1)
    within = f"::{archive[0]}" if archive and is_url(first) else ""
    return files, {path: files.unstrip_protocol(path) + within for path in sorted(paths)}


def _by_suffix(path: str) -> tuple[InputFormat | None, str | None]:
    """Returns (format, compression) of the suffixes, None for unknown ones; "a.txt.gz" is ("text", "gzip")."""
    suffix, compression = _suffix(path)
    return FORMATS.get(suffix), compression


def _suffix(path: str) -> tuple[str, str | None]:
    """Returns (lower-case suffix without that of a compression, or ""; the compression)."""
    name = name_of(public_url(path) if is_url(path) else path)
    suffixes = [f".{part.lower()}" for part in name.lstrip(".").split(".")[1:]]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    return (suffixes[-1] if suffixes else ""), compression
