"""`pairloom shards`: shows what a folder of shards holds, as a table, JSON or a plot."""

import argparse
from pathlib import Path

from pairloom.analysis.plots import check_plot, plot_shards
from pairloom.analysis.shards import shard_stats, shard_stats_text
from pairloom.cli.console import json_line, write_stdout
from pairloom.cli.report import add_plot_options

HELP = "show what a folder of shards contains: documents, tokens, document lengths, tokens of each input"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom shards`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder that pairloom tokenize wrote or is writing")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    add_plot_options(parser, "also plot document lengths and tokens per input")


def run(args: argparse.Namespace) -> None:
    """Prints the figures. Writes the plot first, so that a failure prints nothing."""
    if args.plot is not None:
        check_plot(Path(args.plot), args.force)
    stats = shard_stats(args.folder)
    if args.plot is not None:
        plot_shards(stats, Path(args.plot), args.force)
        args.console.wrote(args.plot, "a plot")
    write_stdout(json_line(stats.as_dict()) if args.json else shard_stats_text(stats))
