"""Texts chosen to be slow: pretokens of unbounded length, and pretokens that collide in the encoder's cache.

The cache hashes a pretoken of up to 15 bytes by its two halves, each xored with a secret seed, multiplied, and the
halves of the product folded. An adversary who knew the seeds could give every pretoken the same hash slot, by making
one half equal to its seed; the test assumes seeds of zero. Where the processor has AES instructions, two rounds of AES
with secret keys replace the product, and this attack has no effect. A slot holds two pretokens, so even a perfect
attack only makes every lookup a miss, as a text of distinct pretokens does: its time is the bound.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from corpora.vocabularies import vocabulary
from peer_process import turns
from report.section import Claim, Section, Setup, Table

from suites.growth import ENDLESS, TOLERANCE, n_log_n, write

PARTS = (8, 4, 2, 1)


def measure(setup: Setup) -> Section:
    """Growth by length, and the attack beside its controls."""
    section = Section("hostile")
    n_bytes = 2_000_000
    endless = Table(
        "encoding one pretoken without end: milliseconds of processor time",
        ["text", "0.25 MB", "0.5 MB", "1 MB", "2 MB", "growth over n log n"],
    )
    attacked = Table(
        "encoding short pretokens that collide in the cache: milliseconds of processor time",
        ["text", "0.25 MB", "0.5 MB", "1 MB", "2 MB", "growth over n log n"],
    )
    section.tables += [endless, attacked]
    seconds: dict[str, float] = {}
    for table, texts in ((endless, ENDLESS), (attacked, ATTACKS)):
        for name, generate in texts.items():
            path = write(generate, n_bytes, setup.folder / "hostile.txt")
            job = {"task": "lengths", "path": str(path), "parts": PARTS} | vocabulary("gpt2").job()
            # The least of each: what else the machine does, and memory that is touched first, only add to it.
            found = [result["seconds"] for result in turns({name: ("pairloom", job)}, setup)[name]]
            times = [min(of_one_length) * 1e3 for of_one_length in zip(*found, strict=True)]
            growth = times[-1] / times[0] / n_log_n(n_bytes, PARTS[0])
            table.rows.append([name, *times, growth])
            seconds[name] = times[-1]
            section.claims.append(Claim(f"encoding {name}, growth over n log n", growth, TOLERANCE, at_most=True))
    ratio = seconds["one slot under seeds of zero"] / seconds["the same shape at random"]
    section.claims.append(Claim("colliding pretokens over random ones of that shape", ratio, 1.5, at_most=True))
    training(setup, section)
    return section


def training(setup: Setup, section: Section) -> None:
    """Counting the attack, which must cost no more than counting its control."""
    table = Table("counting 2 MB of the same: milliseconds", ["text", "milliseconds"])
    section.tables.append(table)
    calls = {}
    for index, (name, generate) in enumerate(ATTACKS.items()):
        path = write(generate, 2_000_000, setup.folder / f"attack-{index}.txt")
        calls[name] = ("pairloom", {"task": "count", "path": str(path), "repeats": 1})
    for name, found in turns(calls, setup).items():
        table.rows.append([name, min(float(result["seconds"]) for result in found) * 1e3])


def colliding(n_bytes: int) -> bytes:
    """Distinct pretokens whose first eight bytes are zero: under seeds of zero every product is zero."""
    return shaped(n_bytes, lambda rng: b"\0" * 8)


def not_colliding(n_bytes: int) -> bytes:
    """Pretokens of the same length from the same characters."""
    return shaped(n_bytes, lambda rng: bytes(rng.choices(MARKS, k=8)))


def shaped(n_bytes: int, first_half: Callable[[random.Random], bytes]) -> bytes:
    rng = random.Random(4)
    pieces = []
    for _ in range(n_bytes // 16):
        pieces.append(b"a" + first_half(rng) + bytes(rng.choices(MARKS, k=7)))
    return b"".join(pieces)


# Neither letters nor digits nor white space, so that each run of them is one pretoken.
MARKS = bytes(range(1, 9)) + b"!#$%&()*+,-./:;<=>?@[]^_{|}~"


def ever_new(n_bytes: int) -> bytes:
    """Random words, hardly one twice: every lookup is a miss."""
    rng = random.Random(6)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(6, 12))) for _ in range(n_bytes // 10)]
    return " ".join(words).encode().ljust(n_bytes, b".")


ATTACKS: dict[str, Callable[[int], bytes]] = {
    "one slot under seeds of zero": colliding,
    "the same shape at random": not_colliding,
    "ever new words": ever_new,
}
