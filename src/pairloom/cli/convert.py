"""`pairloom convert`: writes a tokenizer file in another format."""

import argparse

from pairloom.cli.corpus_options import check_not_replaced
from pairloom.cli.models import add_model_arguments, load_model
from pairloom.formats import WRITABLE

HELP = "convert a tokenizer to another format; fails with the reason if that format cannot express it exactly"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom convert`."""
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, metavar="PATH", help="the file to write; a folder for gpt2")
    parser.add_argument("--format", required=True, choices=WRITABLE, help="the format to write")
    parser.add_argument(
        "--drop-post-processor",
        action="store_true",
        help="drop what HuggingFace adds around a text (BOS, EOS), for formats that cannot store it",
    )
    parser.add_argument("--force", action="store_true", help="replace the output if it exists")


def run(args: argparse.Namespace) -> None:
    """Loads and saves. stderr says what was written, and warns about what the format does not store."""
    check_not_replaced(args, [args.model])
    tokenizer = load_model(args)
    if args.drop_post_processor:
        tokenizer = tokenizer.without_post_processor()
    tokenizer.save(args.output, overwrite=args.force, format=args.format)
    args.console.wrote(args.output, f"{args.format}, {len(tokenizer.vocab)} tokens")
