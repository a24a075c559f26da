"""`pairloom train`: files -> a tokenizer file, and one JSON line about it."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from pairloom import PretokenCounts, Tokenizer, TrainingConfig
from pairloom.arguments import check_paths
from pairloom.cli.console import listener
from pairloom.formats.atomic import check_free
from pairloom.training import PROFILES

HELP = "train a tokenizer on UTF-8 files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom train`."""
    parser.add_argument("--input", nargs="+", required=True, metavar="PATH", help="UTF-8 files, each a document")
    parser.add_argument("--vocab-size", type=int, required=True, metavar="N", help="tokens to learn up to")
    parser.add_argument("--output", required=True, metavar="FILE", help="where the tokenizer is saved")
    parser.add_argument("--profile", choices=list(PROFILES), default="bpetite", help="convention (%(default)s)")
    parser.add_argument("--special", action="append", metavar="T", help="a special token; replaces the profile's list")
    parser.add_argument("--pattern", metavar="P", help="a named pattern or a regex")
    parser.add_argument("--corpus-specials", choices=["text", "split"], help="what special tokens in the input are")
    parser.add_argument("--input-errors", choices=["strict", "replace"], help="what invalid UTF-8 gives")
    parser.add_argument("--min-frequency", type=int, metavar="N", help="merge no pair rarer than this")
    parser.add_argument("--max-token-bytes", type=int, metavar="N", help="make no token longer than this")
    parser.add_argument("--max-memory", type=int, metavar="BYTES", help="fail rather than use more memory for counts")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads (0: all)")
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")


def run(args: argparse.Namespace) -> None:
    """Trains, saves, and prints one JSON line."""
    fields = {
        "special_tokens": args.special,
        "pattern": args.pattern,
        "corpus_specials": args.corpus_specials,
        "input_errors": args.input_errors,
        "min_frequency": args.min_frequency,
        "max_token_bytes": args.max_token_bytes,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    config = TrainingConfig.from_profile(args.profile, **fields)
    config.n_merges(args.vocab_size)
    check_free(Path(args.output), args.force)
    started = time.perf_counter()
    progress = listener()
    counts = PretokenCounts.from_files(
        check_paths(args.input),
        config.pattern,
        special_tokens=config.special_tokens,
        corpus_specials=config.corpus_specials,
        input_errors=config.input_errors,
        threads=args.threads,
        max_memory=args.max_memory,
        progress=progress,
    )
    tokenizer = Tokenizer.train_from_counts(
        counts, args.vocab_size, args.profile, threads=args.threads, progress=progress, **fields
    )
    tokenizer.save(Path(args.output), overwrite=args.force)
    report = {
        "corpus_bytes": counts.n_bytes,
        "requested_vocab_size": args.vocab_size,
        "actual_mergeable_vocab_size": 256 + len(tokenizer.model.merges),
        "special_token_count": len(tokenizer.special_tokens),
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
    print(json.dumps(report))
