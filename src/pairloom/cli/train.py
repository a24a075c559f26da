"""`pairloom train`: trains a tokenizer on a corpus or on counts; prints one JSON line."""

import argparse
import json
import time
from pathlib import Path

from pairloom import Corpus, PretokenCounts, Tokenizer, TrainingConfig
from pairloom._internal.atomic import check_free, write_file
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom.cli.console import check_needs, json_line, whole_number, write_stdout
from pairloom.cli.corpus_options import (
    DEFAULT_PROFILE,
    add_corpus_options,
    add_pretoken_options,
    check_not_replaced,
    check_reads_nothing,
    corpus_of,
    count_options,
    named_corpora,
    pretoken_fields,
)
from pairloom.cli.merge_counts import load_merged
from pairloom.cli.models import load_at
from pairloom.formats import WRITABLE, check_expressible, check_target, format_of
from pairloom.patterns import pattern_text
from pairloom.training.extend import Extension, extend_counted, pattern_of_counts
from pairloom.training.parity import check_names
from pairloom.training.prune import counts_of
from pairloom.training.trace import TrainingStep
from pairloom.training.train import lay_out

HELP = "train a tokenizer on a corpus, or on counts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom train`."""
    parser.add_argument(
        "--vocab-size",
        type=whole_number,
        metavar="N",
        help="size of the vocabulary; profile bpetite adds its special tokens",
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="the tokenizer file to write")
    parser.add_argument(
        "--format", choices=WRITABLE, help="its format (default: tiktoken for FILE.tiktoken, otherwise pairloom's own)"
    )
    parser.add_argument(
        "--extend",
        metavar="MODEL",
        help="continue training from this tokenizer; --pattern can change its pattern; --special T[=ID] is only for a "
        "file without special tokens (tiktoken, gpt2)",
    )
    parser.add_argument("--n-tokens", type=whole_number, metavar="N", help="with --extend: add N tokens")
    parser.add_argument(
        "--renumber",
        action="store_true",
        help="with --extend: number all ids as a single training would, including special tokens (default: all ids "
        "stay)",
    )
    parser.add_argument(
        "--counts", action="extend", nargs="+", metavar="FILE", help="counts files to train on instead of --input"
    )
    parser.add_argument(
        "--parity",
        action="append",
        metavar="NAME=PATH",
        help="instead of --input: one of several corpora, such as one language; each merge is learned from the corpus "
        "with the most tokens per byte",
    )
    parser.add_argument(
        "--parity-reference",
        action="append",
        metavar="NAME=PATH",
        help="with --parity: translations of the same text, one per corpus; each merge is learned from the corpus "
        "whose translation has the most tokens",
    )
    add_corpus_options(parser, required=False)
    add_pretoken_options(parser)
    parser.add_argument(
        "--min-frequency", type=whole_number, metavar="N", help="do not merge pairs that are rarer than this"
    )
    parser.add_argument(
        "--max-token-bytes", type=whole_number, metavar="N", help="do not learn tokens longer than this"
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write a line of JSON for each merge: the pair, its count, up to four runners-up, how many of them tie",
    )
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")


def run(args: argparse.Namespace) -> None:
    """Trains, saves, and prints one JSON line."""
    if sum(given is not None for given in (args.input, args.counts, args.parity)) != 1:
        args.wrong_usage("pass exactly one of --input, --counts and --parity")
    check_needs(args, parity_reference="parity", n_tokens="extend", renumber="extend")
    if args.parity is not None and (args.extend is not None or args.trace is not None):
        args.wrong_usage("--parity cannot be combined with --extend or --trace")
    if args.extend is not None and args.trace is not None:
        args.wrong_usage("--trace cannot be combined with --extend")
    if (args.vocab_size is None) == (args.n_tokens is None):
        args.wrong_usage("give --vocab-size" + ("" if args.extend is None else " or --n-tokens"))
    profile = args.profile or DEFAULT_PROFILE
    fields = pretoken_fields(args)
    # Fail before training if the result cannot be saved: the path is taken, or the format cannot express the tokenizer
    # (checked on one without the new merges).
    check_target(args.output, args.format, args.force)
    if args.trace is not None:
        if Path(args.trace).resolve() == Path(args.output).resolve():
            args.wrong_usage("--trace and --output are the same file")
        check_free(Path(args.trace), args.force)
    check_reads_nothing(args)
    check_not_replaced(args, args.counts or [])
    start = None
    more = {"n_tokens": args.n_tokens, "keep_ids": not args.renumber}
    if args.extend is None:
        config = TrainingConfig.from_profile(profile, **fields)
        config.n_merges(args.vocab_size)
        check_expressible(lay_out((), config), args.output, args.format)
    else:
        pattern, special = fields.pop("pattern", None), fields.pop("special_tokens", [])
        # A file that stores no pattern takes the option's.
        says_none = pattern is not None and format_of(Path(args.extend)) == "tiktoken"
        how = argparse.Namespace(pattern=pattern if says_none else None, special=special, missing_bytes=None)
        start = load_at(args.extend, how)
        config = Extension.of(start.model, args.vocab_size, pattern, args.profile, **more, fields=fields).config
        check_expressible(start.model.replaced(pattern=pattern_text(config.pattern)), args.output, args.format)
    started = time.perf_counter()
    progress = args.console.progress
    lines: list[str] = []
    run = {"threads": args.threads, "progress": progress, "max_memory": args.max_memory}

    def counted(corpus: Corpus | PretokenCounts) -> PretokenCounts:
        return counts_of(corpus, **count_options(config, args), tokenizer=start, progress=progress)

    if args.parity is not None:
        parity = named_corpora(args, "--parity", args.parity, config.input_errors)
        reference = named_corpora(args, "--parity-reference", args.parity_reference or [], config.input_errors) or None
        check_names(parity, reference)
        groups = {name: counted(corpus) for name, corpus in parity.items()}
        n_bytes = sum(counts.n_bytes for counts in groups.values())
        tokenizer = Tokenizer.train(
            None, args.vocab_size, profile, parity=groups, parity_reference=reference, **run, **fields
        )
    else:
        counts = counted(load_merged(args.counts) if args.counts else corpus_of(args, config.input_errors))
        n_bytes = counts.n_bytes
        if start is None:
            trace = None if args.trace is None else lambda step: lines.append(_line_of(step))
            tokenizer = Tokenizer.train_from_counts(counts, args.vocab_size, profile, trace=trace, **run, **fields)
        else:
            if args.pattern is None:
                pattern = pattern_of_counts(counts, start.model)
            what = Extension.of(start.model, args.vocab_size, pattern, args.profile, **more, fields=fields)
            tokenizer = Tokenizer.from_model(extend_counted(what, start._core, lambda **_: counts, **run))
    requested = args.vocab_size
    if requested is None:
        assert start is not None
        requested = start.model.columns.n_tokens + args.n_tokens
    tokenizer.save(Path(args.output), overwrite=args.force, format=args.format)
    args.console.wrote(args.output, f"a tokenizer of {tokenizer.n_vocab} ids")
    if args.trace is not None:
        write_file(Path(args.trace), "".join(lines).encode(), args.force)
        args.console.wrote(args.trace, f"a trace of {len(lines)} merges")
    report = {
        "corpus_bytes": n_bytes,
        "requested_vocab_size": requested,
        "actual_mergeable_vocab_size": tokenizer.model.columns.n_tokens,
        "special_token_count": len(tokenizer.special_tokens),
        "elapsed_ms": (time.perf_counter() - started) * 1000,
    }
    write_stdout(json_line(report))


def _line_of(step: TrainingStep) -> str:
    """Returns the step as a line of JSON, with tokens in the GPT-2 byte alphabet, as in a merges.txt."""
    runners_up = [[to_alphabet(left), to_alphabet(right), count] for left, right, count in step.runners_up]
    pair = [to_alphabet(part) for part in step.pair]
    line = {"rank": step.rank, "pair": pair, "count": step.count, "ties": len(step.ties), "runners_up": runners_up}
    return json.dumps(line, ensure_ascii=False) + "\n"
