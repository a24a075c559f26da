"""Decoding ids of the GPT-2 vocabulary to text, from lists and from arrays; the text first."""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import Call, turns, warm
from report.section import Claim, Section, Setup, Table

CALLS: dict[str, tuple[str, str]] = {
    "pairloom, list": ("pairloom", "list"),
    "pairloom, array": ("pairloom", "array"),
    "tiktoken, list": ("tiktoken", "list"),
    "gigatoken, list": ("gigatoken", "list"),
    "gigatoken, array": ("gigatoken", "array"),
}


def measure(setup: Setup) -> Section:
    """MB of text a second, one call for all ids."""
    section = Section("decode")
    table = Table("decoding: MB of text a second", ["corpus", *CALLS])
    section.tables.append(table)
    limit = 5_000_000 if setup.quick else 20_000_000
    for corpus in setup.small:
        job = {"task": "decode", "path": str(corpus.path), "limit": limit, "repeats": 4} | vocabulary("gpt2").job()
        calls: dict[str, Call] = {name: (peer, job | {"kind": kind}) for name, (peer, kind) in CALLS.items()}
        results = turns(calls, setup)
        if len({found[0]["digest"] for found in results.values()}) != 1:
            raise AssertionError(f"the texts decoded from {corpus.path} differ")
        times = {name: warm(found) for name, found in results.items()}
        n_bytes = results["pairloom, list"][0]["n_bytes"]
        table.rows.append([corpus.name, *(n_bytes / 1e6 / seconds for seconds in times.values())])
        for kind in ("list", "array"):
            ratio = times["tiktoken, list"] / times[f"pairloom, {kind}"]
            section.claims.append(Claim(f"decoding from {kind}s, {corpus.name}, times tiktoken", ratio, 3))
    return section
