"""The options by which a command is given its tokenizer."""

from __future__ import annotations

import argparse

from pairloom import Tokenizer
from pairloom.formats import READABLE
from pairloom.patterns import PATTERNS

__all__ = ["add_model_arguments", "load_model"]


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that `load_model` reads."""
    parser.add_argument(
        "--model", required=True, metavar="FILE", help="a tokenizer: a file of any format, or a folder for gpt2"
    )
    parser.add_argument("--model-format", choices=READABLE, help="the format of FILE; found out if not given")
    parser.add_argument(
        "--pattern",
        metavar="P",
        help=f"for files that carry none (tiktoken, gpt2): a regex or one of {', '.join(PATTERNS)}",
    )
    parser.add_argument(
        "--special",
        action="append",
        default=[],
        metavar="T",
        help="for files that carry none (tiktoken, gpt2): a special token, which takes the next free id",
    )
    parser.add_argument(
        "--special-id",
        action="append",
        default=[],
        nargs=2,
        metavar=("T", "N"),
        help="the same, with its id",
    )


def load_model(args: argparse.Namespace) -> Tokenizer:
    """The tokenizer that the options name."""
    specials: dict[str, int] | list[str] | None = args.special or None
    if args.special_id:
        specials = {literal: _id(literal, text) for literal, text in args.special_id}
        if len(specials) < len(args.special_id):
            raise ValueError("--special-id names a special token twice; name it once")
    tokenizer = Tokenizer.load(args.model, format=args.model_format, pattern=args.pattern, special_tokens=specials)
    return tokenizer.add_special_tokens(args.special) if args.special and args.special_id else tokenizer


def _id(literal: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"--special-id {literal!r}: {text!r} is not an id")
    return int(text[:20])
