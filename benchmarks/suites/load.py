"""Loading: a saved model from disk, against making tiktoken's Encoding of ranks that are in memory already."""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import Call, cold, turns, warm
from report.section import Claim, Section, Setup, Table


def measure(setup: Setup) -> Section:
    """Milliseconds, first call in a fresh process and later calls."""
    section = Section("load")
    table = Table("a tokenizer made ready: milliseconds", ["vocabulary", "call", "first", "later"])
    section.tables.append(table)
    what = {
        "pairloom": "pairloom, from its file",
        "tiktoken": "tiktoken, from ranks in memory",
        "gigatoken": "gigatoken, from a .tiktoken file",
    }
    for name in ("gpt2", "cl100k", "o200k"):
        job = {"task": "load", "repeats": 5} | vocabulary(name).job()
        calls: dict[str, Call] = {peer: (peer, job) for peer in what}
        results = turns(calls, setup.n_turns)
        for peer, found in results.items():
            table.rows.append([name, what[peer], cold(found) * 1e3, warm(found) * 1e3])
        if name == "gpt2":
            for state, figure in (("first", cold), ("later", warm)):
                ratio = figure(results["pairloom"]) / figure(results["tiktoken"])
                section.claims.append(Claim(f"load of gpt2, {state}, over tiktoken's", ratio, 2, at_most=True))
    return section
