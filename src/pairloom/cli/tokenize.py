"""`pairloom tokenize`: encode a corpus into a folder of shards; prints one JSON line."""

from __future__ import annotations

import argparse
import json
import time

from pairloom._internal.warnings import warn
from pairloom.cli.console import INPUT_SKIPPED, whole_number
from pairloom.cli.corpus_options import add_corpus_options, add_specials_option, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.shards.shards import FORMATS
from pairloom.shards.tokenize_files import SHARD_TOKENS, tokenize_files

HELP = "encode a corpus into shards of ids, which training can map into memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom tokenize`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder")
    parser.add_argument("--format", choices=FORMATS, default="npy", help="format of the shards (%(default)s)")
    parser.add_argument(
        "--eot",
        nargs="?",
        const=True,
        metavar="TOKEN",
        help="append the id of this special token to each document; without TOKEN, the only special token",
    )
    parser.add_argument(
        "--bos", nargs="?", const=True, metavar="TOKEN", help="prepend the id of this special token to each document"
    )
    add_specials_option(parser, default="ordinary")
    parser.add_argument(
        "--shard-tokens",
        type=whole_number,
        default=SHARD_TOKENS,
        metavar="N",
        help="end a shard at N tokens (%(default)s)",
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume",
        action="store_true",
        help="resume an interrupted run; inputs after the point where it stopped may have changed",
    )
    again.add_argument("--force", action="store_true", help="replace the shards in the folder")
    parser.add_argument(
        "--rewrite", action="store_true", help="with --resume: write finished shards again if their inputs changed"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 3 if records or files were skipped")
    add_corpus_options(parser)
    parser.set_defaults(wrong_usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Tokenizes and prints one JSON line; returns the exit status."""
    if args.rewrite and not args.resume:
        args.wrong_usage("--rewrite needs --resume")
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
    return INPUT_SKIPPED if args.strict and (result.n_skipped or result.skipped_files) else 0
