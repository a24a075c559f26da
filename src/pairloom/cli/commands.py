"""Parses the command line, and maps each kind of error to an exit status and a message."""

import argparse
import difflib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pairloom import PairloomError, __version__, cpu_tier
from pairloom._internal.urls import is_url
from pairloom.cli.console import Console, Say, UsageError, add_output_options, shown_message
from pairloom.cli.messages import error_message, warnings_as_lines
from pairloom.cli.signals import Interruptions

# Each command is a module with HELP, add_arguments(parser) and run(args).
COMMANDS = (
    "train",
    "prune",
    "encode",
    "decode",
    "count",
    "merge-counts",
    "tokenize",
    "shards",
    "verify",
    "where",
    "drop",
    "estimate",
    "stats",
    "convert",
    "compare",
    "lock",
    "check",
    "inspect",
    "view",
)


# The metavars of options that take a file or folder.
_FILES = frozenset({"FILE", "PATH", "FOLDER", "DIR", "MODEL"})


class _CommandParser(argparse.ArgumentParser):
    """Reports unknown options before missing required ones, and says which option a stray file name needs."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses as argparse does, but exits with 2 at the first unknown option or argument."""
        for argument in args or ():
            name = argument.partition("=")[0]
            if name == "--":
                break
            # An argument that contains a space is a value, not an option.
            if name.startswith("--") and " " not in argument and name not in self._option_string_actions:
                # The cutoff keeps --max-memory from suggesting --max-bytes, which would drop most of a corpus.
                close = difflib.get_close_matches(name, self._option_string_actions, n=1, cutoff=0.7)
                self.error(f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else ""))
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = {"--text": "text", "--input": "files"}
            ways = [f"{what} with {name}" for name, what in options.items() if name in self._option_string_actions]
            remedy = f"; pass {' or '.join(ways)} {unknown[0]}" if ways else ""
            self.error(f"unexpected argument {unknown[0]}{remedy}")
        names = [argument.partition("=")[0] for argument in args or ()]
        n_stdin = 0
        for action in self._actions:
            # argparse would drop all but the last one without a word.
            if type(action) is argparse._StoreAction and sum(map(names.count, action.option_strings)) > 1:
                self.error(f"{action.option_strings[0]} is given more than once; it takes one value")
            given = getattr(namespace, action.dest, None)
            name = "/".join(action.option_strings) or action.dest
            values = [value for value in (given if isinstance(given, list) else [given]) if isinstance(value, str)]
            for value in values if action.metavar in {*_FILES, "NAME=PATH"} else ():
                path = value.partition("=")[2] if action.metavar == "NAME=PATH" else value
                n_stdin += path == "-" and action.dest in ("input", "corpus", "parity", "parity_reference")
                if path == "~" or path.startswith("~/"):
                    # As a path it would be a folder named ~ in the current one.
                    self.error(
                        f"{name} {value}: the shell expands ~ only at the start of a word; write $HOME{path[1:]}"
                    )
            # An empty value comes from an unset shell variable; as a path it would mean the current folder.
            for value in values if action.metavar in _FILES else ():
                if value == "":
                    self.error(f"{name} is empty; pass a file or a folder")
                if value == "-" and name == "--output":
                    self.error("--output - would create a file named -, not write to stdout; pass a file")
                is_folder = action.metavar == "DIR" or getattr(namespace, "format", None) == "gpt2"
                if value.endswith("/") and name == "--output" and not is_folder:
                    self.error(f"--output {value} names a folder; pass a file")
                may_be_url = action.dest in ("input", "model") or action.metavar == "DIR"
                if is_url(value) and not may_be_url:
                    self.error(f"{name} must be on this machine, not at the URL {value}; copy it first")
        if n_stdin > 1:
            self.error("standard input (-) is named more than once, but can be read only once; save it as a file")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Reports as argparse does, with names escaped and secrets removed from URLs."""
        super().error(shown_message(message))


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Returns the parser for all commands, or only for `only`: importing the rest takes longer than encoding a text."""
    parser = argparse.ArgumentParser(
        prog="pairloom", description="Train, apply and move byte-level BPE tokenizers.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"pairloom {__version__} ({cpu_tier()})")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_CommandParser)
    for name in (only,) if only in COMMANDS else COMMANDS:
        module: Any = importlib.import_module(f"pairloom.cli.{name.replace('-', '_')}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP, allow_abbrev=False)
        module.add_arguments(command)
        add_output_options(command)
        command.set_defaults(run=module.run, wrong_usage=command.error)
    return parser


def run(argv: Sequence[str] | None, interruptions: Interruptions) -> int:
    """Parses the command line and runs one command; returns the exit status."""
    _open_closed_streams()
    given = sys.argv[1:] if argv is None else argv
    args = parser(given[0] if given else None).parse_args(given)
    args.console = Console(quiet=args.quiet, log_json=args.log_json)
    say = args.console.say
    try:
        interruptions.may_clean_up = True
        if sys.stdout is None:
            raise UsageError("stdout is closed; redirect it to /dev/null if the result is not wanted")
        with warnings_as_lines(lambda message: say("warning", message)):
            status = args.run(args) or 0
        sys.stdout.flush()
    except BaseException as error:
        # Something may have replaced the signal's exception by another one.
        if interruptions.number or isinstance(error, KeyboardInterrupt):
            say("interrupted", interruptions.message)
            status = interruptions.status
        else:
            status = _status_of(error, say)
            if status is None:
                raise
    _discard_unwritten()
    return status


def _status_of(error: BaseException, say: Say) -> int | None:
    """Reports an error; returns the exit status, or None for an unexpected exception (a bug)."""
    if isinstance(error, BrokenPipeError) or _is_closed_pipe_of_windows(error):
        # The reader closed the pipe: not a failure.
        return 0
    if isinstance(error, UsageError):
        say("error", str(error))
        return 2
    if isinstance(error, MemoryError):
        say("error", f"out of memory{f': {error_message(error)}' if str(error) else ''}")
        return 1
    if isinstance(error, (PairloomError, ValueError, TypeError, OSError, ImportError)):
        say("error", error_message(error))
        return 1
    return None


def _is_closed_pipe_of_windows(error: BaseException) -> bool:
    """Returns whether it is Windows' error, without a file name, for a pipe that the reader closed."""
    is_unnamed = isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename is None
    return os.name == "nt" and is_unnamed


def _open_closed_streams() -> None:
    """Opens /dev/null for closed standard streams, so that no file gets descriptor 0, 1 or 2."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _discard_unwritten() -> None:
    """Keeps the interpreter from reporting at exit that stdout or stderr cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
