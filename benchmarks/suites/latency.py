"""One short text to ids: nanoseconds, p50 and p99, of one text over and over and of ever different ones."""

from __future__ import annotations

from corpora.vocabularies import vocabulary
from peer_process import OLDER, median, own_calls, own_name, turns
from report.section import Claim, Corpus, Section, Setup, Table

SHORT = "Hello, world!"
LONG = (
    "The quick brown fox jumps over the lazy dog, while 3 wise men watched from the hill and didn't say a word. "
    "Later that evening (it was past 21:30) they wrote it all down: every colour, every sound, and the strange, slow "
    "way in which the light had left the valley. Nobody believed them, of course..."
)[:292]
CALLS: dict[str, tuple[str, str]] = {
    "tiktoken, list": ("tiktoken", "latency"),
    "gigatoken, array": ("gigatoken", "latency"),
    "gigatoken, list": ("gigatoken", "latency_lists"),
    "tokenizers, list": ("tokenizers", "latency"),
}
OWN_CALLS = ("encode", "encode_ordinary", "count_tokens", "decode")
"""The calls of Tokenizer that are compared with each other."""


def measure(setup: Setup) -> Section:
    """A table of each text, and the ratios."""
    section = Section("latency")
    texts = {
        "13 characters": [SHORT],
        "292 characters": [LONG],
        "13 different characters": pieces(setup.small[0], 13),
        "292 different characters": pieces(setup.small[0], 292),
    }
    job = {"task": "latency", "texts": texts, "calls": 20_000 if setup.quick else 100_000} | vocabulary("gpt2").job()
    calls = own_calls(setup, job)
    calls |= {name: (peer, job | {"task": task}) for name, (peer, task) in CALLS.items()}
    calls |= {call: ("pairloom", job | {"call": call}) for call in OWN_CALLS}
    results = turns(calls, setup)
    own = {call: results.pop(call) for call in OWN_CALLS}
    for text in texts:
        table = Table(f"one text of {text} to ids: microseconds", ["call", "p50", "p99"])
        section.tables.append(table)
        p50 = {name: median(found, text, "p50_ns") for name, found in results.items()}
        for name, found in results.items():
            table.rows.append([name, p50[name] / 1e3, median(found, text, "p99_ns") / 1e3])
        for tier in setup.tiers:
            ours = p50[own_name(setup, tier)]
            for peer, call, most in (
                ("tiktoken's", "tiktoken, list", 1 / 3),
                ("gigatoken's array", "gigatoken, array", 1),
            ):
                what = f"{text}, p50 over {peer} [{tier}]"
                section.claims.append(Claim(what, ours / p50[call], most, at_most=True))
        if setup.older:
            ratio = p50["pairloom"] / p50[OLDER]
            section.claims.append(Claim(f"{text}, p50 over the one before", ratio, 1.05, at_most=True))
    table = Table("calls of pairloom's Tokenizer: microseconds, p50", ["call", *texts])
    section.tables.append(table)
    for call, found in own.items():
        table.rows.append([call, *(median(found, text, "p50_ns") / 1e3 for text in texts)])
    return section


def pieces(corpus: Corpus, n_characters: int) -> list[str]:
    """Two hundred different stretches of the corpus."""
    with corpus.path.open("rb") as file:
        text = file.read(200 * 4 * n_characters).decode(errors="ignore")
    step = max(n_characters, len(text) // 200)
    return [text[start : start + n_characters] for start in range(0, len(text) - n_characters, step)][:200]
