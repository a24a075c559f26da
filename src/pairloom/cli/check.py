"""`pairloom check`: checks that a tokenizer still gives the ids of a lock, per class of text."""

import argparse
from pathlib import Path

from pairloom.analysis.lock import changes
from pairloom.cli import lock
from pairloom.cli.console import write_stdout
from pairloom.errors import FormatError

HELP = "compare a tokenizer's ids with the digests that pairloom lock printed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom check`."""
    lock.add_arguments(parser)
    parser.add_argument("lock", metavar="FILE", help="what pairloom lock printed")


def run(args: argparse.Namespace) -> int:
    """Prints a line for each class of texts whose ids changed; if there is one, the exit status is 1."""
    text = Path(args.lock).read_text(encoding="utf-8", errors="replace")
    tokenizer = lock.side(args)
    try:
        found = changes(tokenizer, text)
    except FormatError as error:
        raise FormatError(f"{args.lock}: {error}") from None
    write_stdout("".join(f"{line}\n" for line in found))
    args.console.say("note", f"{args.model}: {'ids changed' if found else 'the ids are those of the lock'}")
    return 1 if found else 0
