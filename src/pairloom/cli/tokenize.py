"""`pairloom tokenize`: encode a corpus into a folder of shards; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import time

from pairloom._internal.warnings import warn
from pairloom.cli.console import LEFT_OUT, whole_number
from pairloom.cli.corpus_options import add_corpus_options, add_specials_option, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.shards.shards import FORMATS
from pairloom.shards.tokenize_files import SHARD_TOKENS, tokenize_files

HELP = "turn a corpus into files of ids that training maps into memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom tokenize`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--format", choices=FORMATS, default="npy", help="what shards are written as (%(default)s)")
    parser.add_argument(
        "--eot",
        nargs="?",
        const=True,
        metavar="TOKEN",
        help="put the id of this special token after each document; without TOKEN, of the only one there is",
    )
    parser.add_argument(
        "--bos", nargs="?", const=True, metavar="TOKEN", help="put the id of this special token before each document"
    )
    add_specials_option(parser, default="ordinary")
    parser.add_argument(
        "--shard-tokens",
        type=whole_number,
        default=SHARD_TOKENS,
        metavar="N",
        help="close a shard at N tokens (%(default)s)",
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume",
        action="store_true",
        help="go on with what is in the folder; inputs behind the place where it stopped may have changed",
    )
    again.add_argument("--force", action="store_true", help="replace the shards in the folder")
    parser.add_argument(
        "--rewrite", action="store_true", help="with --resume: write finished shards again where inputs changed"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 when records or files were left out, after all the rest"
    )
    add_corpus_options(parser)
    parser.set_defaults(wrong_usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Tokenizes, and prints one JSON line; the exit status."""
    if args.rewrite and not args.resume:
        args.wrong_usage("--rewrite belongs to --resume")
    started = time.perf_counter()
    result = tokenize_files(
        load_model(args),
        corpus_of(args),
        args.output,
        format=args.format,
        eot=args.eot,
        bos=args.bos,
        specials=args.specials,
        shard_tokens=args.shard_tokens,
        threads=args.threads,
        resume=args.resume,
        rewrite=args.rewrite,
        overwrite=args.force,
        progress=args.console.progress,
    )
    if result.was_complete:
        args.console.say("note", f"{args.output} is finished already; nothing to do")
    if result.n_documents == 0:
        warn("the input holds no document; there are no shards")
    report = {
        "corpus_bytes": result.n_bytes,
        "documents": result.n_documents,
        "tokens": result.n_tokens,
        "shards": len(result.files),
        "skipped": result.n_skipped,
        "skipped_files": len(result.skipped_files),
        "special_literals": result.special_literals,
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
    print(json.dumps(report))
    return LEFT_OUT if args.strict and (result.n_skipped or result.skipped_files) else 0
