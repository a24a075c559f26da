"""The options of `stats` and `compare` for named corpora, and the report on those corpora."""

import argparse
from pathlib import Path

from pairloom import Tokenizer
from pairloom.analysis.plots import check_plot, plot_report
from pairloom.analysis.report import report, report_text
from pairloom.cli.console import check_needs, json_line, write_stdout
from pairloom.cli.corpus_options import named_corpora


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `print_report` reads, except the corpus options."""
    parser.add_argument(
        "--corpus",
        action="append",
        metavar="NAME=PATH",
        help="instead of --input: a named corpus, such as one language; several add premiums, the Gini coefficient "
        "and useless tokens",
    )
    parser.add_argument(
        "--parallel",
        action="store_true",
        help="the corpora are translations of each other: compare total tokens, not tokens per byte",
    )


def add_plot_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds the options of a plot, which draws `what`."""
    help = f"{what} (.svg, .png or .pdf; needs matplotlib)"
    parser.add_argument("--plot", metavar="FILE", help=help)
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")


def wants_report(args: argparse.Namespace) -> bool:
    """Returns whether --corpus names corpora to report on; exactly one of it and --input must be given."""
    if (args.input is None) == (args.corpus is None):
        args.wrong_usage("pass either --input or --corpus")
    check_needs(args, parallel="corpus")
    return args.corpus is not None


def print_report(args: argparse.Namespace, tokenizers: dict[str, Tokenizer]) -> None:
    """Prints the tokenizers' report on each --corpus, as text or JSON; writes the plot first."""
    corpora = named_corpora(args, "--corpus", args.corpus)
    if args.plot is not None:
        check_plot(Path(args.plot), args.force)
    how = {name: getattr(args, name) for name in ("parallel", "threads", "specials") if hasattr(args, name)}
    found = report(tokenizers, corpora, **how)
    if args.plot is not None:
        plot_report(found, Path(args.plot), args.force)
        args.console.wrote(args.plot, "a plot")
    if args.json:
        write_stdout(json_line([each.as_dict() for each in found]))
    else:
        write_stdout("\n".join(report_text(each, tokenizers[each.name]) for each in found))
