"""Training: a file to a vocabulary of 32,000, against every trainer; the answers first.

gigatoken reads the file whole, as pairloom's train_files does: their merges must be equal. tokenizers and ffbpe take
documents and share the tie rule: pairloom, given the same documents, must learn the same merges. rustbpe and bpeasy
break ties in an order of their own, so only their time is taken; the first merge that differs is shown.
"""

from __future__ import annotations

from pathlib import Path

from peer_process import Call, median, run, turns
from report.section import Claim, Corpus, Section, Setup, Table

VOCAB_SIZE = 32_000
FAST = ("gigatoken",)
SLOW = ("tokenizers", "rustbpe", "bpeasy", "ffbpe")
SAME_TIES = ("tokenizers", "ffbpe")
VERIFIED_BYTES = 10_000_000


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
        slow: tuple[str, ...] = SLOW if corpus in setup.small else ("tokenizers",)
        if setup.fast_rivals:
            slow = ("tokenizers",) if corpus in setup.small else ()
        job = {"task": "train", "path": str(corpus.path), "vocab_size": VOCAB_SIZE, "threads": setup.n_threads}
        calls: dict[str, Call] = {peer: (peer, job) for peer in ("pairloom", *FAST, *slow)}
        results = turns(calls, setup.n_turns)
        own = results["pairloom"]
        for peer, found in results.items():
            ratio = median(found, "seconds") / median(own, "seconds")
            peak = median(found, "peak_bytes") / 1e9
            times.rows.append([corpus.name, corpus.n_bytes / 1e6, peer, median(found, "seconds"), peak, ratio])
            if peer in ("gigatoken", "tokenizers"):
                target = 5 if peer == "gigatoken" else 40
                section.claims.append(Claim(f"training, {corpus.name}, times as fast as {peer}", ratio, target))
        memory = median(own, "peak_bytes") / median(results["gigatoken"], "peak_bytes")
        section.claims.append(Claim(f"training, {corpus.name}, peak memory over gigatoken's", memory, 1, at_most=True))
    return section


def verified(setup: Setup) -> Table:
    """Whether each trainer learns the same merges from the beginning of each corpus."""
    table = Table(
        f"merges of {VERIFIED_BYTES / 1e6:.0f} MB against pairloom's on the same documents",
        ["corpus", "trainer", "merges", "first that differs"],
    )
    for corpus in setup.small:
        path = beginning(corpus, VERIFIED_BYTES, setup.folder)
        for peer in (*FAST, *SLOW):
            job = {"task": "train", "path": str(path), "vocab_size": VOCAB_SIZE}
            theirs, ours = setup.folder / "theirs", setup.folder / "ours"
            run(peer, job | {"answer": str(theirs)})
            run("pairloom", job | {"answer": str(ours), "by_documents": peer not in FAST})
            index = first_difference(theirs, ours)
            table.rows.append([corpus.name, peer, len(theirs.read_text().split()), "none" if index is None else index])
            if index is not None and peer in (*FAST, *SAME_TIES):
                raise AssertionError(f"{peer} and pairloom share a tie rule, but merge {index} of {path} differs")
    return table


def beginning(corpus: Corpus, n_bytes: int, folder: Path) -> Path:
    """The first bytes of a corpus, up to a line end, as a file."""
    path = folder / f"{corpus.path.stem}-first-{n_bytes // 1000}k.txt"
    if not path.exists():
        with corpus.path.open("rb") as file:
            data = file.read(n_bytes)
        path.write_bytes(data[: data.rfind(b"\n") + 1])
    return path


def first_difference(theirs: Path, ours: Path) -> int | None:
    """The first line at which two answers differ."""
    left, right = theirs.read_text().split(), ours.read_text().split()
    for index, (one, other) in enumerate(zip(left, right)):
        if one != other:
            return index
    return None if len(left) == len(right) else min(len(left), len(right))
