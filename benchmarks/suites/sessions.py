"""What a service does all the time: growing texts, a long text on all threads, limits, special tokens skipped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from report.section import Claim, Section, Setup, Table

from pairloom import Tokenizer

N_CHARS = 256
SIZES = (1_000, 100_000, 4_000_000)
N_FORKS = 1_000


def measure(setup: Setup) -> Section:
    """A table of each, with a tokenizer of 8,000 tokens trained on the start of the first corpus."""
    section = Section("sessions")
    text = setup.small[0].path.read_text(encoding="utf-8", errors="ignore")
    text *= SIZES[-1] // len(text) + 2
    tokenizer = Tokenizer.train(text[:2_000_000], 8_000, special_tokens=["<|endoftext|>"])
    appends(section, tokenizer, text)
    forks(section, tokenizer, text)
    calls(section, tokenizer, text, setup.n_threads)
    return section


def appends(section: Section, tokenizer: Tokenizer, text: str) -> None:
    table = Table(
        f"append of {N_CHARS} characters: microseconds, p50 and p99", ["text", "characters before", "p50", "p99"]
    )
    section.tables.append(table)
    for name, whole in (("corpus", text), ("one letter", "a" * len(text))):
        p50 = []
        for size in SIZES:
            session, times = tokenizer.session(whole[:size]), []
            for at in range(size, size + 400 * N_CHARS, N_CHARS):
                piece = whole[at : at + N_CHARS]
                began = time.perf_counter_ns()
                session.append(piece)
                times.append((time.perf_counter_ns() - began) / 1e3)
            p50.append(median(times))
            table.rows.append([name, size, p50[-1], quantiles(times, n=100)[-1]])
        section.claims.append(
            Claim(f"{name}: an append at the end of 4 M over one at 100 K", p50[2] / p50[1], 2, at_most=True)
        )


def forks(section: Section, tokenizer: Tokenizer, text: str) -> None:
    session, before = tokenizer.session(text[:1_000_000]), _resident()
    kept = [session.fork() for _ in range(N_FORKS)]
    for number, fork in enumerate(kept):
        fork.append(f" and {number}")
    table = Table(
        f"{N_FORKS} forks of a session of 1 MB, each with some words more", ["MB"], [[(_resident() - before) / 1e6]]
    )
    section.tables.append(table)


def calls(section: Section, tokenizer: Tokenizer, text: str, n_threads: int) -> None:
    long = (text * (100_000_000 // len(text) + 1))[:100_000_000]
    ids = tokenizer.encode_to_numpy(text[:4_000_000])
    tasks: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        f"count_tokens of 100 MB, {n_threads} threads and 1": (
            lambda: tokenizer.count_tokens(long, threads=n_threads),
            lambda: tokenizer.count_tokens(long, threads=1),
        ),
        f"encode_to_numpy of 100 MB, {n_threads} threads and 1": (
            lambda: tokenizer.encode_to_numpy(long, threads=n_threads),
            lambda: tokenizer.encode_to_numpy(long, threads=1),
        ),
        "count_tokens(limit=100) of 100 MB and of 10 KB": (
            lambda: tokenizer.count_tokens(long, limit=100),
            lambda: tokenizer.count_tokens(long[:10_000], limit=100),
        ),
        "decode with skip_special_tokens, and plain": (
            lambda: tokenizer.decode(ids, skip_special_tokens=True),
            lambda: tokenizer.decode(ids),
        ),
    }
    table = Table("two calls: milliseconds, and the first over the second", ["calls", "first", "second", "ratio"])
    section.tables.append(table)
    for name, (first, second) in tasks.items():
        times = [(_seconds(first), _seconds(second)) for _ in range(3)]
        one, other = (1e3 * min(column) for column in zip(*times, strict=True))
        table.rows.append([name, one, other, one / other])


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
