"""Memory of encoding: iterables, files, and a cache that must not grow with ever new pretokens."""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import run
from report.section import Claim, Section, Setup, Table

from suites.train import beginning

MEGA = 1_000_000
# The limit of the cache, plus some memory for the allocator.
CACHE_BOUND_BYTES = 192 * MEGA


def measure(setup: Setup) -> Section:
    """Measures the growth of the peak beyond an idle tokenizer, in MB."""
    section = Section("memory")
    model = vocabulary("gpt2").job()
    corpus = (setup.large or setup.small)[0]
    sizes = [part * corpus.n_bytes // 16 for part in (1, 4, 16)]
    table = Table(
        "memory of encoding beyond the tokenizer: MB",
        ["text MB", "encode_iterable by lines", "encode_file beyond its array", "its array"],
    )
    section.tables.append(table)
    for n_bytes in sizes:
        path = str(beginning(corpus, n_bytes, setup.folder))
        lines = run("pairloom", {"task": "iterable", "path": path} | model)
        file = run("pairloom", {"task": "file_memory", "path": path, "threads": setup.n_threads} | model)
        beyond = file["grown_bytes"] - file["id_bytes"]
        table.rows.append([n_bytes / MEGA, lines["grown_bytes"] / MEGA, beyond / MEGA, file["id_bytes"] / MEGA])
    for column, what in ((1, "encode_iterable"), (2, "encode_file")):
        first, last = (float(table.rows[index][column] or 0) for index in (0, -1))
        grown = last - first
        section.claims.append(
            Claim(f"{what}, MB more at 16 times the text", grown, CACHE_BOUND_BYTES / MEGA, at_most=True)
        )
    rounds = 3 if setup.quick else 12
    ever_new = run("pairloom", {"task": "distinct_pretokens", "rounds": rounds} | model)
    cache = Table("memory after so many million distinct pretokens: MB beyond the tokenizer", ["million", "MB"])
    section.tables.append(cache)
    for index, grown_bytes in enumerate(ever_new["grown_bytes"]):
        cache.rows.append([index + 1, grown_bytes / MEGA])
    most = max(ever_new["grown_bytes"]) / MEGA
    section.claims.append(
        Claim("cache and one text after ever new pretokens, MB", most, CACHE_BOUND_BYTES / MEGA, at_most=True)
    )
    return section
