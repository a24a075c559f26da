"""`pairloom convert`: write a tokenizer file in another format."""

from __future__ import annotations

import argparse

from pairloom.cli.models import add_model_arguments, load_model
from pairloom.formats import WRITABLE

HELP = "write a tokenizer in another format; what that format cannot express exactly is refused with the reason"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom convert`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="PATH", help="the file to write; a folder for gpt2")
    parser.add_argument("--format", required=True, choices=WRITABLE, help="the format to write")
    parser.add_argument(
        "--drop-post-processor",
        action="store_true",
        help="leave out what HuggingFace puts around a text (BOS, EOS), for formats that cannot hold it",
    )
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")


def run(args: argparse.Namespace) -> None:
    """Loads and saves; stdout stays empty, stderr says what was written and warns of what its files do not store.

    Files of earlier builds of pairloom are read too, so that this command rewrites them.
    """
    tokenizer = load_model(args, legacy=True)
    if args.drop_post_processor:
        tokenizer = tokenizer.without_post_processor()
    tokenizer.save(args.output, overwrite=args.force, format=args.format)
    args.console.tell(f"{args.output}: {args.format}, {len(tokenizer.vocab)} tokens")
