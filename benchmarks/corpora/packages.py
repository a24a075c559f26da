"""Extracts documents of plain text from Debian packages of documentation, translations or source code.

Markup is removed. Packages are downloaded with `apt-get download`, which needs no root and does not change the system,
and kept in built/packages.
"""

from __future__ import annotations

import gzip
import html
import re
import struct
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

CORPORA = Path(__file__).parent / "built"
PACKAGES = CORPORA / "packages"

PROSE = re.compile(r"\.(x?html?|txt|rst|md|pod|adoc|page|xml|texi|[1-8])(\.gz)?$")
CODE = re.compile(r"\.[ch]$")
TRANSLATION = re.compile(r"\.(mo|po)$")
# Indexes, searches and change logs are lists of names, not prose.
NOT_PROSE = re.compile(
    r"genindex|/search|changelog|ChangeLog|_sources|index-all|index-files|copyright|/src/|NEWS|-members"
)

INVISIBLE = re.compile(r"<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->", re.S | re.I)
BREAK = re.compile(r"</?(p|div|br|h\d|li|tr|dt|dd|pre|table|ul|ol|section|para|title)\b[^<>]*>", re.I)
TAG = re.compile(r"<[^<>]*>")
MSGSTR = re.compile(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', re.M)


@cache
def known_packages() -> frozenset[str]:
    """The names of the packages that the archive has; `apt-get update` must have run once."""
    done = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def download(package: str) -> Path | None:
    """The package's file, downloaded unless it is there; None where the archive has no such package."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    found = sorted(PACKAGES.glob(f"{package}_*.deb"))
    if not found and package in known_packages():
        subprocess.run(["apt-get", "download", package], cwd=PACKAGES, capture_output=True, check=False)
        found = sorted(PACKAGES.glob(f"{package}_*.deb"))
    return found[-1] if found else None


def version(deb: Path) -> str:
    """The version in a package's file name."""
    return deb.name.split("_")[1].replace("%3a", ":")


def members(deb: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the wanted files of a package; source tarballs inside it are opened too."""
    pipe = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        with tarfile.open(fileobj=pipe.stdout, mode="r|") as outer:
            for member in outer:
                stream = outer.extractfile(member) if member.isfile() else None
                packed = re.search(r"\.tar\.(xz|gz|bz2)$", member.name)
                if stream and packed:
                    with tarfile.open(fileobj=stream, mode=f"r|{packed[1]}") as source:  # type: ignore[call-overload]
                        yield from _files(source, wanted)
                elif stream and wanted(member.name):
                    yield member.name, stream.read()
    finally:
        pipe.kill()
        pipe.wait()


def _files(archive: tarfile.TarFile, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        if member.isfile() and wanted(member.name):
            stream = archive.extractfile(member)
            yield member.name, stream.read() if stream else b""


def text_of(name: str, content: bytes) -> str:
    """The plain text of one file; empty when it is not UTF-8."""
    try:
        if name.endswith(".gz"):
            name, content = name[:-3], gzip.decompress(content)
        if name.endswith(".mo"):
            return without_markup(compiled_translations(content))
        text = content.decode()
    except (UnicodeDecodeError, OSError, EOFError, struct.error):
        return ""
    if name.endswith(".po"):
        return without_markup(source_translations(text))
    return without_markup(text) if name.endswith((".html", ".htm", ".xhtml", ".page", ".xml")) else text


def without_markup(text: str) -> str:
    """The readable text of HTML or XML."""
    text = TAG.sub("", BREAK.sub("\n", INVISIBLE.sub("", text)))
    text = re.sub(r"[ \t]+\n", "\n", html.unescape(text))
    return re.sub(r"\n{3,}", "\n\n", text)


def compiled_translations(content: bytes) -> str:
    """The translated messages of a GNU .mo file: magic, version, n, where the originals and the translations are."""
    magic, _, n_messages, _, table = struct.unpack("<5I", content[:20])
    if magic != 0x950412DE:
        return ""
    messages = []
    for index in range(n_messages):
        length, offset = struct.unpack("<2I", content[table + 8 * index : table + 8 * index + 8])
        messages.append(content[offset : offset + length].replace(b"\0", b"\n").decode())
    return "\n".join(messages)


def source_translations(text: str) -> str:
    """The translated messages of a .po file."""
    parts = (" ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match)) for match in MSGSTR.findall(text))
    return "\n".join(part.replace('\\"', '"').replace("\\n", "\n") for part in parts if part)
