"""Counting alone: a file to pretoken counts, against gigatoken's `pretokenized_counts`; the counts first.

gigatoken is given the file's bytes in memory before the clock starts; pairloom reads the file within its time.
"""

from __future__ import annotations

from peer_process import median, own_calls, own_name, run, turns
from report.section import Claim, Section, Setup, Table


def measure(setup: Setup) -> Section:
    """Gigabytes a second with all threads."""
    section = Section("count")
    table = Table(
        "counting pretokens, GB/s: fresh process, and the best of three calls in it",
        ["corpus", "distinct", "counter", "first", "best", "times gigatoken, first", "best"],
    )
    section.tables.append(table)
    for corpus in setup.corpora:
        job = {"task": "count", "path": str(corpus.path), "threads": setup.n_threads, "repeats": 1}
        if corpus in setup.small:
            answers = {peer: run(peer, job | {"verify": True})["counts"] for peer in ("pairloom", "gigatoken")}
            if answers["pairloom"] != answers["gigatoken"]:
                raise AssertionError(f"the counts of {corpus.path} differ between pairloom and gigatoken")
        job["repeats"] = 3
        calls = own_calls(setup, job) | {"gigatoken": ("gigatoken", job)}
        results = turns(calls, setup, first_calls=True)
        first = {peer: median(found, "times", 0) for peer, found in results.items()}
        best = {peer: median(found, "seconds") for peer, found in results.items()}
        distinct = int(results["pairloom"][0]["distinct"])
        for peer in results:
            speeds = [corpus.n_bytes / 1e9 / times[peer] for times in (first, best)]
            ratios = [times["gigatoken"] / times[peer] for times in (first, best)]
            table.rows.append([corpus.name, distinct, peer, *speeds, *ratios])
        for tier in setup.tiers:
            ratio = first["gigatoken"] / first[own_name(setup, tier)]
            what = f"counting, {corpus.name}, times as fast as gigatoken [{tier}]"
            section.claims.append(Claim(what, ratio, 6))
    return section
