"""Counting alone: a file to pretoken counts, against gigatoken's `pretokenized_counts`; the counts first.

gigatoken is given the file's bytes in memory before the clock starts; pairloom reads the file within its time.
"""

from __future__ import annotations

from peer_process import median, run, turns
from report.section import Claim, Section, Setup, Table


def measure(setup: Setup) -> Section:
    """Gigabytes a second with all threads."""
    section = Section("count")
    table = Table(
        "counting pretokens, fresh process, and the best of three calls in it",
        ["corpus", "distinct", "pairloom GB/s", "gigatoken GB/s", "ratio", "ratio of best"],
    )
    section.tables.append(table)
    for corpus in setup.corpora:
        job = {"task": "count", "path": str(corpus.path), "threads": setup.n_threads, "repeats": 1}
        if corpus in setup.small:
            answers = {peer: run(peer, job | {"verify": True})["counts"] for peer in ("pairloom", "gigatoken")}
            if answers["pairloom"] != answers["gigatoken"]:
                raise AssertionError(f"the counts of {corpus.path} differ between pairloom and gigatoken")
        job["repeats"] = 3
        results = turns({peer: (peer, job) for peer in ("pairloom", "gigatoken")}, setup.n_turns)
        first = {peer: median(found, "times", 0) for peer, found in results.items()}
        best = {peer: median(found, "seconds") for peer, found in results.items()}
        ratio, ratio_of_best = (times["gigatoken"] / times["pairloom"] for times in (first, best))
        speeds = [corpus.n_bytes / 1e9 / first[peer] for peer in ("pairloom", "gigatoken")]
        table.rows.append([corpus.name, int(results["pairloom"][0]["distinct"]), *speeds, ratio, ratio_of_best])
        section.claims.append(Claim(f"counting, {corpus.name}, times as fast as gigatoken", ratio, 2))
    return section
