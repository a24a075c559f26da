"""Plots a record as SVG: speed of each library, cost against corpus size and against vocabulary size.

    python benchmarks/report/plot.py RECORD.json OUTPUT.svg

Needs the extra [plot]. The same record gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OWN, OTHER = "#1a6", "#999"


def table_of(record: dict[str, Any], section: str, beginning: str) -> dict[str, Any] | None:
    """The table whose title begins so; None where that section was not run."""
    for found in record["sections"]:
        for table in found["tables"] if found["name"] == section else ():
            if table["title"].startswith(beginning):
                return dict(table)
    return None


def draw(record: dict[str, Any], output: Path) -> None:
    """Writes the SVG; axes whose section is missing stay empty."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "pairloom"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(18, 4.2), layout="constrained")
    speed_by_peer(axes[0], table_of(record, "train", "training to"), "train 32,000: MB/s", speed_of=training_speed)
    speed_by_peer(axes[1], table_of(record, "encode", "documents to lists"), "text to lists: MB/s, warm", lists_speed)
    against(axes[2], table_of(record, "growth", "training to 32,000 on ever more"), "corpus, MB", (2, 3, 4))
    against(axes[3], table_of(record, "growth", "training on"), "vocabulary", (1, 2, 3))
    figure.suptitle(f"{record['machine']['cpu']}, {record['machine']['cores']} cores, {record['date']}", fontsize=10)
    figure.savefig(output, metadata={"Date": None})


def training_speed(row: list[Any]) -> tuple[str, str, float]:
    """(corpus, peer, MB/s)."""
    return row[0], row[2], row[1] / row[3]


def lists_speed(row: list[Any]) -> tuple[str, str, float]:
    """(corpus and threads, peer, MB/s)."""
    return f"{row[0]} {row[1]}t", row[2], row[4]


def speed_by_peer(axis: Any, table: dict[str, Any] | None, title: str, speed_of: Any) -> None:
    """Bars in groups of a corpus, on a logarithmic axis."""
    axis.set_title(title, fontsize=9)
    if table is None:
        return
    found = [speed_of(row) for row in table["rows"]]
    groups = list(dict.fromkeys(group for group, _, _ in found))
    peers = list(dict.fromkeys(peer for _, peer, _ in found))
    width = 0.8 / len(peers)
    for index, peer in enumerate(peers):
        at = [groups.index(group) + index * width for group, name, _ in found if name == peer]
        shade = {"color": OWN} if peer == "pairloom" else {"color": OTHER, "alpha": 1 - 0.6 * index / len(peers)}
        axis.bar(at, [speed for _, name, speed in found if name == peer], width, label=peer, **shade)
    axis.set_yscale("log")
    axis.set_xticks(
        [index + 0.4 - width / 2 for index in range(len(groups))], groups, fontsize=7, rotation=20, ha="right"
    )
    axis.legend(fontsize=6)


def against(axis: Any, table: dict[str, Any] | None, what: str, columns: tuple[int, ...]) -> None:
    """Seconds against a size, both logarithmic."""
    axis.set_title(f"training: seconds against {what}", fontsize=9)
    if table is None:
        return
    for column, style in zip(columns, ("--", ":", "-")):
        label = table["columns"][column]
        axis.plot(
            [row[0] for row in table["rows"]], [row[column] for row in table["rows"]], style, color=OWN, label=label
        )
    theirs = [(row[0], row[6]) for row in table["rows"] if len(row) > 6 and row[6]]
    if theirs:
        axis.plot(*zip(*theirs), color=OTHER, label="gigatoken")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(what, fontsize=8)
    axis.legend(fontsize=7)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
