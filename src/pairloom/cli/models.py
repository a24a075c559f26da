"""Options that name a tokenizer file, shared by all commands that load one."""

import argparse
from pathlib import Path

from pairloom import Tokenizer, formats
from pairloom.formats import INCOMPLETE, MISSING_BYTES, READABLE, format_of
from pairloom.patterns import PATTERNS


def add_model_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Adds the options that `load_model` reads."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        required=required,
        metavar="FILE",
        help="a tokenizer: a file of any format, a folder that holds one, or a URL",
    )
    group.add_argument("--model-format", choices=READABLE, help="the format of FILE; detected if not given")
    add_format_arguments(group)


def add_format_arguments(group: argparse._ArgumentGroup) -> None:
    """Adds options for what some formats do not store; `load_at` reads them."""
    group.add_argument(
        "--pattern",
        metavar="P",
        help=f"for formats without a pattern (tiktoken, gpt2): a regex or one of {', '.join(PATTERNS)}",
    )
    group.add_argument(
        "--special",
        action="append",
        default=[],
        metavar="T[=ID]",
        help="for formats without special tokens (tiktoken, gpt2): a special token and its id (default: the next free "
        "id)",
    )
    group.add_argument(
        "--missing-bytes",
        choices=MISSING_BYTES,
        help="bytes that the vocabulary lacks are an error (without a warning at load time), or are dropped",
    )


def refuse_format_options(args: argparse.Namespace, why: str) -> None:
    """Refuses the options of `add_format_arguments` and --model-format, which would have no effect; `why` says why."""
    for option in ("pattern", "special", "missing_bytes", "model_format"):
        if getattr(args, option, None):
            args.wrong_usage(f"--{option.replace('_', '-')} {why}")


def load_model(args: argparse.Namespace) -> Tokenizer:
    """Loads the tokenizer that the options name."""
    return load_at(args.model, args, args.model_format)


def load_at(path: str, args: argparse.Namespace, format: str | None = None) -> Tokenizer:
    """Loads the tokenizer at `path` with the options' pattern and special tokens."""
    with_id, without_id = _specials(args.special)
    model = formats.load(
        path,
        format=format,
        pattern=args.pattern,
        special_tokens=with_id or without_id or None,
        missing_bytes=args.missing_bytes,
    )
    tokenizer = Tokenizer.from_model(model, name=path)
    return tokenizer.add_special_tokens(without_id) if with_id and without_id else tokenizer


def load_one_of(path: str, args: argparse.Namespace) -> Tokenizer:
    """Loads the tokenizer at `path`, one of `args.model`; --pattern and --special are for the files without them."""
    # A pipe can be read only once, so the format is detected first only if an option needs it.
    if args.pattern is not None or args.special:
        files = [name for name in args.model if not name.startswith(("tiktoken:", "hf:"))]
        incomplete = [name for name in files if format_of(Path(name)) in INCOMPLETE]
        if not incomplete:
            refuse_format_options(args, "would have no effect: the models contain their patterns and special tokens")
        if path not in incomplete:
            return Tokenizer.load(path, missing_bytes=args.missing_bytes)
    return load_at(path, args)


def _specials(all_given: list[str]) -> tuple[dict[str, int], list[str]]:
    """Returns (special tokens with an id, special tokens without). ValueError for a duplicate."""
    with_id: dict[str, int] = {}
    without_id: list[str] = []
    for given in all_given:
        literal, sign, number = given.rpartition("=")
        if sign and number.startswith("-") and number[1:].isdigit():
            raise ValueError(f"--special {given}: an id is 0 or more")
        # A token that ends in "=" and a number can only be given with an id.
        has_id = bool(sign) and number.isascii() and number.isdigit()
        literal = literal if has_id else given
        if literal in with_id or literal in without_id:
            raise ValueError(f"--special lists {literal!r} twice; list it once")
        if has_id:
            with_id[literal] = int(number[:20])
        else:
            without_id.append(literal)
    return with_id, without_id
