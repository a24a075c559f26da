"""A column of text to a column of ids, against the same texts as a list of str to arrays; the ids first.

Both calls take turns in one process, since they differ by less than two processes do. The column holds the texts of all
corpora, as one chunk.
"""

from __future__ import annotations

import statistics

from corpora.vocabularies import vocabulary
from peer_process import run
from report.section import Claim, Section, Setup, Table

N_CALLS = 7


def measure(setup: Setup) -> Section:
    """Seconds of each call, with one thread and with all."""
    section = Section("arrow")
    table = Table(
        "documents to ids: seconds, medians of calls after the first",
        ["MB", "tier", "threads", "encode_batch_to_numpy", "encode_arrow", "encode_arrow takes"],
    )
    section.tables.append(table)
    paths = [str(corpus.path) for corpus in setup.small]
    n_bytes = sum(corpus.n_bytes for corpus in setup.small)
    for tier in setup.tiers:
        for n_threads in sorted({1, setup.n_threads}):
            job = {"task": "arrow", "paths": paths, "repeats": N_CALLS, "threads": n_threads, "tier": tier}
            found = run("pairloom", job | vocabulary("gpt2").job())
            arrays, arrow = (statistics.median(found[kind]) for kind in ("arrays", "arrow"))
            table.rows.append([n_bytes / 1e6, tier, n_threads, arrays, arrow, arrow / arrays])
            what = f"encode_arrow, {n_threads} thread(s), of the time of encode_batch_to_numpy [{tier}]"
            section.claims.append(Claim(what, arrow / arrays, 1.0, at_most=True))
    return section
