"""`pairloom count`: counts the pretokens of a corpus into a counts file; prints one JSON line."""

import argparse
import time
from pathlib import Path

from pairloom import PretokenCounts, TrainingConfig
from pairloom._internal.atomic import check_free
from pairloom.cli.console import json_line, write_stdout
from pairloom.cli.corpus_options import (
    DEFAULT_PROFILE,
    add_corpus_options,
    add_pretoken_options,
    corpus_of,
    count_options,
    pretoken_fields,
)

HELP = "count the pretokens (word-like pieces) of a corpus into a file, to train on later"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom count`."""
    parser.add_argument(
        "--output", required=True, metavar="FILE", help="the counts file; Parquet if it ends in .parquet or .pq"
    )
    add_corpus_options(parser)
    add_pretoken_options(parser)
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")


def run(args: argparse.Namespace) -> None:
    """Counts, saves, and prints one JSON line."""
    config = TrainingConfig.from_profile(args.profile or DEFAULT_PROFILE, **pretoken_fields(args))
    check_free(Path(args.output), args.force)
    started = time.perf_counter()
    corpus = corpus_of(args, config.input_errors)
    counts = PretokenCounts.from_texts(corpus, **count_options(config, args), progress=args.console.progress)
    counts.save(args.output, overwrite=args.force)
    args.console.wrote(args.output, f"{len(counts)} pretokens and their counts")
    write_stdout(json_line(report(counts, started)))


def report(counts: PretokenCounts, started: float) -> dict[str, float]:
    """Returns the JSON line about counts."""
    return {
        "corpus_bytes": counts.n_bytes,
        "documents": counts.n_documents,
        "pretokens": len(counts),
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
