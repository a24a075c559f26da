"""`pairloom decode`: turns ids into text, and adds nothing to it, not even a newline."""

import argparse
import json
from typing import Any

from pairloom.cli.console import read_stdin, whole_number, write_stdout
from pairloom.cli.models import add_model_arguments, load_model

HELP = "turn ids into text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom decode`."""
    add_model_arguments(parser)
    parser.add_argument(
        "--ids",
        action="extend",
        nargs="*",
        type=whole_number,
        metavar="N",
        help="ids; if absent, read from stdin (JSON, or separated by white space)",
    )
    parser.add_argument(
        "--errors",
        choices=["strict", "replace", "ignore"],
        help="whether malformed bytes are an error, become U+FFFD, or are dropped",
    )


def run(args: argparse.Namespace) -> None:
    """Prints the text."""
    tokenizer = load_model(args)
    ids = args.ids if args.ids is not None else parse_ids(read_stdin())
    write_stdout(tokenizer.decode(ids, args.errors))


def parse_ids(text: str) -> Any:
    """Parses a JSON array of ids, or integers separated by white space."""
    try:
        return json.loads(text) if text.lstrip().startswith("[") else [int(word) for word in text.split()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"stdin: neither a JSON array of ids nor integers between white space: {error}") from None
