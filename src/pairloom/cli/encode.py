"""`pairloom encode`: turns text into ids, as a compact JSON array on one line."""

import argparse
import json

from pairloom.cli.console import read_stdin, text_argument, write_stdout
from pairloom.cli.corpus_options import add_specials_option
from pairloom.cli.models import add_model_arguments, load_model

HELP = "turn text into ids"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom encode`."""
    add_model_arguments(parser)
    add_specials_option(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    source.add_argument("--input", metavar="PATH", help="a UTF-8 file; - or nothing for stdin")


def run(args: argparse.Namespace) -> None:
    """Prints the ids."""
    tokenizer = load_model(args)
    if args.input not in (None, "-"):
        ids = tokenizer.encode_file(args.input, specials=args.specials).tolist()
    else:
        text = text_argument(args.text) if args.text is not None else read_stdin()
        if args.specials == "error":
            # The errors of encode_iterable name the option `specials`; those of encode name keyword arguments.
            ids = list(tokenizer.encode_iterable([text], specials="error"))
        else:
            ids = tokenizer.encode(text, allowed_special="all" if args.specials == "recognise" else ())
    write_stdout(json.dumps(ids, separators=(",", ":")) + "\n")
