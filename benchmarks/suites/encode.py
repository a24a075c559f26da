"""Encoding with the GPT-2 vocabulary: files to arrays, batches to arrays and lists, numbers of tokens; ids first.

Every document of the corpora must get the ids that tiktoken gives, under gpt2, cl100k and o200k. "Cold" is the first
call of a tokenizer in a fresh process, "warm" the calls after it; the file is in the system's cache for all.
"""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import Call, cold, run, turns, warm
from report.section import Claim, Section, Setup, Table


def measure(setup: Setup) -> Section:
    """All of it, with one thread and with all."""
    section = Section("encode")
    section.tables.append(verified(setup))
    files(setup, section)
    for kind in ("arrays", "lists", "counts"):
        batches(setup, section, kind)
    return section


def threads_of(setup: Setup) -> list[int]:
    return sorted({1, setup.n_threads})


def verified(setup: Setup) -> Table:
    """How many documents there are, and how many differ from tiktoken's: none, or the run stops."""
    table = Table("documents whose ids differ from tiktoken's", ["corpus", "vocabulary", "documents", "different"])
    for corpus in setup.corpora:
        for name in ("gpt2", "cl100k", "o200k"):
            job = {"task": "encode_batch", "path": str(corpus.path), "kind": "lists", "repeats": 1, "verify": True}
            job |= vocabulary(name).job() | {"threads": setup.n_threads}
            ours, theirs = (run(peer, job)["digest"] for peer in ("pairloom", "tiktoken"))
            different = sum(one != other for one, other in zip(ours, theirs, strict=True))
            table.rows.append([corpus.name, name, len(ours), different])
            if different:
                raise AssertionError(
                    f"{different} documents of {corpus.path} get other ids than tiktoken's under {name}"
                )
    return table


def files(setup: Setup, section: Section) -> None:
    table = Table(
        "a file to one array: MB/s",
        [
            "corpus",
            "threads",
            "cold",
            "gigatoken cold",
            "ratio",
            "warm",
            "gigatoken warm",
            "ratio",
            "peak GB",
            "gigatoken's",
        ],
    )
    section.tables.append(table)
    for corpus in setup.corpora:
        base = {"task": "encode_file", "path": str(corpus.path), "repeats": 3} | vocabulary("gpt2").job()
        if corpus in setup.small:
            ours, theirs = (
                run(p, base | {"verify": True, "threads": 2, "repeats": 1}) for p in ("pairloom", "gigatoken")
            )
            if ours["digest"] != theirs["digest"]:
                raise AssertionError(f"the ids of {corpus.path} differ between pairloom and gigatoken")
        for n_threads in threads_of(setup):
            job = base | {"threads": n_threads}
            results = turns({peer: (peer, job) for peer in ("pairloom", "gigatoken")}, setup.n_turns)
            own, theirs_ = results["pairloom"], results["gigatoken"]
            row: list[str | int | float | None] = [corpus.name, n_threads]
            for state, figure in (("cold", cold), ("warm", warm)):
                ratio = figure(theirs_) / figure(own)
                row += [corpus.n_bytes / 1e6 / figure(own), corpus.n_bytes / 1e6 / figure(theirs_), ratio]
                what = f"file to array, {corpus.name}, {n_threads} thread(s), {state}, times gigatoken"
                section.claims.append(Claim(what, ratio, 1.3))
            table.rows.append([*row, *(max(r["peak_bytes"] for r in found) / 1e9 for found in (own, theirs_))])


def batches(setup: Setup, section: Section, kind: str) -> None:
    """Documents of about 4 kB as a list of str."""
    peers = {"arrays": ["gigatoken"], "lists": ["gigatoken", "tiktoken", "tokenizers"], "counts": ["gigatoken"]}[kind]
    targets = {
        "arrays": {"gigatoken": 1.3},
        "lists": {"gigatoken": 4.0, "tiktoken": 15.0},
        "counts": {"gigatoken": 1.5},
    }
    table = Table(
        f"documents to {kind}: MB/s, cold and warm" + (" (gigatoken makes ids for it)" if kind == "counts" else ""),
        ["corpus", "threads", "peer", "cold", "warm", "pairloom is faster by, cold", "warm"],
    )
    section.tables.append(table)
    limit = 10_000_000 if setup.quick else 40_000_000
    for corpus in setup.small:
        for n_threads in threads_of(setup):
            job = {"task": "encode_batch", "path": str(corpus.path), "kind": kind, "repeats": 3, "limit": limit}
            job |= vocabulary("gpt2").job() | {"threads": n_threads}
            calls: dict[str, Call] = {"pairloom": ("pairloom", job)}
            # What is a hundred times slower is timed on a part.
            part = {"repeats": 2, "limit": limit // 8}
            calls |= {peer: (peer, job | (part if peer == "tokenizers" else {})) for peer in peers}
            results = turns(calls, setup.n_turns)
            speed_of = {}
            for peer, found in results.items():
                n_bytes = min(calls[peer][1]["limit"], corpus.n_bytes)
                speeds = n_bytes / 1e6 / cold(found), n_bytes / 1e6 / warm(found)
                speed_of[peer] = speeds
                ratios = tuple(own / theirs for own, theirs in zip(speed_of["pairloom"], speeds, strict=True))
                table.rows.append([corpus.name, n_threads, peer, *speeds, *ratios])
                if peer in targets[kind]:
                    what = f"documents to {kind}, {corpus.name}, {n_threads} thread(s), warm, times {peer}"
                    section.claims.append(Claim(what, ratios[1], targets[kind][peer]))
