"""Training a vocabulary of 32,000 from a file, compared with every trainer; the answers are checked first.

gigatoken reads the file whole, as pairloom's train_files does, and runs with its fastest source and ties
(`TextFileSource`, `tie_breaking="raw_token_ids"`): their merges must be equal. So must those of gigabpe, which takes
each line for a text, as HuggingFace's trainer does and pairloom's drop-in for it; tokenizers and ffbpe take documents,
which pairloom is given too. rustbpe and bpeasy break ties in an order of their own, so only their time is taken; the
first merge that differs is shown. tokenizers 1.0.0rc3 has no trainer. What takes a minute for a corpus takes one turn,
and all but tokenizers only on the beginnings whose answers are compared.
"""

from __future__ import annotations

from pathlib import Path

from peer_process import OLDER, Call, median, own_calls, own_name, run, turns
from report.section import Claim, Corpus, Section, Setup, Table

VOCAB_SIZE = 32_000
FAST = ("gigatoken", "gigabpe")
BY_LINES = "pairloom by lines"
SLOW = ("tokenizers", "rustbpe", "bpeasy", "ffbpe")
SAME_TIES: dict[str, dict[str, object]] = {
    "gigatoken": {"profile": "bpetite"},
    "gigabpe": {"by_lines": True},
    "tokenizers": {"by_documents": True},
    "ffbpe": {"by_documents": True},
}
"""How pairloom learns what a peer learns; of the others documents are compared."""
VERIFIED_BYTES = 10_000_000
TARGETS = {
    "gigatoken": {"avx512": 10, "avx2": 10, "neon": 10, "portable": 6},
    "gigabpe": {"avx512": 6, "avx2": 6, "neon": 6, "portable": 4},
}


def measure(setup: Setup) -> Section:
    """Times, ratios and peak memory, on each corpus."""
    section = Section("train")
    section.tables.append(verified(setup))
    times = Table(
        f"training to {VOCAB_SIZE:,}: seconds, and peak memory in GB",
        ["corpus", "MB", "trainer", "seconds", "peak GB", "pairloom is faster by"],
    )
    section.tables.append(times)
    for corpus in setup.corpora:
        slow = ("tokenizers",) if corpus in setup.small else ()
        job = {"task": "train", "path": str(corpus.path), "vocab_size": VOCAB_SIZE, "threads": setup.n_threads}
        calls: dict[str, Call] = own_calls(setup, job) | {peer: (peer, job) for peer in (*FAST, *slow)}
        calls[BY_LINES] = ("pairloom", job | {"by_lines": True})
        results = turns(calls, setup, once=slow)
        seconds = {peer: median(found, "seconds") for peer, found in results.items()}
        for peer, found in results.items():
            peak = median(found, "peak_bytes") / 1e9
            times.rows.append(
                [corpus.name, corpus.n_bytes / 1e6, peer, seconds[peer], peak, seconds[peer] / seconds["pairloom"]]
            )
        for tier in setup.tiers:
            own = seconds[own_name(setup, tier)]
            what = f"training, {corpus.name}"
            for peer in FAST:
                ratio = seconds[peer] / own
                section.claims.append(Claim(f"{what}, times as fast as {peer} [{tier}]", ratio, TARGETS[peer][tier]))
            if slow:
                ratio = seconds["tokenizers"] / own
                section.claims.append(Claim(f"{what}, times as fast as tokenizers [{tier}]", ratio, 40))
        if setup.older:
            section.claims.append(
                Claim(f"training, {corpus.name}, times as fast as before", seconds[OLDER] / seconds["pairloom"], 0.9)
            )
        memory = median(results["pairloom"], "peak_bytes") / median(results["gigatoken"], "peak_bytes")
        section.claims.append(Claim(f"training, {corpus.name}, peak memory over gigatoken's", memory, 1, at_most=True))
    return section


def verified(setup: Setup) -> Table:
    """Checks whether each trainer learns the same merges from the start of each corpus."""
    table = Table(
        f"merges of {VERIFIED_BYTES / 1e6:.0f} MB against pairloom's on the same documents; seconds of one run each",
        ["corpus", "trainer", "merges", "first that differs", "seconds", "pairloom's"],
    )
    for corpus in setup.small:
        path = beginning(corpus, VERIFIED_BYTES, setup.folder)
        for peer in (*FAST, *SLOW):
            job = {"task": "train", "path": str(path), "vocab_size": VOCAB_SIZE}
            theirs, ours = setup.folder / "theirs", setup.folder / "ours"
            how: dict[str, object] = SAME_TIES.get(peer, {"by_documents": True})
            seconds = [
                float(run(peer, job | {"answer": str(theirs)})["seconds"]),
                float(run("pairloom", {**job, **how, "answer": str(ours)})["seconds"]),
            ]
            index = first_difference(theirs, ours)
            n_merges = len(theirs.read_text().split())
            table.rows.append([corpus.name, peer, n_merges, "none" if index is None else index, *seconds])
            if index is not None and peer in SAME_TIES:
                raise AssertionError(f"{peer} and pairloom share a tie rule, but merge {index} of {path} differs")
    return table


def beginning(corpus: Corpus, n_bytes: int, folder: Path) -> Path:
    """Writes the first bytes of a corpus, up to a line end, to a file."""
    path = folder / f"{corpus.path.stem}-first-{n_bytes // 1000}k.txt"
    if not path.exists():
        with corpus.path.open("rb") as file:
            data = file.read(n_bytes)
        path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path


def first_difference(theirs: Path, ours: Path) -> int | None:
    """Returns the first line at which two answers differ."""
    left, right = theirs.read_text().split(), ours.read_text().split()
    for index, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return index
    return None if len(left) == len(right) else min(len(left), len(right))
