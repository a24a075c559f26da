"""Corpora of six shapes, different for every seed, to test the error interval of `estimate`."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow
from pyarrow import parquet

from pairloom import Tokenizer

_SYLLABLES = ("ka", "lo", "mi", "ner", "to", "s", "ing", "al", "be", "ur", "che", "ion")
_WORDS = {
    name: ["".join(random.Random(f"{name} {number}").choices(syllables, k=1 + number % 4)) for number in range(300)]
    for name, syllables in {
        "latin": _SYLLABLES,
        "greek": tuple("αβγδεικλμνοπρστ"),
        "cyrillic": tuple("абвгдежзиклмнопрсту"),
        "digits": tuple("0123456789"),
        "han": tuple("的一是不了人我在有他这中大来上国"),
    }.items()
}

_WORD_BYTES = {name: len(" ".join(words).encode()) / len(words) for name, words in _WORDS.items()}


def tokenizer() -> Tokenizer:
    """Returns a tokenizer that knows some languages' words better than others'."""
    rng = random.Random(0)
    return Tokenizer.train(" ".join(rng.choices(_WORDS["latin"], k=9000) + rng.choices(_WORDS["greek"], k=300)), 700)


def _text(rng: random.Random, n_bytes: int, language: str = "latin", end: str = " ") -> str:
    return end.join(rng.choices(_WORDS[language], k=max(round(n_bytes / _WORD_BYTES[language]), 1)))


def _lines(rng: random.Random, n_bytes: int, lengths: Callable[[], float], language: str = "latin") -> str:
    lines, size = [], 0
    while size < n_bytes:
        lines.append(json.dumps({"id": rng.randrange(10**6), "text": _text(rng, int(lengths()), language)}) + "\n")
        size += len(lines[-1])
    return "".join(lines)


def _one_line(rng: random.Random, folder: Path, size: int) -> None:
    (folder / "a.txt").write_text(_text(rng, size), encoding="utf-8")


def _long_last_line(rng: random.Random, folder: Path, size: int) -> None:
    share = rng.uniform(0.02, 0.6)
    lines = [_text(rng, 60) + "\n" for _ in range(int(size * (1 - share) / 60))]
    last = _text(rng, int(size * share), rng.choice(["latin", "digits"]))
    (folder / "a.txt").write_text("".join(lines) + last, encoding="utf-8")


def _heavy_tails(rng: random.Random, folder: Path, size: int) -> None:
    share = rng.uniform(0.0005, 0.01)
    long = rng.choice(["digits", "latin", "cyrillic"])
    lines: list[str] = []
    total = 0
    while total < size:
        is_long = rng.random() < share
        n_bytes, language = (100_000, long) if is_long else (rng.randrange(20, 400), "latin")
        lines.append(json.dumps({"text": _text(rng, n_bytes, language)}, ensure_ascii=False) + "\n")
        total += len(lines[-1].encode())
    (folder / "a.jsonl").write_text("".join(lines), encoding="utf-8")


def _compressed(rng: random.Random, folder: Path, size: int) -> None:
    for number in range(30):
        language = rng.choice(["latin", "latin", "greek"])
        text = _lines(rng, int(3 * size / 30 * rng.uniform(0.3, 1.7)), lambda: rng.lognormvariate(5, 1), language)
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 1))


def _parquet(rng: random.Random, folder: Path, size: int) -> None:
    texts, total = [], 0
    language = "latin"
    while total < size:
        language = rng.choice(["latin", "latin", "greek"]) if rng.random() < 0.002 else language
        texts.append(_text(rng, int(rng.lognormvariate(5, 1.5)), language))
        total += len(texts[-1].encode())
    table = pyarrow.table({"text": texts})
    parquet.write_table(table, folder / "a.parquet", row_group_size=max(len(texts) // 60, 1), compression="none")


def _many_files(rng: random.Random, folder: Path, size: int) -> None:
    for number in range(300):
        language = rng.choice(["latin", "latin", "latin", "digits"])
        text = _text(rng, int(size / 300 * rng.lognormvariate(-0.5, 1)), language)
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")


SHAPES: dict[str, Callable[[random.Random, Path, int], None]] = {
    "one line": _one_line,
    "a long last line": _long_last_line,
    "heavy tails": _heavy_tails,
    "compressed files": _compressed,
    "Parquet": _parquet,
    "many files": _many_files,
}
"""How a corpus of about so many bytes is written into a folder."""
