"""`pairloom view`: writes a browser page that shows texts as tokens."""

import argparse
import sys
import webbrowser
from pathlib import Path

from pairloom._internal.atomic import check_file
from pairloom.analysis.compare import named_documents
from pairloom.cli.console import check_needs, text_argument, write_stdout
from pairloom.cli.corpus_options import (
    add_corpus_options,
    add_specials_option,
    check_not_replaced,
    check_reads_nothing,
    corpus_of,
)
from pairloom.cli.models import add_format_arguments, load_one_of
from pairloom.view.view import MAX_BYTES, View

HELP = (
    "write a page that shows texts as tokens, with ids, ranks, merge trees and merges step by step; can compare two "
    "tokenizers"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom view`."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="FILE",
        help="a tokenizer: a file of any format, or a folder for gpt2; pass it twice to compare two side by side",
    )
    add_format_arguments(group)
    parser.add_argument("--text", action="append", default=[], metavar="T", help="a text to show; may be repeated")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="the page, an HTML file that needs neither network nor server (default: stdout, unless that is a "
        "terminal)",
    )
    parser.add_argument("--force", action="store_true", help="replace the page if it exists")
    parser.add_argument("--open", action="store_true", help="show the page in the browser; needs --output")
    add_specials_option(parser)
    add_corpus_options(parser, required=False)


def run(args: argparse.Namespace) -> None:
    """Writes the page."""
    if len(args.model) > 2:
        args.wrong_usage(f"pass --model once or twice, not {len(args.model)} times")
    if not args.text and args.input is None:
        args.wrong_usage("there is no text: pass --text or --input")
    check_reads_nothing(args)
    check_needs(args, open="output")
    if args.output is None and sys.stdout is not None and sys.stdout.isatty():
        args.wrong_usage("the page is HTML, which a terminal cannot show: pass --output FILE, and --open to see it")
    output = None if args.output is None else Path(args.output)
    check_not_replaced(args, args.model)
    if output is not None:
        check_file(output, args.force)
    tokenizers = [(name, load_one_of(name, args)) for name in args.model]
    texts = [(f"text {number}", text_argument(text)) for number, text in enumerate(args.text, start=1)]
    if args.input is not None:
        # View refuses more than MAX_BYTES, so there is no need to read on.
        args.max_bytes = MAX_BYTES + 1 if args.max_bytes is None else args.max_bytes
        texts += named_documents(corpus_of(args))
    view = View(tokenizers, texts, specials=args.specials)
    if output is None:
        write_stdout(view.html())
        return
    view.save(output, args.force)
    args.console.wrote(args.output, "a page" if args.open else "a page; open it in a browser (--open)")
    if args.open:
        webbrowser.open(output.resolve().as_uri())
