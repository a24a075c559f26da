"""`pairloom stats`: how well a tokenizer fits a corpus, as a table, as JSON, as a plot."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pairloom.cli.console import listener, write_stdout
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.stats import RENYI_ALPHA, CorpusStats, compression_by_size, corpus_stats, sample_text

HELP = "measure a tokenizer on UTF-8 files: compression, use of the vocabulary, efficiency, throughput"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom stats`."""
    add_model_arguments(parser)
    parser.add_argument("--input", nargs="+", required=True, metavar="PATH", help="UTF-8 files, each a document")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="also draw compression against vocabulary size (by truncation, on the first 4 MB) and token lengths;"
        " .svg, .png or .pdf; needs pairloom[plot]",
    )
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads (0: all)")


def run(args: argparse.Namespace) -> None:
    """Prints the figures; the plot is written first, so that a failure prints nothing."""
    plot = None if args.plot is None else Path(args.plot)
    if plot is not None:
        from pairloom.plots import check_plot

        check_plot(plot, args.force)
    tokenizer = load_model(args)
    stats = corpus_stats(tokenizer, args.input, threads=args.threads, progress=listener())
    if plot is not None:
        from pairloom.plots import plot_stats

        try:
            sizes = compression_by_size(tokenizer, sample_text(args.input))
        except ValueError as error:
            print(f"pairloom: no plot of compression against vocabulary size: {error}", file=sys.stderr)
            sizes = []
        plot_stats(stats, sizes, plot, overwrite=args.force)
    write_stdout(json.dumps(stats.as_dict()) + "\n" if args.json else _table(stats))


def _table(stats: CorpusStats) -> str:
    n_unused, n_tokens = len(stats.unused), stats.n_vocab_tokens
    rows = {
        "documents": f"{stats.n_documents}",
        "bytes": f"{stats.n_bytes}",
        "words": f"{stats.n_words} between white space",
        "tokens": f"{stats.n_tokens}",
        "bytes per token": f"{stats.bytes_per_token:.4f}",
        "tokens per word": f"{stats.tokens_per_word:.4f}",
        "single-byte tokens": f"{stats.single_byte_share:.2%}",
        "unused tokens": f"{n_unused} of {n_tokens} ({n_unused / max(n_tokens, 1):.2%})",
        "Renyi efficiency": f"{stats.renyi_efficiency:.4f} at alpha {RENYI_ALPHA}",
        "throughput": f"{stats.bytes_per_second / 1e6:.1f} MB/s reading and encoding",
    }
    return "".join(f"{name:<20} {value}\n" for name, value in rows.items())
