"""What all soak harnesses share: their registry and the table that each returns.

To add a harness, write a module in this folder with

    SUMMARY = "one line about what is run and what counts as a failure"
    QUICK = 200      # cases in the normal test run: a few seconds
    FULL = 100_000   # cases of a full run

    def run(count: int, seed: int) -> Table: ...

and add its name to HARNESSES. The same count and seed must give the same cases.
"""

import importlib
from dataclasses import dataclass, field
from typing import Protocol, cast

HARNESSES: tuple[str, ...] = (
    "corpus_mutations",
    "forks",
    "huggingface_patterns",
    "huggingface_random",
    "identity",
    "kills",
    "memory_limits",
    "misuse",
    "mutations",
    "sessions",
    "shard_mutations",
    "signals",
)
"""The names of the harness modules in this folder."""


@dataclass
class Table:
    """The result of one run.

    columns: the names of the columns. rows: one tuple of cells for each row. failures: one message for each case that
    broke the rule, with what is needed to repeat it (at most a few are printed); a run passes when there is none.
    """

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Appends a row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(cells)

    def text(self) -> str:
        """The table in Markdown, so that it can be copied to docs/reliability.md."""
        cells = [self.columns, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in cells
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


class Harness(Protocol):
    """A module of this folder that HARNESSES names."""

    SUMMARY: str
    QUICK: int
    FULL: int

    @staticmethod
    def run(count: int, seed: int) -> Table:
        """Runs `count` cases and returns the table."""


def load(name: str) -> Harness:
    """The harness module called `name`."""
    return cast(Harness, importlib.import_module(f"tests.soak.{name}"))


def _shown(cell: object) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
