"""Options for reading a corpus and splitting it into pretokens, shared by all commands that read one."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pairloom.cli.console import UsageError, is_given, whole_number
from pairloom.tokenizer import SPECIALS

if TYPE_CHECKING:
    from pairloom.corpus import Corpus
    from pairloom.training.config import TrainingConfig

# Options of a `Corpus` under the same names, which change nothing if they are not given.
_READING_OPTIONS = ("max_bytes", "doc_cap", "skip_bad", "skip_bad_files", "input_format")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\0": "\0", r"\\": "\\"}

DEFAULT_PROFILE = "bpetite"
"""The profile if no option names one."""


def add_corpus_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Adds the options that describe a corpus; `corpus_of` reads them."""
    from pairloom.corpus.sources import InputFormat

    group = parser.add_argument_group("corpus")
    group.add_argument(
        "--input",
        action="extend",
        nargs="+",
        required=required,
        metavar="PATH",
        help="files, folders, globs or URLs, - for stdin; text, .jsonl, .parquet, .arrow or .warc,"
        " also .gz .zst .bz2 .xz",
    )
    group.add_argument(
        "--text-field",
        default="text",
        metavar="F",
        help="key or column of the text (%(default)s); nested: a.b, each text of a list: messages[].content",
    )
    separators = group.add_mutually_exclusive_group()
    separators.add_argument(
        "--separator", metavar="S", help=r"the text that separates documents in plain text (\n, \t, \0)"
    )
    separators.add_argument("--lines", action="store_true", help="each line of plain text is a document")
    group.add_argument(
        "--max-bytes",
        type=whole_number,
        metavar="N",
        help="stop after this many bytes of text, counted after --doc-cap",
    )
    group.add_argument("--doc-cap", type=whole_number, metavar="N", help="truncate each document to this many bytes")
    group.add_argument("--skip-bad", action="store_true", help="skip records that cannot be read, and report how many")
    group.add_argument(
        "--skip-bad-files",
        action="store_true",
        help="skip files that cannot be read to their end, and list them; reads each file twice",
    )
    group.add_argument(
        "--input-format", choices=get_args(InputFormat), help="format of the files; overrides their suffixes"
    )
    group.add_argument(
        "--input-errors",
        choices=["strict", "replace"],
        help="invalid UTF-8, and lone surrogates in JSON, are an error or become U+FFFD",
    )


def add_specials_option(parser: argparse.ArgumentParser, default: str = "recognise") -> None:
    """Adds --specials: how to encode special tokens' literals that occur in the text."""
    parser.add_argument(
        "--specials",
        choices=SPECIALS,
        default=default,
        help="literals of special tokens in the text become ids, stay ordinary text, or are an error (%(default)s)",
    )


def corpus_of(args: argparse.Namespace, input_errors: str | None = None) -> Corpus:
    """Returns the corpus that the options describe."""
    from pairloom.corpus import Corpus

    separator = "\n" if args.lines else args.separator
    if separator is not None and not args.lines:
        separator = re.sub(r"\\[ntr0\\]", lambda found: _ESCAPES[found[0]], separator)
    options = {name: getattr(args, name) for name in ("text_field", *_READING_OPTIONS)}
    errors = input_errors or args.input_errors or "strict"
    corpus = Corpus(args.input, separator=separator, input_errors=errors, **options)
    check_not_replaced(args, [source.name for source in corpus.sources if not source.is_remote])
    return corpus


def check_reads_nothing(args: argparse.Namespace) -> None:
    """Raises UsageError for options on reading a corpus if none is read, as with --counts."""
    names = ("separator", "lines", *_READING_OPTIONS, "input_errors")
    given = [option for option in names if is_given(args, option)]
    if args.text_field != "text":
        given.append("text_field")
    if args.input is None and getattr(args, "parity", None) is None and given:
        raise UsageError(f"--{given[0].replace('_', '-')} needs --input: it controls how texts are read")


def check_not_replaced(args: argparse.Namespace, inputs: list[str]) -> None:
    """Raises UsageError if an output of the command would replace one of its inputs."""
    for option in ("output", "trace", "plot"):
        path = getattr(args, option, None)
        if path is not None and Path(path).is_file():
            place = os.path.realpath(path)
            if any(os.path.realpath(name) == place for name in inputs):
                raise UsageError(f"--{option} {path}: is one of the inputs; pass another file")


def named_corpora(
    args: argparse.Namespace, option: str, given: list[str], input_errors: str | None = None
) -> dict[str, Corpus]:
    """Returns the corpora that an option names as NAME=PATH; a name can have several paths. UsageError otherwise."""
    paths: dict[str, list[str]] = {}
    for each in given:
        name, sign, path = each.partition("=")
        if not (sign and name and path):
            raise UsageError(f"{option} {each}: pass NAME=PATH, for example en=english.txt")
        paths.setdefault(name, []).append(path)
    corpora = {}
    for name, args.input in paths.items():
        corpora[name] = corpus_of(args, input_errors)
    return corpora


def add_pretoken_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for splitting text into pretokens; `pretoken_fields` reads them."""
    from pairloom.training.config import PROFILES

    parser.add_argument(
        "--profile", choices=list(PROFILES), help=f"set of conventions: special tokens, ids, ties ({DEFAULT_PROFILE})"
    )
    parser.add_argument("--special", action="append", metavar="T", help="a special token; replaces the profile's list")
    parser.add_argument("--pattern", metavar="P", help="a named pattern or a regex")
    parser.add_argument(
        "--corpus-specials",
        choices=["text", "split"],
        help="literals of special tokens in the input stay text, or split documents and are dropped",
    )
    parser.add_argument(
        "--max-memory",
        type=whole_number,
        metavar="BYTES",
        help="fail if counting or training needs more memory than this",
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")


def pretoken_fields(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the fields of `TrainingConfig` that the options set."""
    names = ("pattern", "corpus_specials", "input_errors", "min_frequency", "max_token_bytes")
    fields = {"special_tokens": args.special, **{name: getattr(args, name, None) for name in names}}
    return {name: value for name, value in fields.items() if value is not None}


def count_options(config: TrainingConfig, args: argparse.Namespace) -> dict[str, Any]:
    """Returns the keyword arguments of `PretokenCounts.from_texts`."""
    cut = {name: getattr(config, name) for name in ("pattern", "special_tokens", "corpus_specials")}
    return {**cut, "threads": args.threads, "max_memory": args.max_memory}
