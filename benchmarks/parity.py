"""Parity-aware and plain training: the Gini coefficient of fifteen languages on translations of the same text.

    PYTHONPATH=benchmarks python benchmarks/parity.py [--vocab-size 32000] [--megabytes 3] [--shares equal]

The texts are the pages of LibreOffice's help, which Debian has in fifteen languages. Of every fifth page the lines that
are translated into all of them are held out to measure, those of the page after it are the reference of
`parity_reference`, and the other pages are trained on, at most so many megabytes of a language. With --shares falling
the n-th language has one n-th of them, as languages differ on the web.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from corpora.build import LISTS, MEGA
from corpora.packages import CORPORA, download, members, text_of

from pairloom import Tokenizer
from pairloom.analysis.report import report

HELD_OUT, REFERENCE = 0, 1
PART = 5


def pages_of(language: str) -> dict[str, str]:
    """The text of each page, by its path below the folder of the language; kept in the folder of the corpora."""
    kept = CORPORA / f"help-{language}.json"
    if not kept.exists():
        package = download(f"libreoffice-help-{language}")
        if package is None:
            raise SystemExit(f"no package libreoffice-help-{language}: run apt-get update, or see benchmarks/corpora")
        found = members(package, lambda name: name.endswith(".html"))
        below = re.compile(r".*/help/[^/]+/")
        kept.write_text(json.dumps({below.sub("", name): text_of(name, content) for name, content in found}))
    pages: dict[str, str] = json.loads(kept.read_text())
    return pages


def parts_of(pages: dict[str, dict[str, str]], n_bytes: int, falling: bool) -> dict[str, dict[str, list[str]]]:
    """The texts of each language that are trained on, the reference, and those that are held out.

    English is only there to tell what is translated: other lines are left out, and of the reference and the held-out
    pages those that any language lacks, so that they say the same in all.
    """
    english = pages["en-us"]
    languages = [language for language in pages if language != "en-us"]
    parts: dict[str, dict[str, list[str]]] = {
        part: {language: [] for language in languages} for part in ("train", "reference", "held out")
    }
    left = {language: n_bytes // (rank if falling else 1) for rank, language in enumerate(languages, 1)}
    for index, name in enumerate(sorted(set.intersection(*map(set, pages.values())))):
        lines = english[name].split("\n")
        of_page = {language: pages[language][name].split("\n") for language in languages}
        part = {HELD_OUT: "held out", REFERENCE: "reference"}.get(index % PART, "train")
        if part != "train" and {len(theirs) for theirs in of_page.values()} != {len(lines)}:
            continue
        are_all = [
            all(line != theirs[at] for theirs in of_page.values()) for at, line in enumerate(lines) if part != "train"
        ]
        for language, theirs in of_page.items():
            if part == "train":
                text = "\n".join(line for line in theirs if line not in lines) + "\n"
                left[language] -= len(text.encode())
                if left[language] < 0:
                    continue
            else:
                text = "".join(line + "\n" for line, is_kept in zip(theirs, are_all, strict=True) if is_kept)
            parts[part][language].append(text)
    return parts


def main() -> None:
    """Prints a row for each kind of training."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--megabytes", type=float, default=3)
    parser.add_argument("--shares", choices=["equal", "falling"], default="equal")
    given = parser.parse_args()
    pages = {language: pages_of(language) for language in ["en-us", *LISTS["fifteen_languages"]]}
    parts = parts_of(pages, int(given.megabytes * MEGA), given.shares == "falling")
    train = parts["train"]
    n_bytes = {language: sum(len(text.encode()) for text in texts) for language, texts in train.items()}
    sizes = [len("".join(texts).encode()) for part in ("reference", "held out") for texts in parts[part].values()]
    print(f"reference and held-out texts: {min(sizes) / 1000:.0f} to {max(sizes) / 1000:.0f} kB of a language")
    print(f"{sum(n_bytes.values()) / MEGA:.1f} MB:", *(f"{name} {n / MEGA:.1f}" for name, n in n_bytes.items()))
    texts = [text for of_language in train.values() for text in of_language]
    ways: dict[str, Callable[[], Tokenizer]] = {
        "plain": lambda: Tokenizer.train(texts, given.vocab_size),
        "parity": lambda: Tokenizer.train(None, given.vocab_size, parity=train),
        "parity_reference": lambda: Tokenizer.train(
            None, given.vocab_size, parity=train, parity_reference=parts["reference"]
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        held_out = {language: Path(folder, f"{language}.txt") for language in train}
        for language, path in held_out.items():
            path.write_text("".join(parts["held out"][language]), encoding="utf-8")
        print("| training | seconds | Gini of tokens | Gini of tokens a byte | worst premium | tokens of all |")
        print("|---|---|---|---|---|---|")
        for name, learn in ways.items():
            began = time.perf_counter()
            tokenizer = learn()
            seconds = time.perf_counter() - began
            by_text, by_byte = (report({name: tokenizer}, held_out, parallel=parallel)[0] for parallel in (True, False))
            premium = max(by_text.premiums.values())
            n_tokens = int(sum(by_text.costs.values()))
            row = f"| {name} | {seconds:.1f} | {by_text.gini:.3f} | {by_byte.gini:.3f} | {premium:.2f} | {n_tokens:,} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
