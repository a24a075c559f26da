"""`pairloom drop`: removes documents from a folder of shards; prints one JSON line."""

import argparse
from pathlib import Path

from pairloom._internal.warnings import warn
from pairloom.cli.console import json_line, read_stdin, write_stdout
from pairloom.shards.drop import drop_documents

HELP = "remove documents from a folder of shards, by their ids"

_MAX_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom drop`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder written by pairloom tokenize --provenance")
    parser.add_argument("--ids", required=True, metavar="FILE", help="the file of ids, one per line; - for stdin")


def run(args: argparse.Namespace) -> int:
    """Drops the documents. The exit status is 1 if no id names a document, present or dropped earlier."""
    try:
        text = read_stdin() if args.ids == "-" else Path(args.ids).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{args.ids}: not UTF-8: {error}; write one id per line") from None
    ids = [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n") if line.strip()]
    if not ids:
        raise ValueError(f"{args.ids}: contains no ids; write one id per line")
    done = drop_documents(args.folder, ids)
    if done.missing:
        some = ", ".join(map(repr, done.missing[:_MAX_LISTED]))
        more = f" and {len(done.missing) - _MAX_LISTED} more" if len(done.missing) > _MAX_LISTED else ""
        warn(f"{args.folder}: {len(done.missing)} of the ids belong to no document: {some}{more}")
    counts = {"documents": done.n_documents, "tokens": done.n_tokens, "shards": len(done.shards)}
    report = {**counts, "missing": len(done.missing), "dropped_earlier": len(done.earlier)}
    write_stdout(json_line(report))
    return 0 if done.n_documents or done.earlier else 1
