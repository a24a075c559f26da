"""Prose in dozens of languages, from Debian packages that anyone can download.

    PYTHONPATH=benchmarks python -m corpora.prose [SECONDS]      downloads what is missing; `make parity` runs it

Sources are manuals and their translations (manpages-XX, debian-reference-XX, ...) and Django's messages. tests/parity
compares ids on it; without packages there is no prose, and the tests report that.
"""

import json
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from corpora import packages

SHARE_BYTES = int(os.environ.get("PROSE_BYTES", 200_000))
"""How much of a package is taken, about: documents, cut at so many characters, until it is reached. Each language of a
package has as much."""

_FAMILIES = {
    "manpages": "cs da de el es fi fr hu id it ja mk nb nl pl pt pt-br ro ru sr sv tr uk vi zh",
    "aptitude-doc": "cs es fi fr it ja nl ru",
    "debian-reference": "de en es fr id it ja pt pt-br zh-cn zh-tw",
    "debian-faq": "ko",
}
PACKAGES = (
    *(f"{family}-{language}" for family, languages in _FAMILIES.items() for language in languages.split()),
    *("git-doc", "gimp-help-en", "python3-django"),
)
_WANTED = re.compile(r"/man\d?/.*\.[1-8](\.gz)?$|\.x?html?(\.gz)?$|\.txt(\.gz)?$|/locale/[^/]+/.*\.mo$")
# Django's messages in a language.
_LOCALE = re.compile(r"/locale/([^/]+)/")


def kept(package: str) -> Path | None:
    """Returns the package's file, if it was fetched."""
    found = sorted(packages.PACKAGES.glob(f"{package}_*.deb"))
    return found[-1] if found else None


@cache
def documents() -> list[str]:
    """Returns the texts of the available packages, which are kept in a file: unpacking them takes many seconds."""
    paths = {package: path for package in PACKAGES if (path := kept(package))}
    about = [SHARE_BYTES, [path.name for path in paths.values()]]
    file = packages.CORPORA / "prose.json"
    if file.exists() and (found := json.loads(file.read_text(encoding="utf-8")))[0] == about:
        return list(found[1])
    taken: dict[str, int] = {}
    chosen: list[str] = []
    for package, path in paths.items():
        for name, content in sorted(packages.members(path, lambda name: _WANTED.search(name) is not None)):
            locale, text = _LOCALE.search(name), packages.text_of(name, content)
            share = f"{package} {locale[1] if locale else ''}"
            if text.strip() and taken.get(share, 0) < SHARE_BYTES:
                taken[share] = taken.get(share, 0) + len(text[:SHARE_BYTES].encode())
                chosen.append(text[:SHARE_BYTES])
    if paths:
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps([about, chosen]), encoding="utf-8")
        new.replace(file)
    return chosen


def fetch(max_seconds: float) -> None:
    """Fetches missing packages and reports the unavailable ones; starts no further package after so many seconds."""
    deadline = time.monotonic() + max_seconds
    for package in PACKAGES:
        if kept(package):
            continue
        if time.monotonic() > deadline:
            print(f"parity: {package} and later ones were not fetched within {max_seconds:.0f} s", file=sys.stderr)
            return
        try:
            found = packages.download(package)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"parity: {package} cannot be fetched ({error})", file=sys.stderr)
            continue
        if found is None:
            print(f"parity: the archive has no package {package} (has apt-get update run?)", file=sys.stderr)


if __name__ == "__main__":
    fetch(float(sys.argv[1]) if len(sys.argv) > 1 else 900.0)
    n_bytes = sum(len(text.encode()) for text in documents())
    print(f"parity: {len(documents())} documents, {n_bytes / 1e6:.1f} MB, in {packages.PACKAGES}", file=sys.stderr)
