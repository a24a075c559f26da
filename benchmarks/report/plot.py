"""Plots a record as SVG: speed of each library, cost against corpus size and against vocabulary size.

    python benchmarks/report/plot.py RECORD.json OUTPUT.svg

Needs the extra [plot]. The same record gives the same bytes.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairloom.analysis.plots import FIRST, PAPER, SECOND, STYLE, svg_for_both_modes

MAX_LINEAR_RATIO = 20
# Another build of pairloom (run.py --older), which is no part of the picture.
OLDER = "pairloom before"
# (colour, hatching): pairloom's tiers share a colour, each peer has its own.
OWN = ((FIRST, ""), (FIRST, "---"), (FIRST, "ooo"))
PEERS = ((SECOND, "//"), ("#009e73", "\\\\"), ("#767676", ".."), ("#cc79a7", "xx"))


def table_of(record: dict[str, Any], section: str, beginning: str) -> dict[str, Any] | None:
    """The table whose title begins so; None where that section was not run."""
    for found in record["sections"]:
        for table in found["tables"] if found["name"] == section else ():
            if table["title"].startswith(beginning):
                return dict(table)
    return None


def draw(record: dict[str, Any], output: Path) -> None:
    """Writes the SVG: a panel for each section that was measured, and none for the others."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.use("svg")
    panels: list[tuple[dict[str, Any] | None, Callable[[Any, dict[str, Any]], None]]] = [
        (
            table_of(record, "train", "training to"),
            lambda axis, table: speed_by_peer(axis, table, "training to 32,000 tokens", training_speed),
        ),
        (
            table_of(record, "encode", "documents to lists"),
            lambda axis, table: speed_by_peer(axis, table, "documents to lists of ids, warm", lists_speed),
        ),
        (
            table_of(record, "encode", "documents to arrays"),
            lambda axis, table: speed_by_peer(axis, table, "documents to arrays of ids, warm", lists_speed),
        ),
        (
            table_of(record, "growth", "training to 32,000 on ever more"),
            lambda axis, table: against(axis, table, "corpus, MB", (2, 3, 4)),
        ),
        (
            table_of(record, "growth", "training on"),
            lambda axis, table: against(axis, table, "vocabulary", (1, 2, 3)),
        ),
        (table_of(record, "families", "a family's documents"), speed_by_family),
    ]
    measured = [(table, drawn) for table, drawn in panels if table is not None]
    with matplotlib.rc_context(STYLE):
        n_columns = min(len(measured), 2) or 1
        n_rows = -(-len(measured) // n_columns) or 1
        figure = Figure(figsize=(6.2 * n_columns, 4.4 * n_rows), layout="constrained")
        axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axis in axes:
            axis.set_visible(False)
        for axis, (table, drawn) in zip(axes, measured):
            axis.set_visible(True)
            drawn(axis, table)
        machine = record["machine"]
        tier = f"; pairloom: {record['tiers'][0]}" if record.get("tiers") else ""
        figure.suptitle(f"{machine['cpu']}, {machine['cores']} cores, {record['date']}{tier}")
        image = io.BytesIO()
        figure.savefig(image, format="svg", metadata={"Date": None})
    output.write_bytes(svg_for_both_modes(image.getvalue()))


def training_speed(row: list[Any]) -> tuple[str, str, float]:
    """(corpus, peer, MB/s)."""
    return row[0], row[2], row[1] / row[3]


def lists_speed(row: list[Any]) -> tuple[str, str, float]:
    """(corpus and threads, peer, MB/s)."""
    return (
        f"{row[0].removesuffix(' MB').rpartition(',')[0] or row[0]}\n{row[1]} thread{'s' if row[1] > 1 else ''}",
        row[2],
        row[4],
    )


def looks_of(peers: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and hatching of each."""
    own = [peer for peer in peers if peer.startswith("pairloom")]
    return dict(zip(own, OWN)) | dict(zip([peer for peer in peers if peer not in own], PEERS))


def speed_by_peer(axis: Any, table: dict[str, Any], title: str, speed_of: Any) -> None:
    """Bars in groups of a corpus, on a logarithmic axis where the speeds are far apart."""
    found = [speed_of(row) for row in table["rows"]]
    found = [(group, peer, speed) for group, peer, speed in found if speed is not None and peer != OLDER]
    groups = list(dict.fromkeys(group for group, _, _ in found))
    peers = list(dict.fromkeys(peer for _, peer, _ in found))
    looks = looks_of(peers)
    width = 0.8 / len(peers)
    for index, peer in enumerate(peers):
        at = [groups.index(group) + index * width for group, name, _ in found if name == peer]
        colour, hatch = looks[peer]
        speeds = [speed for _, name, speed in found if name == peer]
        axis.bar(at, speeds, width, label=peer, color=colour, hatch=hatch, edgecolor=PAPER)
    axis.set_title(title)
    speeds = [speed for _, _, speed in found]
    if max(speeds) > MAX_LINEAR_RATIO * min(speeds):
        axis.set_ylabel("MB/s, logarithmic")
        axis.set_yscale("log")
        axis.set_ylim(bottom=min(1.0, *speeds))
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.set_ylabel("MB/s")
    axis.grid(axis="y")
    axis.set_xticks([index + 0.4 - width / 2 for index in range(len(groups))], groups, fontsize=7)
    axis.legend(
        ncols=min(len(peers), 4), loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, columnspacing=1
    )


def speed_by_family(axis: Any, table: dict[str, Any]) -> None:
    """Points on a line for each family: MB/s of each library, warm, on one thread."""
    rows = [row for row in table["rows"] if row[1] == 1]
    peers = {"pairloom": 3, "gigatoken": 5, "the format's owner": 6}
    colours = (FIRST, SECOND, PEERS[1][0])
    for (peer, column), colour, mark in zip(peers.items(), colours, "osD", strict=True):
        found = [(row[column], index) for index, row in enumerate(rows) if isinstance(row[column], (int, float))]
        axis.plot(*zip(*found, strict=True), mark, color=colour, label=peer, markersize=4)
    axis.set_title("families of tokenizers, one thread, warm")
    axis.set_xscale("log")
    axis.set_xlabel("MB/s, logarithmic")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=6)
    axis.invert_yaxis()
    axis.grid()
    axis.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, columnspacing=1)


def against(axis: Any, table: dict[str, Any], what: str, columns: tuple[int, ...]) -> None:
    """Seconds against a size, both logarithmic."""
    axis.set_title(f"training: seconds against {what}")
    for column, style in zip(columns, ("--", ":", "-")):
        label = table["columns"][column]
        axis.plot(
            [row[0] for row in table["rows"]], [row[column] for row in table["rows"]], style, color=FIRST, label=label
        )
    theirs = [(row[0], row[6]) for row in table["rows"] if len(row) > 6 and row[6]]
    if theirs:
        axis.plot(*zip(*theirs), color=SECOND, label="gigatoken")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(what)
    axis.legend()


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
