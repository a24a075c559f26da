"""Results of a benchmark: tables, and claims with their targets, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | int | float | None


@dataclass(slots=True)
class Table:
    """Rows of cells under a title; the first cell of a row says what it is of."""

    title: str
    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)

    def markdown(self) -> str:
        """The table as GitHub shows it."""
        lines = [f"| {' | '.join(self.columns)} |", f"|{'---|' + '---:|' * (len(self.columns) - 1)}"]
        lines += [f"| {' | '.join(shown(cell) for cell in row)} |" for row in self.rows]
        return "\n".join(lines)

    def text(self) -> str:
        """The table for a terminal."""
        cells = [self.columns, *[[shown(cell) for cell in row] for row in self.rows]]
        widths = [max(len(row[index]) for row in cells) for index in range(len(self.columns))]
        lines = [
            "  ".join(c.ljust(w) if not index else c.rjust(w) for index, (c, w) in enumerate(zip(row, widths)))
            for row in cells
        ]
        return "\n".join([self.title, *("  " + line for line in lines)])


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio that must be at least, or at most, its target."""

    what: str
    value: float
    target: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target

    def text(self) -> str:
        bound = "at most" if self.at_most else "at least"
        return f"{'met   ' if self.met else 'MISSED'}  {self.what}: {self.value:.2f} (wanted {bound} {self.target:g})"


@dataclass(slots=True)
class Section:
    """All of one benchmark."""

    name: str
    tables: list[Table] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        parts = [f"== {self.name} ==", *(table.text() for table in self.tables)]
        return "\n".join([*parts, *(claim.text() for claim in self.claims), *(f"note: {note}" for note in self.notes)])

    def record(self) -> dict[str, Any]:
        """The section as JSON has it."""
        record = asdict(self)
        record["claims"] = [asdict(claim) | {"met": claim.met} for claim in self.claims]
        return record


@dataclass(frozen=True, slots=True)
class Corpus:
    """One corpus: what it is called in the tables, and where it is."""

    name: str
    path: Path

    @property
    def n_bytes(self) -> int:
        return self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class Setup:
    """What is measured: how often, on which corpora, with how many threads, on which tiers."""

    quick: bool
    n_turns: int
    n_threads: int
    small: list[Corpus]
    """English, many languages, code at 80 MB (10 MB when quick)."""
    large: list[Corpus]
    """The same at 350 MB, or as far as distinct text goes, where they are asked for."""
    growing: list[Corpus]
    """One mixed corpus from 100 MB to 2 GB; smaller when quick."""
    folder: Path
    """Where answers and models are put while measuring."""
    tiers: list[str]
    """Tiers of instructions, best first: each takes its turn where speed depends on it."""
    older: str | None = None
    """The interpreter of another build of pairloom, which takes its turn where training and encoding are timed."""

    @property
    def corpora(self) -> list[Corpus]:
        return [*self.small, *self.large]

    @property
    def n_turns_of_first_calls(self) -> int:
        """More turns where first calls are timed: a process has one of them, which meets whatever else runs."""
        return 2 * self.n_turns - 1


def shown(cell: Cell) -> str:
    """A number with three significant digits, or the text."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return str(cell)
