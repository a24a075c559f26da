"""Encoding with the GPT-2 vocabulary: files to arrays, batches to arrays and lists, numbers of tokens; ids first.

Every document of the corpora must get the ids that tiktoken gives, under gpt2, cl100k and o200k, on the
lower tiers under gpt2. "Cold" is the first call of a tokenizer in a fresh process, "warm" the calls
after it; the file is in the system's cache for all.
"""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import OLDER, Call, Result, cold, own_calls, own_name, run, turns, warm
from report.section import Claim, Corpus, Section, Setup, Table

# Times gigatoken, and tiktoken, on each tier.
TARGETS = {
    "avx512": {"file to array": 2.2, "arrays": 2.2, "counts": 2.8, "lists": 5.0, "lists, tiktoken": 18.0},
    "avx2": {"file to array": 1.8, "arrays": 1.8, "counts": 2.2, "lists": 5.0, "lists, tiktoken": 18.0},
    "portable": {"file to array": 1.0, "arrays": 1.0, "counts": 1.0, "lists": 1.0, "lists, tiktoken": 4.0},
}
TARGETS["neon"] = TARGETS["avx2"]
SLOW = ("tiktoken", "tokenizers")
N_CALLS = 9
"""A first call, and eight warm ones: gigatoken's get faster up to the fifth with two threads."""


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
            theirs = run("tiktoken", job)["digest"]
            for tier in setup.tiers if name == "gpt2" else setup.tiers[:1]:
                ours = run("pairloom", job | {"tier": tier})["digest"]
                different = sum(one != other for one, other in zip(ours, theirs, strict=True))
                table.rows.append([corpus.name, f"{name}, {tier}", len(ours), different])
                if different:
                    raise AssertionError(
                        f"{different} documents of {corpus.path} get other ids than tiktoken's under {name} on {tier}"
                    )
    return table


def claims(setup: Setup, what: str, kind: str, seconds: dict[str, float]) -> list[Claim]:
    """Seconds of each peer over pairloom's, on each tier, and over those of the build that it is compared with."""
    found = []
    for tier in setup.tiers:
        own = seconds[own_name(setup, tier)]
        for peer, key in (("gigatoken", kind), ("tiktoken", f"{kind}, tiktoken")):
            if peer in seconds and key in TARGETS[tier]:
                found.append(Claim(f"{what}, times {peer} [{tier}]", seconds[peer] / own, TARGETS[tier][key]))
    if setup.older:
        found.append(Claim(f"{what}, times as fast as before", seconds[OLDER] / seconds["pairloom"], 0.9))
    return found


def files(setup: Setup, section: Section) -> None:
    table = Table(
        "a file to one array: MB/s and peak memory in GB",
        ["corpus", "threads", "peer", "cold", "warm", "pairloom is faster by, cold", "warm", "peak GB"],
    )
    section.tables.append(table)
    for corpus in setup.corpora:
        base = {"task": "encode_file", "path": str(corpus.path), "repeats": N_CALLS} | vocabulary("gpt2").job()
        if corpus in setup.small:
            ours, theirs = (
                run(p, base | {"verify": True, "threads": 2, "repeats": 1}) for p in ("pairloom", "gigatoken")
            )
            if ours["digest"] != theirs["digest"]:
                raise AssertionError(f"the ids of {corpus.path} differ between pairloom and gigatoken")
        for n_threads in threads_of(setup):
            job = base | {"threads": n_threads}
            calls = own_calls(setup, job) | {"gigatoken": ("gigatoken", job)}
            results = turns(calls, setup, first_calls=True)
            add_rows(table, corpus, n_threads, results, dict.fromkeys(results, corpus.n_bytes))
            for row, found in zip(table.rows[-len(results) :], results.values()):
                row.append(max(result["peak_bytes"] for result in found) / 1e9)
            for state, figure in (("cold", cold), ("warm", warm)):
                what = f"file to array, {corpus.name}, {n_threads} thread(s), {state}"
                seconds = {peer: figure(found) for peer, found in results.items()}
                section.claims += claims(setup, what, "file to array", seconds)


def add_rows(
    table: Table, corpus: Corpus, n_threads: int, results: dict[str, list[Result]], n_bytes: dict[str, int]
) -> None:
    """A row for each peer: MB/s cold and warm, and how much faster pairloom is on its best tier."""
    speeds = {peer: [n_bytes[peer] / 1e6 / figure(found) for figure in (cold, warm)] for peer, found in results.items()}
    for peer, own in speeds.items():
        ratios = [ours / theirs for ours, theirs in zip(speeds["pairloom"], own, strict=True)]
        table.rows.append([corpus.name, n_threads, peer, *own, *ratios])


def batches(setup: Setup, section: Section, kind: str) -> None:
    """Documents of about 4 kB as a list of str."""
    peers = {"arrays": ["gigatoken"], "lists": ["gigatoken", *SLOW], "counts": ["gigatoken"]}[kind]
    table = Table(
        f"documents to {kind}: MB/s, cold and warm" + (" (gigatoken makes ids for it)" if kind == "counts" else ""),
        ["corpus", "threads", "peer", "cold", "warm", "pairloom is faster by, cold", "warm"],
    )
    section.tables.append(table)
    limit = 10_000_000 if setup.quick else 40_000_000
    for corpus in setup.small:
        for n_threads in threads_of(setup):
            job = {"task": "encode_batch", "path": str(corpus.path), "kind": kind, "repeats": N_CALLS, "limit": limit}
            job |= vocabulary("gpt2").job() | {"threads": n_threads}
            # What is tens of times slower is timed on a part.
            part = {"repeats": 2, "limit": limit // 8}
            calls: dict[str, Call] = own_calls(setup, job)
            calls |= {peer: (peer, job | (part if peer in SLOW else {})) for peer in peers}
            results = turns(calls, setup)
            n_bytes = {name: min(job["limit"], corpus.n_bytes) for name, (_, job) in calls.items()}
            add_rows(table, corpus, n_threads, results, n_bytes)
            what = f"documents to {kind}, {corpus.name}, {n_threads} thread(s), warm"
            seconds = {peer: warm(found) / n_bytes[peer] for peer, found in results.items()}
            section.claims += claims(setup, what, kind, seconds)
