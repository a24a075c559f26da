"""What all soak harnesses share: their registry, the result of a case, and the table of all results.

To add a harness, write a module in this folder with

    SUMMARY = "one line about what is run and what counts as a failure"
    QUICK = 200      # cases in the normal test run: a few seconds
    FULL = 100_000   # cases of a full run

    def run(count: int, seed: int) -> Iterator[Result]: ...

and add its name to HARNESSES. The same count and seed must give the same cases.
"""

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

HARNESSES: tuple[str, ...] = (
    "corpus_mutations",
    "forks",
    "huggingface_patterns",
    "huggingface_random",
    "identity",
    "memory_limits",
    "misuse",
    "mutations",
    "sessions",
    "shard_mutations",
    "signals",
)
"""The names of the harness modules in this folder."""


class Result(NamedTuple):
    """A case, or several of one row of the table.

    counts: added to the row's columns. failure: how a case broke the rule, with what is needed to repeat it.
    largest: numbers of which the row shows the largest, such as seconds.
    """

    row: str
    counts: Mapping[str, int]
    failure: str = ""
    largest: Mapping[str, float] = {}


class Table:
    """The results of one run, by row; it passes if there are no failures."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.rows: dict[str, Counter[str]] = {}
        self.failures: list[str] = []
        self._largest: dict[tuple[str, str], float] = {}
        for row, counts, failure, largest in results:
            for name in (row, "all"):
                self.rows.setdefault(name, Counter()).update({**counts, "failed": bool(failure)})
                for column, value in largest.items():
                    self._largest[name, column] = max(value, self._largest.get((name, column), 0))
            if failure:
                self.failures.append(f"{row}: {failure}")

    def text(self) -> str:
        """The table in Markdown, so that it can be copied to docs/reliability.md."""
        total = self.rows.pop("all", Counter())
        rows = {**self.rows, "all": total}
        largest = list(dict.fromkeys(column for _, column in self._largest))
        counted = [*(column for column in total if column != "failed"), "failed"]
        cells = [["", *counted, *largest]]
        for row, counts in rows.items():
            shown = (
                f"{self._largest[row, column]:.3g}" if (row, column) in self._largest else "" for column in largest
            )
            cells.append([row, *(f"{counts[column]:,}" for column in counted), *shown])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(1, ["-" * width for width in widths])
        aligned = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells)
        return "\n".join(f"| {' | '.join(row)} |" for row in aligned)


def load(name: str) -> Any:
    """The harness module called `name`."""
    return importlib.import_module(f"tests.soak.{name}")
