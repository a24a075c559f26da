"""Plots of corpus statistics; needs the extra [plot].

The image is written atomically, in the format of its suffix. Equal statistics give equal bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pairloom._internal.atomic import check_free, write_file
from pairloom.analysis.stats import CorpusStats

__all__ = ["check_plot", "plot_stats"]

_SUFFIXES: Final = (".svg", ".png", ".pdf")
# A few tokens of a hundred bytes (runs of spaces, rules) would leave no room for the others.
_LONGEST_SHOWN: Final = 24


def check_plot(path: Path, overwrite: bool = False) -> None:
    """Raises what `plot_stats` would raise before it starts to draw: ImportError, ValueError, OSError."""
    _figure()
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"{path}: a plot is written as {', '.join(_SUFFIXES)}; give it such a suffix")
    check_free(path, overwrite)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install pairloom[plot]") from error
    return Figure


def plot_stats(stats: CorpusStats, sizes: Sequence[tuple[int, float]], path: Path, *, overwrite: bool = False) -> None:
    """Draws compression against vocabulary size and a histogram of token lengths.

    sizes: what `compression_by_size` gives; empty leaves that plot out. Raises ImportError without matplotlib,
    ValueError for a suffix that is none of .svg, .png, .pdf, FileExistsError unless `overwrite`.
    """
    check_plot(path, overwrite)
    import matplotlib

    # Without the salt and with a date, equal figures would give different files.
    with matplotlib.rc_context({"svg.hashsalt": "pairloom"}):
        figure = _figure()(figsize=(11 if sizes else 6, 4.2), layout="constrained")
        axes = figure.subplots(1, 2 if sizes else 1, squeeze=False)[0]
        if sizes:
            _draw_compression(axes[0], sizes)
        _draw_lengths(axes[-1], stats)
        image = io.BytesIO()
        kind = path.suffix.lower()[1:]
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(image, format=kind, metadata=undated)
    write_file(path, image.getvalue(), overwrite)


def _draw_compression(axes: Any, sizes: Sequence[tuple[int, float]]) -> None:
    axes.plot([size for size, _ in sizes], [ratio for _, ratio in sizes], marker="o")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("tokens in the vocabulary, by truncation")
    axes.set_ylabel("bytes per token")
    axes.grid(alpha=0.3)


def _draw_lengths(axes: Any, stats: CorpusStats) -> None:
    lengths = np.minimum(stats.token_bytes, _LONGEST_SHOWN)
    assigned = stats.token_bytes > 0
    token_lengths = np.arange(_LONGEST_SHOWN + 1)
    for name, weights, shift in (
        ("of the vocabulary", assigned, -0.2),
        ("of the corpus", stats.token_counts, 0.2),
    ):
        total = max(int(weights.sum()), 1)
        share = np.bincount(lengths, weights=weights, minlength=len(token_lengths)) / total
        axes.bar(token_lengths[1:] + shift, share[1:], width=0.4, label=f"share {name}'s tokens")
    axes.set_xlabel(f"bytes of a token ({_LONGEST_SHOWN}: or more)")
    axes.legend()
