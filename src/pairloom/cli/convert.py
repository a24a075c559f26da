"""`pairloom convert`: a tokenizer file of one format -> the same tokenizer in another."""

from __future__ import annotations

import argparse

from pairloom import Tokenizer
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.formats import WRITABLE
from pairloom.patterns import pattern_name

HELP = "write a tokenizer in another format; what that format cannot express exactly is refused with the reason"

# What a format's files leave to whoever loads them.
_UNSAID = {"tiktoken": "neither pattern nor special tokens", "gpt2": "neither pattern nor special tokens"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom convert`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="PATH", help="the file to write; a folder for gpt2")
    parser.add_argument("--format", required=True, choices=WRITABLE, help="the format to write")
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")


def run(args: argparse.Namespace) -> None:
    """Loads and saves; stdout stays empty, stderr says what was written and what its files leave unsaid."""
    tokenizer = load_model(args)
    tokenizer.save(args.output, overwrite=args.force, format=args.format)
    args.console.tell(f"{args.output}: {args.format}, {len(tokenizer.vocab)} tokens{_reminder(tokenizer, args.format)}")


def _reminder(tokenizer: Tokenizer, format: str) -> str:
    if format not in _UNSAID:
        return ""
    pattern = pattern_name(tokenizer.pattern) or tokenizer.pattern
    return (
        f"; {format} files carry {_UNSAID[format]}, so give them when it is loaded:"
        f" pattern {pattern!r}, special tokens {tokenizer.special_tokens}"
    )
