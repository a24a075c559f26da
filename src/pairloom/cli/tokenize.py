"""`pairloom tokenize`: encodes a corpus into a folder of shards; prints one JSON line."""

import argparse
import time
from typing import Any

from pairloom._internal.urls import is_url
from pairloom._internal.warnings import warn
from pairloom.cli.console import INPUT_SKIPPED, check_needs, json_line, whole_number, write_stdout
from pairloom.cli.corpus_options import add_corpus_options, add_specials_option, corpus_of
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.shards.config import SHARD_TOKENS
from pairloom.shards.files import FORMATS
from pairloom.shards.packed import tokenize_packed
from pairloom.shards.selection import split_configs
from pairloom.shards.tokenize_files import tokenize_files

HELP = "encode a corpus into shards of ids, which training can map into memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom tokenize`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder, or a URL")
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
        help="end each shard after N tokens (%(default)s)",
    )
    parser.add_argument(
        "--split",
        type=_split_of,
        metavar="NAME=FRACTION,...",
        help="write each part into its own folder NAME, for example train=0.99,val=0.01; the id or text of a document "
        "decides",
    )
    duplicates = parser.add_mutually_exclusive_group()
    duplicates.add_argument(
        "--drop-duplicates",
        dest="duplicates",
        action="store_const",
        const="drop",
        default="keep",
        help="drop documents whose text is identical to an earlier one; near duplicates stay",
    )
    duplicates.add_argument(
        "--count-duplicates",
        dest="duplicates",
        action="store_const",
        const="count",
        help="count such documents, but keep them",
    )
    packing = parser.add_argument_group("rows for a training loop")
    packing.add_argument(
        "--pack",
        type=whole_number,
        metavar="N",
        help="concatenate the documents and write rows of N tokens instead",
    )
    packing.add_argument(
        "--shuffle", type=whole_number, metavar="SEED", help="with --pack: shuffle the documents with this seed"
    )
    packing.add_argument("--rank", type=whole_number, metavar="R", help="with --pack: only rows R, R + W, R + 2 W, ...")
    packing.add_argument("--world-size", type=whole_number, metavar="W", help="with --rank: the number of ranks")
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="also write a table for each shard that says where its documents come from",
    )
    parser.add_argument(
        "--id-field", metavar="F", help="with --provenance: key or column of a document's id; nested: a.b"
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume",
        action="store_true",
        help="resume an interrupted run; inputs that it has not read yet may change",
    )
    again.add_argument("--force", action="store_true", help="replace the shards in the folder")
    parser.add_argument(
        "--takeover", action="store_true", help="at a URL: remove the lock that a killed run left there"
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="with --resume: write finished shards again if their inputs changed"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 3 if records or files were skipped")
    add_corpus_options(parser)


def run(args: argparse.Namespace) -> int:
    """Tokenizes and prints one JSON line; returns the exit status."""
    check_needs(args, rewrite="resume", id_field="provenance", shuffle="pack", rank="pack", world_size="pack")
    if args.takeover and not is_url(args.output):
        args.wrong_usage("--takeover needs a URL as --output: the lock of a local folder ends with its run")
    pack = _pack_options(args)
    started = time.perf_counter()
    names = ("format", "eot", "bos", "specials", "shard_tokens", "resume", "duplicates", "provenance", "id_field")
    options = {"overwrite": args.force, **{name: getattr(args, name) for name in names}}
    how = {"threads": args.threads, "rewrite": args.rewrite, "progress": args.console.progress}
    tokenizer, corpus = load_model(args), corpus_of(args)
    if pack is None:
        how |= {"takeover": args.takeover, "split": args.split}
        result = tokenize_files(tokenizer, corpus, args.output, **how, **options)
    else:
        result = tokenize_packed(tokenizer, corpus, args.output, pack, run=how, **options)
    if result.was_complete:
        args.console.say("note", f"{args.output} is already finished; nothing to do")
    else:
        args.console.wrote(args.output, f"shards of {result.n_tokens} tokens")
    if result.n_documents == 0:
        # With packing, a rank can end up with no rows although there are documents.
        nothing = (
            "the input contains no documents" if pack is None else "the input has too few tokens for a row of this rank"
        )
        warn(f"{nothing}; no shards were written")
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
    if result.n_duplicates is not None:
        report["duplicates"] = result.n_duplicates
    if result.parts:
        report["parts"] = {
            name: {"documents": part.n_documents, "tokens": part.n_tokens} for name, part in result.parts.items()
        }
    write_stdout(json_line(report))
    return INPUT_SKIPPED if args.strict and (result.n_skipped or result.skipped_files) else 0


def _split_of(text: str) -> dict[str, float]:
    """Parses the fractions of `--split`."""
    parts = [part.partition("=") for part in text.split(",")]
    try:
        split = {name: float(share) for name, _, share in parts}
        if len(split) < len(parts):
            raise ValueError(f"{text!r} lists a part twice")
        split_configs(split)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; write for example train=0.99,val=0.01") from None
    return split


def _pack_options(args: argparse.Namespace) -> dict[str, Any] | None:
    """Returns the options of `pack_shards`; None without --pack."""
    if args.pack is not None and args.split is not None:
        args.wrong_usage(
            "--pack and --split cannot be combined: tokenize with --split, then pack each part (pairloom.pack_shards)"
        )
    if args.pack is None:
        return None
    if (args.rank is None) != (args.world_size is None):
        args.wrong_usage("--rank and --world-size belong together")
    if args.shuffle is not None and args.shuffle < 0:
        args.wrong_usage(f"--shuffle must be at least 0, not {args.shuffle}")
    return {
        "seq_len": args.pack,
        "seed": args.shuffle,
        "shuffle": "document",
        "rank": args.rank or 0,
        "world_size": 1 if args.world_size is None else args.world_size,
    }
