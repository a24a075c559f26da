"""`make bench`: builds the corpora, installs the peers, checks answers, then times everything.

    python benchmarks/run.py [--quick] [--only NAME]... [--tier T]... [--older PYTHON] [--turns 3] [--threads N]

Writes benchmarks/record/<machine>/<date>.json. A run of all sections on all tiers also draws the plot beside it and
writes the table in README.md between the bench markers: a part of them never replaces the whole. Where speed depends
on the tier of instructions pairloom takes a turn on each that the processor has; --tier names those that are wanted.
--older names the interpreter of another build of pairloom, which takes its turn in train, encode and latency: before
and after a change, on one machine in one session. A wrong answer stops the run. A missed target is printed; with
--strict the exit status is then 1. --quick measures one turn of the best tier on the beginnings of corpora that exist
already, or on the standard library's sources, and writes nothing. --only measures some suites, and replaces their
results in a record of the same day. --large adds the larger size of each corpus: hours.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import importlib
import json
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
from suites.ladder import SPECIAL, standard_library

HERE = Path(__file__).parent
SECTIONS = (
    "train",
    "count",
    "encode",
    "arrow",
    "decode",
    "latency",
    "load",
    "patterns",
    "hostile",
    "memory",
    "scaling",
    "growth",
    "families",
)
OPTIONAL = ("pipeline", "sessions", "shards")
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
LANGUAGES = {"english": "English", "multilingual": "15 languages", "code": "C code"}


def quick_setup(n_threads: int, folder: Path, n_turns: int, tiers: list[str]) -> Setup:
    """The first 8 MB of each corpus that is there already, or of the standard library's sources."""
    small = []
    for name, label in LANGUAGES.items():
        built = CORPORA / f"{name}-{SIZES[name][0]}.txt"
        if built.with_suffix(".json").exists():
            with built.open("rb") as file:
                small.append(_written(folder / built.name, file.read(8_000_000), label))
    if not small:
        # Peers that know no special tokens would read one between two files as text.
        sources = standard_library(8_000_000).replace(SPECIAL.encode(), b"\n")
        small = [_written(folder / "sources.txt", sources, "Python")]
    whole = small[0].path.read_bytes()
    growing = [
        _written(folder / f"growing-{part}.txt", whole[: len(whole) // part], f"1/{part}") for part in (8, 4, 2, 1)
    ]
    return Setup(True, n_turns, n_threads, small, [], growing, folder, tiers)


def _written(path: Path, data: bytes, name: str) -> Corpus:
    path.write_bytes(data.decode(errors="ignore").encode())
    return Corpus(name, path)


def full_setup(
    n_threads: int, folder: Path, n_turns: int, tiers: list[str], wanted: list[str], *, large: bool
) -> Setup:
    """The smaller size of each corpus, or both, built where they are not there."""
    small, larger = (
        [Corpus(f"{LANGUAGES[name]}, {SIZES[name][index]} MB", corpus(name, SIZES[name][index])) for name in LANGUAGES]
        if large or not index
        else []
        for index in (0, 1)
    )
    growing = []
    if {"growth", "scaling", "pipeline"} & set(wanted):
        growing = [Corpus(f"mixed, {size} MB", corpus("mixed", size)) for size in SIZES["mixed"]]
    return Setup(False, n_turns, n_threads, small, larger, growing, folder, tiers)


def measure(name: str, setup: Setup) -> Section:
    """One section, printed when it is done."""
    print(f"{name}...", file=sys.stderr)
    began = time.perf_counter()
    section: Section = importlib.import_module(f"suites.{name}").measure(setup)
    section.notes.append(f"tiers {', '.join(setup.tiers)}; took {time.perf_counter() - began:.0f} s")
    print(section.text(), flush=True)
    return section


@functools.cache
def revision() -> str:
    """The commit that is measured; to be asked before the record changes the tree."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def write_record(sections: list[Section], setup: Setup) -> Path:
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
        for built in sorted(CORPORA.glob("*-[0-9]*.json"))
        if built.parent == CORPORA
    }
    kept = ("bytes", "documents", "distinct", "distinct_bytes_available", "sha256", "packages")
    record = {
        "date": date,
        "revision": revision(),
        "machine": machine,
        "turns": setup.n_turns,
        "tiers": setup.tiers,
        "peers": peer_process.PINNED,
        "corpora": {name: {key: fact[key] for key in kept} for name, fact in facts.items()},
        "sections": list(found.values()),
    }
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return path


def readme_table(record: dict[str, Any], record_path: Path, plot: Path) -> str:
    """What the README says: a row a promise, a column a tier, the least and the most of its corpora in a cell."""
    machine = record["machine"]
    ratios: dict[tuple[str, str], dict[str, list[float]]] = {}
    tiers: dict[str, None] = {}
    for section in record["sections"]:
        for claim in section["claims"]:
            if match := re.search(r"times (?:as fast as )?(\w+)(?: \[(\w+)\])?$", claim["what"]):
                peer, tier = match[1], match[2] or ""
                if peer == "before":
                    continue
                tiers |= {tier: None} if tier else {}
                row = ratios.setdefault((claim["what"].split(",")[0], peer), {})
                row.setdefault(tier, []).append(claim["value"])
    lines = [
        "Speedup over other libraries: the least and the most of three corpora (English, 15"
        " languages, C code), for each set of vector instructions. Measured by `make bench` on"
        f" {machine['cpu']}, {machine['cores']} cores, {record['date']}: the median of {record['turns']} rounds or"
        f" more, all libraries in one run. [The record]({record_path}) holds every figure.",
        "",
        f"| | compared with | {' | '.join(tiers)} |",
        f"|---|---|{'---:|' * len(tiers)}",
    ]
    for (what, peer), row in ratios.items():
        # A claim without a tier is of the best one.
        found = [row.get(tier) or (row.get("") if number == 0 else None) for number, tier in enumerate(tiers)]
        cells = [spread(values) if values else "" for values in found]
        lines.append(f"| {what} | {peer} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"![speed by peer, cost by size]({plot})"])


def spread(values: list[float]) -> str:
    """The least and the most, or the only one."""
    least, most = shown(min(values)), shown(max(values))
    return least if least == most else f"{least} to {most}"


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
    parser.add_argument("--large", action="store_true", help="the larger size of each corpus too")
    parser.add_argument("--only", action="append", metavar="NAME", help=", ".join((*SECTIONS, *OPTIONAL)))
    parser.add_argument("--turns", type=int, help="3 unless --quick; first calls get one less than twice as many")
    parser.add_argument("--threads", type=int, default=peer_process.machine()["cores"])
    parser.add_argument("--tier", action="append", choices=peer_process.TIERS, help="this tier, not all")
    parser.add_argument("--older", metavar="PYTHON", help="the interpreter of a build to compare with")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a target is missed")
    options = parser.parse_args()
    present = [name for name in OPTIONAL if (HERE / "suites" / f"{name}.py").exists()]
    wanted = options.only or [*SECTIONS, *present]
    if unknown := set(wanted) - {*SECTIONS, *present}:
        parser.error(
            f"no benchmark is named {', '.join(sorted(unknown))}; there are {', '.join((*SECTIONS, *present))}"
        )
    n_turns = options.turns or (1 if options.quick else 3)
    available = peer_process.tiers()
    if missing := set(options.tier or ()) - set(available):
        parser.error(f"this processor has {', '.join(available)}, not {', '.join(sorted(missing))}")
    tiers = [tier for tier in available if tier in (options.tier or available)]
    peer_process.install()
    revision()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=CORPORA if CORPORA.exists() else None) as name:
        folder = Path(name)
        setup = (
            quick_setup(options.threads, folder, n_turns, options.tier or tiers[:1])
            if options.quick
            else full_setup(options.threads, folder, n_turns, tiers, wanted, large=options.large)
        )
        setup = dataclasses.replace(setup, older=options.older)
        sections = []
        for section in wanted:
            sections.append(measure(section, setup))
            if not options.quick:
                # After each, so that a run that is stopped keeps what it measured.
                record = write_record(sections, setup)
    print(f"all: {(time.perf_counter() - began) / 60:.0f} minutes")
    if not options.quick:
        if options.only or options.tier:
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
