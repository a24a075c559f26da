"""`pairloom stats`: measures a tokenizer's compression and vocabulary use on a corpus; a table, JSON or a plot."""

import argparse
from pathlib import Path

from pairloom.analysis.curve import training_curve
from pairloom.analysis.plots import check_plot, plot_stats
from pairloom.analysis.report import figure_text
from pairloom.analysis.stats import RENYI_ALPHA, CorpusStats, corpus_stats
from pairloom.cli.console import json_line, whole_number, write_stdout
from pairloom.cli.corpus_options import add_corpus_options, add_specials_option, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.cli.report import add_plot_options, add_report_options, print_report, wants_report

HELP = "measure a tokenizer on a corpus: compression, vocabulary use, Renyi efficiency, throughput"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom stats`."""
    add_model_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    what = "token lengths, token frequencies, compression by vocabulary size and the training curve"
    add_plot_options(parser, f"also plot {what}")
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    add_specials_option(parser)
    add_report_options(parser)
    add_corpus_options(parser, required=False)


def run(args: argparse.Namespace) -> None:
    """Prints the figures. Writes the plot first, so that a failure prints nothing."""
    if wants_report(args):
        print_report(args, {args.model: load_model(args)})
        return
    corpus = corpus_of(args)
    if args.plot is not None:
        check_plot(Path(args.plot), args.force)
    tokenizer = load_model(args)
    stats = corpus_stats(
        tokenizer,
        corpus,
        threads=args.threads,
        progress=args.console.progress,
        specials=args.specials,
    )
    if args.plot is not None:
        curve = None
        try:
            curve = training_curve(tokenizer, stats)
        except ValueError as error:
            args.console.say("note", f"no plots of vocabulary size and training: {error}")
        plot_stats(stats, curve, Path(args.plot), args.force)
        args.console.wrote(args.plot, "a plot")
    write_stdout(json_line(stats.as_dict()) if args.json else _table(stats))


def _table(stats: CorpusStats) -> str:
    n_unused, n_tokens = len(stats.unused), stats.n_vocab_tokens
    rows = {
        "documents": f"{stats.n_documents}",
        "bytes": f"{stats.n_bytes}",
        "words": f"{stats.n_words} between white space",
        "tokens": f"{stats.n_tokens}",
        "bytes per token": figure_text(stats.bytes_per_token, ".4f"),
        "tokens per word": figure_text(stats.tokens_per_word, ".4f"),
        "single-byte tokens": figure_text(stats.single_byte_share, ".2%"),
        "unused tokens": f"{n_unused} of {n_tokens} ({n_unused / max(n_tokens, 1):.2%})",
        "Renyi efficiency": figure_text(stats.renyi_efficiency, ".4f", f" at alpha {RENYI_ALPHA}"),
        "throughput": figure_text(stats.bytes_per_second / 1e6, ".1f", " MB/s reading and encoding"),
    }
    if stats.n_skipped:
        rows["records skipped"] = f"{stats.n_skipped}"
    return "".join(f"{name:<20} {value}\n" for name, value in rows.items())
