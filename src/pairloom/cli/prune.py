"""`pairloom prune`: removes the tokens that a corpus uses least, or replaces them; prints one JSON line."""

import argparse
import time
from pathlib import Path
from typing import Any

from pairloom.cli.console import json_line, whole_number, write_stdout
from pairloom.cli.corpus_options import add_corpus_options, check_not_replaced, check_reads_nothing, corpus_of
from pairloom.cli.merge_counts import load_merged
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.formats import WRITABLE, check_expressible, check_target
from pairloom.training.prune import n_to_remove
from pairloom.vocabulary import compacted

HELP = "remove the tokens that a corpus uses least"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom prune`."""
    add_model_arguments(parser)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--vocab-size", type=whole_number, metavar="N", help="size of the remaining vocabulary")
    size.add_argument("--n-tokens", type=whole_number, metavar="N", help="remove N tokens")
    parser.add_argument("--output", required=True, metavar="FILE", help="the tokenizer file to write")
    parser.add_argument(
        "--format", choices=WRITABLE, help="its format (default: tiktoken for FILE.tiktoken, otherwise pairloom's own)"
    )
    parser.add_argument("--compact", action="store_true", help="close the gaps between ids (default: all ids stay)")
    parser.add_argument("--adapt", action="store_true", help="then learn the same number of new tokens from the corpus")
    parser.add_argument("--counts", action="extend", nargs="+", metavar="FILE", help="counts files instead of --input")
    add_corpus_options(parser, required=False)
    parser.add_argument(
        "--max-memory", type=whole_number, metavar="BYTES", help="fail if more memory than this is needed"
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")


def run(args: argparse.Namespace) -> None:
    """Removes tokens, saves, and prints one JSON line."""
    if (args.input is None) == (args.counts is None):
        args.wrong_usage("pass either --input or --counts")
    if args.adapt and args.vocab_size is not None:
        args.wrong_usage(
            "--adapt does not change the size: pass --n-tokens, the number of tokens to replace, not --vocab-size"
        )
    check_target(args.output, args.format, args.force)
    tokenizer = load_model(args)
    n_tokens = n_to_remove(tokenizer.model, args.vocab_size, args.n_tokens)
    # Fail before the corpus is read if the format cannot express the tokenizer.
    check_expressible(compacted(tokenizer.model) if args.compact else tokenizer.model, args.output, args.format)
    check_reads_nothing(args)
    check_not_replaced(args, args.counts or [])
    corpus = load_merged(args.counts) if args.counts is not None else corpus_of(args)
    started = time.perf_counter()
    more: dict[str, Any] = {"keep_ids": not args.compact, "threads": args.threads, "max_memory": args.max_memory}
    change = tokenizer.adapt if args.adapt else tokenizer.prune
    changed = change(corpus, n_tokens=n_tokens, progress=args.console.progress, **more)
    changed.save(Path(args.output), overwrite=args.force, format=args.format)
    args.console.wrote(args.output, f"a tokenizer of {changed.n_vocab} ids")
    changes = changed.changes_from(tokenizer)
    report = {
        "tokens": changed.model.columns.n_tokens,
        "n_vocab": changed.n_vocab,
        **{what: len(ids) for what, ids in changes._asdict().items()},
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
    write_stdout(json_line(report))
