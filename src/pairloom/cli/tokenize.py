"""`pairloom tokenize`: a corpus -> a folder of shards of ids, and one JSON line about it."""

from __future__ import annotations

import argparse
import json
import sys
import time

from pairloom.cli.console import listener
from pairloom.cli.corpus_options import add_corpus_options, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.notice import warn
from pairloom.sinks import FORMATS
from pairloom.tokenize import SHARD_TOKENS, tokenize_files

HELP = "turn a corpus into files of ids that training maps into memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom tokenize`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--format", choices=FORMATS, default="npy", help="what shards are written as (%(default)s)")
    parser.add_argument("--eot", action="store_true", help="put the first special token's id after each document")
    parser.add_argument(
        "--shard-tokens", type=int, default=SHARD_TOKENS, metavar="N", help="close a shard at N tokens (%(default)s)"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads (0: all)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    again.add_argument("--force", action="store_true", help="replace the shards in the folder")
    add_corpus_options(parser)


def run(args: argparse.Namespace) -> None:
    """Tokenizes, and prints one JSON line."""
    started = time.perf_counter()
    made = tokenize_files(
        load_model(args),
        corpus_of(args),
        args.output,
        format=args.format,
        eot=args.eot,
        shard_tokens=args.shard_tokens,
        threads=args.threads,
        resume=args.resume,
        overwrite=args.force,
        progress=listener(),
    )
    if made.was_complete:
        print(f"pairloom: {args.output} is finished already; nothing to do", file=sys.stderr)
    if made.n_documents == 0:
        warn("the input holds no document; there are no shards")
    report = {
        "corpus_bytes": made.n_bytes,
        "documents": made.n_documents,
        "tokens": made.n_tokens,
        "shards": len(made.files),
        "skipped": made.n_skipped,
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
    print(json.dumps(report))
