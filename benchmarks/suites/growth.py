"""Cost against size: corpora from 100 MB to 2 GB, vocabularies from 1k to 256k, and pretokens that never end.

No worse than linear growth is asked of the first two; of the last, no faster than n log n.
"""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Callable
from pathlib import Path

from peer_process import median, run, turns
from report.section import Claim, Section, Setup, Table

VOCABULARIES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
# Timing noise on shared machines; a quadratic step would be far above it.
TOLERANCE = 1.35


def measure(setup: Setup) -> Section:
    """The two curves and the long pretokens."""
    section = Section("growth")
    by_corpus_size(setup, section)
    by_vocabulary_size(setup, section)
    by_pretoken_length(setup, section)
    return section


def by_corpus_size(setup: Setup, section: Section) -> None:
    table = Table(
        "training to 32,000 on ever more of one mixed corpus",
        [
            "MB",
            "distinct pretokens",
            "counting s",
            "merging s",
            "seconds",
            "peak GB",
            "gigatoken s",
            "gigatoken peak GB",
        ],
    )
    section.tables.append(table)
    for corpus in setup.growing:
        job = {"path": str(corpus.path), "vocab_size": 32_000, "threads": setup.n_threads}
        peers = ("pairloom", "gigatoken") if corpus.n_bytes < 600e6 else ("pairloom",)
        results = turns(
            {peer: (peer, {"task": "stages" if peer == "pairloom" else "train", **job}) for peer in peers},
            setup,
            once=("gigatoken",),
        )
        own, theirs = results["pairloom"], results.get("gigatoken")
        row = [corpus.n_bytes / 1e6, int(own[0]["distinct"])]
        row += [median(own, key) for key in ("counting", "merging", "seconds")] + [median(own, "peak_bytes") / 1e9]
        table.rows.append(
            [*row, *([median(theirs, "seconds"), median(theirs, "peak_bytes") / 1e9] if theirs else [None, None])]
        )
    first, last = table.rows[0], table.rows[-1]
    growth = float(last[4] or 0) / float(first[4] or 1) / (float(last[0] or 0) / float(first[0] or 1))
    section.claims.append(Claim("time over size, largest corpus against smallest", growth, TOLERANCE, at_most=True))


def by_vocabulary_size(setup: Setup, section: Section) -> None:
    corpus = setup.growing[0]
    table = Table(
        f"training on {corpus.n_bytes / 1e6:.0f} MB of the mixed corpus to ever more tokens",
        ["vocabulary", "counting s", "merging s", "seconds"],
    )
    section.tables.append(table)
    for size in VOCABULARIES[:: 3 if setup.quick else 1]:
        job = {"task": "stages", "path": str(corpus.path), "vocab_size": size, "threads": setup.n_threads}
        own = turns({"pairloom": ("pairloom", job)}, setup)["pairloom"]
        table.rows.append([size, *(median(own, key) for key in ("counting", "merging", "seconds"))])
    first, last = table.rows[0], table.rows[-1]
    growth = float(last[3] or 0) / float(first[3] or 1) / (float(last[0] or 0) / float(first[0] or 1))
    section.claims.append(Claim("time over vocabulary, largest against smallest", growth, 1, at_most=True))


def by_pretoken_length(setup: Setup, section: Section) -> None:
    table = Table(
        "training to 1,000 on one pretoken without end: seconds at four lengths",
        ["text", "1/8", "1/4", "1/2", "whole", "MB", "growth over n log n"],
    )
    section.tables.append(table)
    n_bytes = 1_000_000 if setup.quick else 10_000_000
    for name, generate in LONG.items():
        text = generate(n_bytes)
        times: list[float] = []
        for part in (8, 4, 2, 1):
            path = setup.folder / f"long-{part}.txt"
            path.write_bytes(text[: len(text) // part].decode(errors="ignore").encode())
            job = {"task": "train", "path": str(path), "vocab_size": 1_000, "threads": setup.n_threads}
            times.append(min(float(run("pairloom", job)["seconds"]) for _ in range(3)))
        growth = times[-1] / times[0] / n_log_n(len(text), 8)
        table.rows.append([name, *times, len(text) / 1e6, growth])
        section.claims.append(Claim(f"training on {name}, growth over n log n", growth, TOLERANCE, at_most=True))


def n_log_n(n_bytes: int, parts: int) -> float:
    """How many times as long n log n takes at n as at n / parts."""
    return parts * math.log(n_bytes) / math.log(n_bytes / parts)


def chinese(n_bytes: int) -> bytes:
    """Common characters at random, without a space."""
    rng = random.Random(1)
    return "".join(chr(0x4E00 + int(rng.paretovariate(0.7)) % 3000) for _ in range(n_bytes // 3)).encode()


def letters(alphabet: str) -> Callable[[int], bytes]:
    """Letters drawn at random."""
    return lambda n_bytes: "".join(random.Random(2).choices(alphabet, k=n_bytes)).encode()


LONG: dict[str, Callable[[int], bytes]] = {
    "one letter repeated": lambda n: b"a" * n,
    "base64": lambda n: base64.b64encode(random.Random(3).randbytes(n * 3 // 4)),
    "unspaced Chinese": chinese,
}
ENDLESS: dict[str, Callable[[int], bytes]] = {
    "one letter": lambda n: b"a" * n,
    "two letters": letters("ab"),
    "spaces": lambda n: b" " * n,
    "unspaced Chinese": chinese,
    "random letters": letters("abcdefghijklmnopqrstuvwxyz"),
}


def write(generate: Callable[[int], bytes], n_bytes: int, path: Path) -> Path:
    """A file of such a text, whole characters only."""
    path.write_bytes(generate(n_bytes)[:n_bytes].decode(errors="ignore").encode())
    return path
