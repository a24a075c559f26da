"""`pairloom decode`: turns ids into text, and adds nothing to it, not even a newline."""

import argparse
import json
import re
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


def parse_ids(text: str) -> list[int]:
    """Parses a JSON array of ids, or integers separated by white space; ValueError names the first invalid one."""
    if text.lstrip().startswith("["):
        try:
            ids: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"stdin: not a JSON array of ids: {error}") from error
    else:
        words = text.split()
        wrong = next((word for word in words if not re.fullmatch(r"[+-]?[0-9]{1,20}", word, re.ASCII)), None)
        if wrong is not None:
            raise ValueError(
                f"stdin: {wrong[:40]!r} is not an id; give a JSON array, or integers separated by white space"
            )
        ids = [int(word) for word in words]
    for token_id in ids:
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise ValueError(f"stdin: {token_id!r} is not an id; ids are integers")
    return list(ids)
