"""Encoding speed by named pattern, relative to gpt2 on the same text; each with a vocabulary trained here."""

from __future__ import annotations

from peer_process import Call, run, turns, warm
from report.section import Claim, Section, Setup, Table

from pairloom.patterns import PATTERNS

VOCAB_SIZE = 32_000


def measure(setup: Setup) -> Section:
    """Measures MB/s of one thread, file to array, warm."""
    section = Section("patterns")
    table = Table(
        "a file to one array by pattern, one thread: MB/s, and time over gpt2's",
        ["pattern", *(cell for corpus in setup.small for cell in (corpus.name, "over gpt2"))],
    )
    section.tables.append(table)
    models = {}
    for name in PATTERNS:
        models[name] = setup.folder / f"pattern-{name}.json"
        job = {"task": "train", "path": str(setup.small[0].path), "vocab_size": VOCAB_SIZE, "pattern": name}
        run("pairloom", job | {"model": str(models[name])})
    seconds: dict[tuple[str, str], float] = {}
    for corpus in setup.small:
        job = {"task": "encode_file", "path": str(corpus.path), "threads": 1, "repeats": 3}
        calls: dict[str, Call] = {name: ("pairloom", job | {"model": str(models[name])}) for name in PATTERNS}
        for name, found in turns(calls, setup).items():
            seconds[name, corpus.name] = warm(found)
    for name in PATTERNS:
        row: list[str | int | float | None] = [name]
        for corpus in setup.small:
            ratio = seconds[name, corpus.name] / seconds["gpt2", corpus.name]
            row += [corpus.n_bytes / 1e6 / seconds[name, corpus.name], ratio]
            section.claims.append(Claim(f"pattern {name}, {corpus.name}, time over gpt2's", ratio, 1.5, at_most=True))
        table.rows.append(row)
    return section
