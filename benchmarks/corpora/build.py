"""Builds the corpora of the benchmarks from Debian packages, which anyone can download.

    PYTHONPATH=benchmarks python -m corpora.build [english] [multilingual] [code] [mixed]

packages.toml lists the packages. The result is built/<name>-<MB>.txt, UTF-8, and a JSON file with its sha256, the
versions of the packages, and how much distinct text there is. Text is never repeated to reach a size: of lines longer
than 30 characters only the first occurrence is kept (code keeps its lines, but each file occurs once; the mixed corpus
is the text of the others and more code), and if the packages have too little text, the corpus is smaller. Documents are
ordered by a hash of their names, so a smaller corpus is a prefix and a fair sample of the larger one.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from corpora.packages import CODE, CORPORA, NOT_PROSE, PROSE, TRANSLATION, download, members, text_of, version

MEGA = 1_000_000
SIZES = {
    "english": (80, 350),
    "multilingual": (80, 350),
    "code": (80, 350),
    "mixed": (100, 200, 500, 1000, 2000),
}
LISTS = {
    name: words.split() for name, words in tomllib.loads((Path(__file__).parent / "packages.toml").read_text()).items()
}
Wanted = Callable[[str], bool]
Source = tuple[int, str, Wanted]
"""(tier, package, which of its files): a corpus takes the first tier whole before the second."""


def english() -> Iterator[Source]:
    """Packages of English prose; of those in many languages, the English files."""
    other = re.compile(r"\.(de|fr|es|ja|ko|tr|ru|da|zh-cn|pt-br|it)(\.|$)|/(ja|fr|de|es|it|pt|ca|tr|zh)/")

    def wanted(name: str) -> bool:
        return bool(PROSE.search(name)) and not NOT_PROSE.search(name) and not other.search(name)

    for package in LISTS["english"]:
        if package in ("debian-handbook", "installation-guide-amd64"):
            yield 0, package, lambda name: wanted(name) and bool(re.search(r"/en(-US)?/", name))
        else:
            yield 0, package, wanted


def multilingual() -> Iterator[Source]:
    """Translated manuals and messages: first of fifteen languages, then of as many as there are."""
    for tier, languages in enumerate((LISTS["fifteen_languages"], LISTS["more_languages"])):
        codes = {code for language in languages for code in spellings(language)}

        def wanted(name: str, codes: set[str] = codes) -> bool:
            if not (TRANSLATION.search(name) or (PROSE.search(name) and not NOT_PROSE.search(name))):
                return False
            parts = {*name.split("/"), Path(name).stem}
            return bool(parts & codes) or any(f"-{code}_" in name or f"-{code}/" in name for code in codes)

        for language in languages:
            for family in LISTS["families"]:
                yield tier, f"{family}-{language}", lambda name: bool(TRANSLATION.search(name) or PROSE.search(name))
        for package in LISTS["many_languages"]:
            yield tier, package, wanted


def spellings(language: str) -> set[str]:
    """How a language's folder may be named: pt-br, pt_BR, pt-BR; de, de-DE, de_DE."""
    base, _, region = language.partition("-")
    upper = (region or base).upper()
    special = {
        "cs": "CZ",
        "el": "GR",
        "ja": "JP",
        "ko": "KR",
        "vi": "VN",
        "hi": "IN",
        "zh": "CN",
        "da": "DK",
        "sv": "SE",
    }
    upper = region.upper() or special.get(base, upper)
    return {language, f"{base}_{upper}", f"{base}-{upper}"}


def code() -> Iterator[Source]:
    """C sources; headers that a program wrote (register tables of graphics cards) are left out."""
    for package in LISTS["code"]:
        yield 0, package, lambda name: bool(CODE.search(name)) and "asic_reg" not in name


def all_code() -> Iterator[Source]:
    """Sources in any language, which reach 2 GB where C alone does not."""
    any_source = re.compile(r"\.([chS]|cc|cpp|dtsi?|go|ad[bs]|f90|py|rst|exp)$")
    for package in LISTS["code"]:
        yield 0, package, lambda name: bool(any_source.search(name)) and "asic_reg" not in name


PLANS = {"english": english, "multilingual": multilingual, "code": code, "mixed": all_code}


def distinct_lines(text: str, seen: set[bytes]) -> str:
    """The text without the long lines seen before."""
    kept = []
    for line in text.split("\n"):
        if len(line) > 30:
            mark = hashlib.blake2b(line.encode(errors="replace"), digest_size=8).digest()
            if mark in seen:
                continue
            seen.add(mark)
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))


class Spool:
    """Distinct documents in a file, and where each is, in the order of tier and hash once sorted."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.seen: set[bytes] = set()
        self.locations: list[tuple[int, bytes, int, int]] = []
        self.n_bytes = 0
        self.n_bytes_given = 0

    def add(self, tier: int, name: str, text: str, *, by_lines: bool) -> None:
        """Adds a document of some length that is not there yet; `by_lines` takes off the lines that are."""
        text = text.replace("<|endoftext|>", "")
        given = text.encode(errors="replace")
        document = distinct_lines(text, self.seen).encode(errors="replace") if by_lines else given
        self.n_bytes_given += len(given)
        mark = hashlib.blake2b(document, digest_size=8).digest()
        if len(document) > 200 and mark not in self.seen:
            self.seen.add(mark)
            key = hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest()
            self.locations.append((tier, key, self.n_bytes, len(document)))
            self.file.write(document)
            self.n_bytes += len(document)

    def read(self, location: tuple[int, bytes, int, int]) -> bytes:
        self.file.seek(location[2])
        return self.file.read(location[3])


def build(name: str) -> None:
    """Writes all sizes of one corpus."""
    largest = SIZES[name][-1] * MEGA
    versions: dict[str, str] = {}
    with tempfile.TemporaryFile(dir=CORPORA) as file:
        spool = Spool(file)
        for part in ("english", "multilingual") if name == "mixed" else ():
            path = corpus(part, SIZES[part][-1])
            versions[path.stem] = json.loads(path.with_suffix(".json").read_text())["sha256"]
            for number, text in enumerate(stretches(path)):
                spool.add(0, f"{path.stem}/{number}", text, by_lines=False)
        for tier, package, wanted in PLANS[name]():
            # A little more than is needed, so that the hash order has a choice.
            if spool.n_bytes > largest * 11 // 10 or (deb := download(package)) is None:
                continue
            versions[package] = version(deb)
            before = spool.n_bytes
            for member, content in members(deb, wanted):
                spool.add(tier, f"{package}/{member}", text_of(member, content), by_lines=not CODE.search(member))
                if spool.n_bytes - before > largest // (1 if name in ("code", "mixed") else 6):
                    break
            print(f"  {package:<28} {(spool.n_bytes - before) / MEGA:8.1f} MB", file=sys.stderr)
        spool.locations.sort()
        for size in SIZES[name]:
            write(name, size, spool, versions)


def stretches(path: Path) -> Iterator[str]:
    """A file in stretches of whole lines of about 64 kB."""
    with path.open("rb") as file:
        while data := file.read(1 << 16):
            yield (data + file.readline()).decode()


def write(name: str, size: int, spool: Spool, versions: dict[str, str]) -> None:
    """One size: documents in order until it is reached, and the JSON beside the file."""
    path = CORPORA / f"{name}-{size}.txt"
    digest = hashlib.sha256()
    n_bytes = n_documents = 0
    with path.open("wb") as file:
        for location in spool.locations:
            if n_bytes >= size * MEGA:
                break
            document = spool.read(location) + b"\n\n"
            file.write(document)
            digest.update(document)
            n_bytes += len(document)
            n_documents += 1
    facts = {
        "bytes": n_bytes,
        "documents": n_documents,
        "distinct": "every line over 30 characters" if name in ("english", "multilingual") else "every document",
        "asked_bytes": size * MEGA,
        "distinct_bytes_available": spool.n_bytes,
        "bytes_before_removing_repetitions": spool.n_bytes_given,
        "sha256": digest.hexdigest(),
        "packages": versions,
    }
    path.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{path.name}: {n_bytes / MEGA:.1f} MB in {n_documents} documents", file=sys.stderr)


def corpus(name: str, size: int) -> Path:
    """The path of a corpus, built if it is not there."""
    path = CORPORA / f"{name}-{size}.txt"
    if not path.with_suffix(".json").exists():
        CORPORA.mkdir(exist_ok=True)
        build(name)
    return path


if __name__ == "__main__":
    CORPORA.mkdir(exist_ok=True)
    for wanted_name in sys.argv[1:] or PLANS:
        build(wanted_name)
