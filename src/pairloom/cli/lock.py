"""`pairloom lock`: prints digests of fixed texts' ids, which `pairloom check` compares with another release's."""

import argparse

from pairloom.analysis.compare import LIBRARIES, Side, load_side, side_of
from pairloom.analysis.lock import lock
from pairloom.cli.console import write_stdout
from pairloom.cli.models import add_format_arguments, load_at, refuse_format_options

HELP = "print digests of the ids of fixed texts, for pairloom check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom lock`, which `pairloom check` has too."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a tokenizer file or folder, tiktoken:NAME or hf:PATH_OR_NAME (which encode with the libraries tiktoken "
        "and tokenizers)",
    )
    add_format_arguments(parser.add_argument_group("model"))


def side(args: argparse.Namespace) -> Side:
    """Loads the tokenizer that the options name."""
    name = args.model
    if not name.startswith(LIBRARIES):
        return side_of(load_at(name, args), name)
    refuse_format_options(args, f"does not apply to {name}: its library knows all of it")
    return load_side(name)


def run(args: argparse.Namespace) -> None:
    """Prints the lock."""
    write_stdout(lock(side(args)))
