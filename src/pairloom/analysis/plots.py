"""Plots corpus statistics; needs the extra [plot].

The image is written atomically, in the format of its suffix. Equal figures are written as equal bytes. Colour-blind
readers can distinguish the colours (Okabe and Ito's), and series differ in more than colour. In browsers, an SVG
follows the reader's light or dark mode.
"""

import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pairloom._internal.atomic import check_free, write_file
from pairloom._internal.optional_deps import import_optional
from pairloom.analysis.curve import TrainingCurve
from pairloom.analysis.report import TokenizerReport
from pairloom.analysis.shards import ShardStats
from pairloom.analysis.stats import CorpusStats

_SUFFIXES: Final = (".svg", ".png", ".pdf")
# A few tokens of a hundred bytes (runs of spaces, lines of dashes) would leave no room for the others.
_MAX_LENGTH_SHOWN: Final = 24
_MAX_SOURCES: Final = 40
_LOGARITHMIC: Final[dict[str, Any]] = {"xscale": "log", "yscale": "log"}

INK, PAPER, GRID, FIRST, SECOND = "#1b1b1f", "#ffffff", "#c9c9d1", "#0072b2", "#d55e00"
_DARK_COLOURS: Final = {INK: "#ececf1", PAPER: "#16161a", GRID: "#4a4a54", FIRST: "#56b4e9", SECOND: "#e69f00"}

STYLE: Final[dict[Any, Any]] = {
    # Without the salt, equal figures would be written as different files.
    "svg.hashsalt": "pairloom",
    "font.size": 10,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "legend.facecolor": PAPER,
    "legend.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}
"""The matplotlib settings of every plot."""


def check_plot(path: Path, overwrite: bool) -> None:
    """Checks the arguments of a plot before the work begins; ImportError, ValueError, OSError."""
    _figure()
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"{path}: a plot must be named {', '.join(_SUFFIXES)}; change its suffix")
    check_free(path, overwrite)


def _figure() -> Any:
    return import_optional("matplotlib.figure", "a plot").Figure


def plot_stats(stats: CorpusStats, curve: TrainingCurve | None, path: Path, overwrite: bool) -> None:
    """Draws token lengths and token frequencies by rank; with a training curve, also compression by vocabulary size and
    the curve.
    """
    drawn: list[Callable[[Any], None]] = [partial(_draw_lengths, stats=stats), partial(_draw_frequencies, stats=stats)]
    if curve is not None and len(curve.times):
        n_base = stats.n_vocab_tokens - len(curve.times)
        drawn.append(partial(_draw_compression, curve=curve, n_base=n_base, n_bytes=stats.n_bytes))
        drawn.append(partial(_draw_curve, curve=curve, n_bytes=stats.n_bytes))
    _save_drawn(drawn, path, overwrite)


def plot_shards(stats: ShardStats, path: Path, overwrite: bool) -> None:
    """Draws document lengths, and the tokens of the 40 largest inputs."""
    drawn: list[Callable[[Any], None]] = [partial(_draw_documents, stats=stats)]
    if sum(bool(tokens) for *_, tokens in stats.inputs) > 1:
        drawn.append(partial(_draw_inputs, stats=stats))
    _save_drawn(drawn, path, overwrite)


def _save_drawn(drawn: Sequence[Callable[[Any], None]], path: Path, overwrite: bool) -> None:
    """Draws the plots into one image, two per row, and saves it."""
    import matplotlib

    n_rows = (len(drawn) + 1) // 2
    with matplotlib.rc_context(STYLE):
        figure = _figure()(figsize=(10.5, 4.2 * n_rows), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15)
        for place, draw in enumerate(drawn, start=1):
            draw(figure.add_subplot(n_rows, 2, place))
        _save(figure, path, overwrite)


def plot_report(reports: Sequence[TokenizerReport], path: Path, overwrite: bool) -> None:
    """Draws bytes per token and premium of each tokenizer on each corpus."""
    import matplotlib

    names = list(reports[0].corpora)
    at = np.arange(len(names))[::-1]
    with matplotlib.rc_context(STYLE):
        figure = _figure()(figsize=(10.5, 1.8 + 0.3 * (len(names) + len(reports))), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for number, each in enumerate(reports):
            style: dict[str, Any] = {
                "marker": _MARKERS[number % len(_MARKERS)],
                "color": (FIRST, SECOND)[number % 2],
                "linestyle": "",
                "alpha": 0.9,
            }
            label = f"{_shortened(each.name)}  (Gini {each.gini:.3f})"
            left.plot([each.corpora[name].bytes_per_token for name in names], at, label=label, **style)
            right.plot([each.premiums.get(name, np.nan) for name in names], at, **style)
        left.set_yticks(at, [_shortened(name) for name in names])
        left.set_xlabel("bytes per token")
        right.set_xlabel("premium: cost over that of the best corpus")
        for axes in (left, right):
            axes.grid()
        figure.legend(loc="outside upper left", ncols=1)
        _save(figure, path, overwrite)


_MARKERS: Final = "osD^vP*X"


def _shortened(name: str) -> str:
    """Shortens a long name to its end, where file names differ, and escapes $, which begins a formula in matplotlib."""
    shown = name.encode(errors="surrogateescape").decode(errors="replace").replace("$", r"\$")
    return shown if len(shown) <= _MAX_NAME_CHARS else f"…{shown[-_MAX_NAME_CHARS:]}"


_MAX_NAME_CHARS: Final = 48


def _save(figure: Any, path: Path, overwrite: bool) -> None:
    image = io.BytesIO()
    kind = path.suffix.lower()[1:]
    # With a date, equal figures would be written as different files.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(image, format=kind, metadata=undated)
    data = image.getvalue()
    write_file(path, svg_for_both_modes(data) if kind == "svg" else data, overwrite)


def svg_for_both_modes(svg: bytes) -> bytes:
    """Adds a style sheet to an SVG, with which browsers replace the colours above in dark mode."""
    rules = "".join(
        f'[style*="{what}: {light}"] {{ {what}: {dark} !important }} '
        for light, dark in _DARK_COLOURS.items()
        for what in ("fill", "stroke")
    )
    # Text without a colour would stay black.
    rules += f"text:not([style*=fill]), g[id^=text] use {{ fill: {_DARK_COLOURS[INK]} }}"
    style = f"<style>@media (prefers-color-scheme: dark) {{ {rules} }}</style>"
    head, end, rest = svg.partition(b"<defs>")
    return head + style.encode() + end + rest


def _draw_compression(axes: Any, curve: TrainingCurve, n_base: int, n_bytes: int) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    # The number of tokens after n merges equals that of the tokenizer truncated to n merges.
    sizes = np.unique(np.geomspace(n_base, n_base + len(curve.times), 12).round().astype(np.int64))
    axes.plot(sizes, n_bytes / np.maximum(curve.n_tokens[sizes - n_base], 1), marker="o", color=FIRST)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("compression by vocabulary size")
    axes.set(xlabel="tokens in the vocabulary, by truncation", ylabel="bytes per token")
    axes.grid()


def _draw_curve(axes: Any, curve: TrainingCurve, n_bytes: int) -> None:
    shown = _shown(len(curve.times))
    times = np.where(curve.times[shown - 1] > 0, curve.times[shown - 1], np.nan)
    axes.set(title="training curve", xlabel="merges, in the order in which they are learned", **_LOGARITHMIC)
    axes.set_ylabel("times the merge is applied in the corpus")
    axes.grid()
    (first,) = axes.plot(shown, times, color=FIRST, label="times (left)")
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    after = np.maximum(curve.n_tokens[shown], 1)
    (second,) = right.plot(shown, n_bytes / after, color=SECOND, linestyle="--", label="bytes per token (right)")
    right.set(ylabel="bytes per token", ylim=(0, None))
    axes.legend(handles=[first, second], loc="lower left")


def _draw_lengths(axes: Any, stats: CorpusStats) -> None:
    lengths = np.minimum(stats.token_bytes, _MAX_LENGTH_SHOWN)
    weights = {"tokens of the vocabulary": stats.token_bytes > 0, "tokens of the corpus": stats.token_counts}
    values = {
        name: np.bincount(lengths, weights=of, minlength=_MAX_LENGTH_SHOWN + 1)[1:] for name, of in weights.items()
    }
    _draw_bars(axes, "token lengths", np.arange(1, _MAX_LENGTH_SHOWN + 1), values)
    ticks = [1, *range(4, _MAX_LENGTH_SHOWN + 1, 4)]
    axes.set_xticks(ticks, [*map(str, ticks[:-1]), f"{_MAX_LENGTH_SHOWN}+"])
    axes.set_xlabel("bytes of a token")


def _draw_documents(axes: Any, stats: ShardStats) -> None:
    at = np.arange(len(stats.lengths))
    values = {name: np.array([getattr(each, name) for each in stats.lengths]) for name in ("documents", "tokens")}
    _draw_bars(axes, "document lengths", at, values)
    axes.set_xticks(at, [f"{each.least:,}" for each in stats.lengths], rotation=45, ha="right")
    axes.set_xlabel("tokens per document, from each number to the next")


def _draw_bars(axes: Any, title: str, at: npt.NDArray[np.int64], values: dict[str, npt.NDArray[Any]]) -> None:
    """Draws two series side by side, each in percent of its sum."""
    styles = ((-0.2, FIRST, ""), (0.2, SECOND, "//"))
    for (name, of), (shift, colour, hatch) in zip(values.items(), styles, strict=True):
        share = of / max(int(of.sum()), 1) * 100
        axes.bar(at + shift, share, 0.4, color=colour, hatch=hatch, edgecolor=PAPER, label=name)
    axes.set(title=title, ylabel="percent")
    axes.grid(axis="y")
    axes.legend()


def _draw_inputs(axes: Any, stats: ShardStats) -> None:
    largest = sorted(stats.inputs, key=lambda entry: -(entry[2] or 0))[:_MAX_SOURCES]
    # Not n_tokens of the shards: packed rows of one rank have only part of the inputs' tokens.
    total = sum(tokens or 0 for *_, tokens in stats.inputs)
    shares = [(tokens or 0) / total * 100 for *_, tokens in largest]
    axes.barh(np.arange(len(largest))[::-1], shares, 0.8, color=FIRST, edgecolor=PAPER)
    size = 8 if len(largest) <= _MAX_SOURCES // 2 else 6
    axes.set_yticks(np.arange(len(largest))[::-1], [_shortened(path) for path, *_ in largest], fontsize=size)
    axes.set(title="inputs", xlabel="percent of the tokens")
    axes.grid(axis="x")


def _draw_frequencies(axes: Any, stats: CorpusStats) -> None:
    counts = np.sort(stats.token_counts[stats.token_counts > 0])[::-1]
    by_frequency = f"tokens, most frequent first ({len(stats.unused):,} never occur)"
    axes.set(title="token frequencies", xlabel=by_frequency, ylabel="times in the corpus", **_LOGARITHMIC)
    axes.grid()
    if len(counts):
        shown = _shown(len(counts))
        axes.plot(shown, counts[shown - 1], color=FIRST)


def _shown(n: int) -> npt.NDArray[np.int64]:
    """Returns the points to draw: a curve of a hundred thousand looks no different from one of a few hundred."""
    return np.unique(np.geomspace(1, n, 400).astype(np.int64))
