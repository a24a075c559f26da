"""`pairloom merge-counts`: adds counts files into one, and subtracts others; prints one JSON line."""

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from operator import iadd, sub
from pathlib import Path

from pairloom import CountsError, PretokenCounts
from pairloom._internal.atomic import check_free
from pairloom._internal.warnings import warn
from pairloom.cli.console import json_line, write_stdout
from pairloom.cli.corpus_options import check_not_replaced
from pairloom.cli.count import report

HELP = "add and subtract counts files with the same pattern and special tokens"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom merge-counts`."""
    parser.add_argument("counts", nargs="+", metavar="FILE", help="counts files")
    parser.add_argument(
        "--subtract",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="counts to subtract, for documents that left the corpus",
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="the sum; Parquet for .parquet and .pq")
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")


def run(args: argparse.Namespace) -> None:
    """Adds, saves, and prints one JSON line."""
    # Run again, it would add the other files twice.
    check_not_replaced(args, [*args.counts, *args.subtract])
    check_free(Path(args.output), args.force)
    started = time.perf_counter()
    counts = load_merged(args.counts, args.subtract)
    counts.save(args.output, overwrite=args.force)
    args.console.wrote(args.output, f"{len(counts)} pretokens and their counts")
    write_stdout(json_line(report(counts, started)))


def load_merged(paths: list[str], subtracted: Sequence[str] = ()) -> PretokenCounts:
    """Returns the sum of the counts files, less `subtracted`. Only one file at a time is in memory besides the sum."""
    _warn_of_doubled(paths, "added")
    _warn_of_doubled(subtracted, "subtracted")
    total = PretokenCounts.load(paths[0])
    changes: list[tuple[str, Callable[..., PretokenCounts]]] = [(path, iadd) for path in paths[1:]]
    for path, change in [*changes, *((path, sub) for path in subtracted)]:
        try:
            total = change(total, PretokenCounts.load(path))
        except CountsError as error:
            message = str(error)
            raise CountsError(message if message.startswith(path) else f"{path}: {message}") from error
    return total


def _warn_of_doubled(paths: Sequence[str], done: str) -> None:
    times = Counter(map(os.path.realpath, paths))
    if doubled := next((path for path in paths if times[os.path.realpath(path)] > 1), None):
        warn(f"{doubled} is {done} {times[os.path.realpath(doubled)]} times: it is passed more than once")
