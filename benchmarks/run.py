"""`make bench`: builds the corpora, installs the peers, checks answers, then times everything.

    python benchmarks/run.py [--quick] [--only NAME]... [--turns 3] [--threads N]

Writes benchmarks/record/<machine>/<date>.json. A run of all sections also draws the plot beside it and writes the table
in README.md between the bench markers: a part of them never replaces the whole. After the processor's own tier the
sections that depend on it are measured on each lower tier too (PAIRLOOM_DISABLE_CPU_FEATURES), as "encode, avx2";
--tier measures one tier alone.
A wrong answer stops the run. A missed target is printed; with --strict the exit status is then 1. --quick measures one
turn on the beginnings of corpora that exist already, or on the standard library's sources, and writes nothing. --only
measures some suites, and replaces their results in a record of the same day.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import peer_process
from corpora.build import SIZES, corpus
from corpora.packages import CORPORA
from report.section import Corpus, Section, Setup, shown
from suites.ladder import standard_library

HERE = Path(__file__).parent
SECTIONS = (
    "train",
    "count",
    "growth",
    "encode",
    "decode",
    "latency",
    "load",
    "patterns",
    "hostile",
    "memory",
    "scaling",
)
OPTIONAL = ("pipeline",)
# What is measured on every tier, and what is turned off for each.
ON_EVERY_TIER = ("train", "encode", "latency")
TIERS = {"avx512": "", "avx2": "avx512", "neon": "", "portable": "avx512,avx2,neon"}
BELOW = {"avx512": ["avx2", "portable"], "avx2": ["portable"], "neon": ["portable"], "portable": []}
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
LANGUAGES = {"english": "English", "multilingual": "15 languages", "code": "C code"}


def quick_setup(n_threads: int, folder: Path, n_turns: int) -> Setup:
    """The first 8 MB of each corpus that is there already, or of the standard library's sources."""
    small = []
    for name, label in LANGUAGES.items():
        built = CORPORA / f"{name}-{SIZES[name][0]}.txt"
        if built.with_suffix(".json").exists():
            with built.open("rb") as file:
                small.append(_written(folder / built.name, file.read(8_000_000), label))
    if not small:
        small = [_written(folder / "sources.txt", standard_library(8_000_000), "Python")]
    whole = small[0].path.read_bytes()
    growing = [
        _written(folder / f"growing-{part}.txt", whole[: len(whole) // part], f"1/{part}") for part in (8, 4, 2, 1)
    ]
    return Setup(True, n_turns, n_threads, small, [], growing, folder)


def _written(path: Path, data: bytes, name: str) -> Corpus:
    path.write_bytes(data.decode(errors="ignore").encode())
    return Corpus(name, path)


def full_setup(n_threads: int, folder: Path, n_turns: int, wanted: list[str], *, small_only: bool) -> Setup:
    """All sizes of all corpora, or the smaller of each, built where they are not there."""
    small, large = (
        [Corpus(f"{LANGUAGES[name]}, {SIZES[name][index]} MB", corpus(name, SIZES[name][index])) for name in LANGUAGES]
        if not (index and small_only)
        else []
        for index in (0, 1)
    )
    growing = []
    if {"growth", "scaling", "pipeline"} & set(wanted):
        growing = [Corpus(f"mixed, {size} MB", corpus("mixed", size)) for size in SIZES["mixed"]]
    return Setup(False, n_turns, n_threads, small, large, growing, folder)


def own_tier() -> str:
    """The tier of this processor, with what the caller's environment leaves of it."""
    command = [sys.executable, "-c", "import pairloom; print(pairloom.cpu_tier())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def lower_tiers() -> list[str]:
    """The tiers below the processor's own, best first."""
    return BELOW[own_tier()]


def measure(name: str, setup: Setup, tier: str = "") -> Section:
    """One section, printed when it is done; on a lower tier if one is given."""
    print(f"{name} {tier}...", file=sys.stderr)
    began = time.perf_counter()
    before = dict(os.environ)
    if tier:
        os.environ["PAIRLOOM_DISABLE_CPU_FEATURES"] = TIERS[tier]
    try:
        used = own_tier()
        section: Section = importlib.import_module(f"suites.{name}").measure(setup)
    finally:
        os.environ.clear()
        os.environ.update(before)
    section.name = f"{name}, {tier}" if tier else name
    section.claims = [dataclasses.replace(claim, what=f"{claim.what} [{used}]") for claim in section.claims]
    section.notes.append(f"tier {used}")
    section.notes.append(f"took {time.perf_counter() - began:.0f} s")
    print(section.text(), flush=True)
    return section


def revision() -> str:
    """The commit that was measured."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def write_record(sections: list[Section], n_turns: int) -> Path:
    """The record of this machine and day; sections measured anew replace the old."""
    machine = peer_process.machine()
    slug = re.sub(r"[^a-z0-9]+", "-", f"{machine['cpu']} {machine['cores']} cores".lower()).strip("-")
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    path = HERE / "record" / slug / f"{date}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {"sections": []}
    if path.exists():
        record = json.loads(path.read_text())
    found = {section["name"]: section for section in record["sections"]} | {s.name: s.record() for s in sections}
    facts = {
        built.stem: json.loads(built.read_text())
        for built in sorted(CORPORA.glob("*-*.json"))
        if built.parent == CORPORA
    }
    kept = ("bytes", "documents", "distinct", "distinct_bytes_available", "sha256", "packages")
    record = {
        "date": date,
        "revision": revision(),
        "machine": machine,
        "turns": n_turns,
        "peers": peer_process.PINNED,
        "corpora": {name: {key: fact[key] for key in kept} for name, fact in facts.items()},
        "sections": list(found.values()),
    }
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return path


def readme_table(record: dict[str, Any], record_path: Path, plot: Path) -> str:
    """What the README says: one line a promise, the least favourable ratio of its corpora."""
    machine = record["machine"]
    lines = [
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {record['date']}, by `make bench`: medians of"
        f" {record['turns']} turns, all peers in the same run. [Record]({record_path}), every figure in it.",
        "",
        "| | pairloom against | times as fast, least to most |",
        "|---|---|---:|",
    ]
    ratios: dict[tuple[str, str], list[float]] = {}
    for section in record["sections"]:
        for claim in section["claims"]:
            if match := re.search(r"times (?:as fast as )?(\w+) \[(\w+)\]$", claim["what"]):
                what = f"{claim['what'].split(',')[0]}, {match[2]}"
                ratios.setdefault((what, match[1]), []).append(claim["value"])
    lines += [
        f"| {what} | {peer} | {shown(min(values))} to {shown(max(values))} |" for (what, peer), values in ratios.items()
    ]
    return "\n".join([*lines, "", f"![speed by peer, cost by size]({plot})"])


def write_readme(record_path: Path) -> None:
    """Draws the plot and puts the table between the markers, at the end where there are none."""
    from report.plot import draw

    root = HERE.parent
    record = json.loads(record_path.read_text())
    plot = record_path.with_suffix(".svg")
    draw(record, plot)
    table = readme_table(record, record_path.relative_to(root), plot.relative_to(root))
    text = (root / "README.md").read_text()
    block = f"{BEGIN}\n{table}\n{END}"
    if BEGIN in text and END in text:
        text = text[: text.index(BEGIN)] + block + text[text.index(END) + len(END) :]
    else:
        text = text.rstrip("\n") + f"\n\n{block}\n"
    (root / "README.md").write_text(text)


def main() -> int:
    """The command line; 1 when a target was missed and --strict was given."""
    parser = argparse.ArgumentParser(description="pairloom against its peers")
    parser.add_argument("--quick", action="store_true", help="small corpora, one turn, nothing written")
    parser.add_argument("--small", action="store_true", help="leave out the larger size of each corpus")
    parser.add_argument("--fast-rivals", action="store_true", help="train against the slow peers on little or nothing")
    parser.add_argument("--only", action="append", metavar="NAME", help=", ".join((*SECTIONS, *OPTIONAL)))
    parser.add_argument("--turns", type=int, help="3 unless --quick")
    parser.add_argument("--threads", type=int, default=peer_process.machine()["cores"])
    parser.add_argument("--tier", choices=TIERS, help="measure on this tier alone, which the processor must have")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a target is missed")
    options = parser.parse_args()
    present = [name for name in OPTIONAL if (HERE / "suites" / f"{name}.py").exists()]
    wanted = options.only or [*SECTIONS, *present]
    if unknown := set(wanted) - {*SECTIONS, *present}:
        parser.error(
            f"no benchmark is named {', '.join(sorted(unknown))}; there are {', '.join((*SECTIONS, *present))}"
        )
    n_turns = options.turns or (1 if options.quick else 3)
    peer_process.install()
    with tempfile.TemporaryDirectory(dir=CORPORA if CORPORA.exists() else None) as name:
        folder = Path(name)
        setup = (
            quick_setup(options.threads, folder, n_turns)
            if options.quick
            else full_setup(options.threads, folder, n_turns, wanted, small_only=options.small)
        )
        setup = dataclasses.replace(setup, fast_rivals=options.fast_rivals)
        tiers = [options.tier] if options.tier else ["", *([] if options.quick or options.only else lower_tiers())]
        sections = [
            measure(section, setup, tier)
            for tier in tiers
            for section in wanted
            if tier in ("", options.tier) or section in ON_EVERY_TIER
        ]
    if not options.quick:
        record = write_record(sections, n_turns)
        if options.only or options.tier or options.small:
            print("README.md and its picture stay as they are: only a run of everything replaces them", file=sys.stderr)
        else:
            write_readme(record)
    missed = [claim for section in sections for claim in section.claims if not claim.met]
    print(f"{len(missed)} of {sum(len(section.claims) for section in sections)} targets missed")
    for claim in missed:
        print(claim.text())
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
