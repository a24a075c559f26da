"""Prose in dozens of languages, from Debian packages that anyone can download.

    python -m tests.parity.prose [SECONDS]      downloads what is missing; `make parity` runs it

Sources are manuals and their translations (manpages-XX, debian-reference-XX, ...) and Django's messages. Documents are
grouped by language and ordered by name, with the same upper limit for every language. Packages are kept with those of
the benchmarks. Without them there is no prose, and the tests report that.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from corpora import packages

SHARE_BYTES = 300_000
"""How much of a language is taken, about: whole documents until it is reached."""
ENGLISH_BYTES = 2_000_000
"""How much of English."""

_FAMILIES = {
    "manpages": "cs da de el es fi fr hu id it ja mk nb nl pl pt pt-br ro ru sr sv tr uk vi zh",
    "aptitude-doc": "cs es fi fr it ja nl ru",
    "debian-reference": "de es fr id it ja pt pt-br zh-cn zh-tw",
    "debian-faq": "ko",
}
_ENGLISH = ("debian-reference-en", "git-doc", "gimp-help-en")
_LANGUAGE_OF = {
    f"{family}-{language}": language for family, languages in _FAMILIES.items() for language in languages.split()
} | dict.fromkeys(_ENGLISH, "en")
# Its messages in a language lie under locale/LANGUAGE/.
_OF_MANY_LANGUAGES = "python3-django"
PACKAGES = (*_LANGUAGE_OF, _OF_MANY_LANGUAGES)

_WANTED = re.compile(r"/man\d?/.*\.[1-8](\.gz)?$|\.x?html?(\.gz)?$|\.txt(\.gz)?$|/locale/[^/]+/.*\.mo$")
_LOCALE = re.compile(r"/locale/([^/]+)/")


class Document(NamedTuple):
    """A text, its language, and its package and file."""

    language: str
    name: str
    text: str


def kept(package: str) -> Path | None:
    """Returns the package's file, if it was fetched."""
    found = sorted(packages.PACKAGES.glob(f"{package}_*.deb"))
    return found[-1] if found else None


def missing() -> list[str]:
    """Returns the packages that were not fetched."""
    return [package for package in PACKAGES if kept(package) is None]


@cache
def documents() -> list[Document]:
    """Returns all documents of the available packages."""
    of_language: dict[str, int] = {}
    chosen = []
    for document in _all_documents():
        n_bytes = of_language.get(document.language, 0)
        if n_bytes < (ENGLISH_BYTES if document.language == "en" else SHARE_BYTES):
            of_language[document.language] = n_bytes + len(document.text.encode())
            chosen.append(document)
    return chosen


def _all_documents() -> Iterator[Document]:
    for package in PACKAGES:
        path = kept(package)
        if path is None:
            continue
        for name, content in sorted(packages.members(path, lambda name: _WANTED.search(name) is not None)):
            found = _LOCALE.search(name)
            of_package = _LANGUAGE_OF.get(package)
            language = of_package or (found[1].lower().replace("_", "-") if found else "en")
            text = packages.text_of(name, content)
            # Django's own messages are English, though not prose.
            if text.strip() and (of_package or not language.startswith("en")):
                yield Document(language, f"{package}: {name}", text)


def fetch(max_seconds: float) -> None:
    """Fetches missing packages and reports the unavailable ones; starts no further package after so many seconds."""
    deadline = time.monotonic() + max_seconds
    for package in missing():
        if time.monotonic() > deadline:
            print(f"parity: {len(missing())} packages were not fetched within {max_seconds:.0f} s", file=sys.stderr)
            return
        try:
            found = packages.download(package)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"parity: {package} cannot be fetched ({error})", file=sys.stderr)
            continue
        if found is None:
            print(f"parity: the archive has no package {package} (has apt-get update run?)", file=sys.stderr)


def summary() -> str:
    """Returns one line that says how much prose there is."""
    there = documents()
    n_bytes = sum(len(document.text.encode()) for document in there)
    languages = {document.language for document in there}
    return f"{len(there)} documents, {n_bytes / 1e6:.1f} MB, {len(languages)} languages"


if __name__ == "__main__":
    fetch(float(sys.argv[1]) if len(sys.argv) > 1 else 900.0)
    print(f"parity: {summary()} of prose in {packages.PACKAGES}", file=sys.stderr)
