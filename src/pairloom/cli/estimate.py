"""`pairloom estimate`: estimates from a sample what tokenizing a corpus will take; prints one JSON line."""

import argparse
import dataclasses

from pairloom.cli.console import json_line, whole_number, write_stdout
from pairloom.cli.corpus_options import add_corpus_options, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.shards.config import SHARD_TOKENS
from pairloom.shards.estimate import estimate

HELP = "estimate the tokens, shards, disk and time that tokenizing a corpus will take, from a sample spread over it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom estimate`."""
    add_model_arguments(parser)
    parser.add_argument(
        "--sample-bytes",
        type=whole_number,
        default=1 << 25,
        metavar="N",
        help="about how many bytes to read in all (%(default)s); a corpus smaller than twice this may be read "
        "completely",
    )
    parser.add_argument(
        "--pieces",
        type=whole_number,
        default=256,
        metavar="N",
        help="the maximum number of places to read at (%(default)s)",
    )
    parser.add_argument(
        "--shard-tokens", type=whole_number, default=SHARD_TOKENS, metavar="N", help="tokens per shard (%(default)s)"
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    add_corpus_options(parser)


def run(args: argparse.Namespace) -> None:
    """Estimates and prints one JSON line."""
    options = {name: getattr(args, name) for name in ("sample_bytes", "pieces", "shard_tokens", "threads")}
    found = estimate(load_model(args), corpus_of(args), **options)
    if found.tokens_error is None:
        args.console.say(
            "note",
            "the error of the estimate is unknown, because that needs at least three pieces; pass a larger "
            "--sample-bytes, or more files if these can be read only from their start",
        )
    write_stdout(json_line(dataclasses.asdict(found)))
