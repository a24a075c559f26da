"""The command line: results on stdout, everything for people on stderr, exit 0, 1 (failed) or 2 (wrong usage)."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol, cast

from pairloom import PairloomError, __version__
from pairloom.cli.messages import error_message, warnings_as_lines

__all__ = ["main"]

# One small module a command; each has HELP, add_arguments(parser) and run(args).
COMMANDS = (
    "train",
    "encode",
    "decode",
    "count",
    "merge-counts",
    "tokenize",
    "stats",
    "convert",
    "compare",
    "inspect",
)


class _Command(Protocol):
    HELP: str

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None: ...

    @staticmethod
    def run(args: argparse.Namespace) -> int | None: ...


class _CommandParser(argparse.ArgumentParser):
    """Says of an option that it is not there before it asks for others that are missing."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it; exits with 2 at an option that the command does not have."""
        for argument in args or ():
            name = argument.partition("=")[0]
            if name == "--":
                break
            # What has a space in it is a value.
            if name.startswith("--") and " " not in argument and name not in self._option_string_actions:
                close = difflib.get_close_matches(name, self._option_string_actions, n=1)
                self.error(f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pairloom", description="Train, apply and move byte-level BPE tokenizers.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"pairloom {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser)
    for name in COMMANDS:
        module = cast(_Command, importlib.import_module(f"pairloom.cli.{name.replace('-', '_')}"))
        command = commands.add_parser(name, help=module.HELP, description=module.HELP, allow_abbrev=False)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status. Wrong usage exits with 2 by way of SystemExit."""
    args = _parser().parse_args(argv)
    try:
        with warnings_as_lines(lambda message: _say(f"warning: {message}")):
            status = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; keep the interpreter from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say("interrupted")
        return 1
    except MemoryError as error:
        _say(f"out of memory{f': {error_message(error)}' if str(error) else ''}")
        return 1
    except (PairloomError, ValueError, TypeError, OSError, ImportError) as error:
        _say(error_message(error))
        return 1
    return status or 0


def _say(message: str) -> None:
    print(f"pairloom: {message}", file=sys.stderr)
