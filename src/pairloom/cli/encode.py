"""`pairloom encode`: text -> a compact JSON array of ids on one line."""

from __future__ import annotations

import argparse
import json
import os

from pairloom.cli.console import read_stdin, write_stdout
from pairloom.cli.models import add_model_arguments, load_model

HELP = "turn text into ids"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pairloom encode`."""
    add_model_arguments(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    source.add_argument("--input", metavar="PATH", help="a UTF-8 file; stdin when neither is given")


def run(args: argparse.Namespace) -> None:
    """Prints the ids."""
    tokenizer = load_model(args)
    if args.input is not None:
        ids = tokenizer.encode_file(args.input).tolist()
    elif args.text is not None:
        # Arguments that are not UTF-8 come in as lone surrogates; os.fsencode gives their bytes back.
        ids = tokenizer.encode(os.fsencode(args.text).decode())
    else:
        ids = tokenizer.encode(read_stdin())
    write_stdout(json.dumps(ids, separators=(",", ":")) + "\n")
