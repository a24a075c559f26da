"""`pairloom inspect`: shows the parts of a tokenizer, and how it splits a text."""

import argparse
import os
import sys
from typing import Any

from pairloom import Tokenizer
from pairloom.analysis.inspect import inspect_tokenizer
from pairloom.analysis.render import coloured, shown_token
from pairloom.analysis.stages import stages
from pairloom.cli.console import json_line, text_argument, write_stdout
from pairloom.cli.models import add_model_arguments, load_model

HELP = (
    "show sizes, pattern, special tokens, and the longest, unreachable and duplicate tokens; or show how a text is "
    "split"
)

_N_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom inspect`."""
    add_model_arguments(parser)
    parser.add_argument(
        "--text", metavar="T", help="show the tokens of this text: in colour on a terminal, otherwise as a list"
    )
    parser.add_argument(
        "--stages", metavar="T", help="show how this text is normalised, split and merged, step by step"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def run(args: argparse.Namespace) -> None:
    """Prints the inspection."""
    if args.stages is not None and (args.json or args.text is not None):
        args.wrong_usage("--stages cannot be combined with --text or --json")
    text = None if args.text is None else text_argument(args.text)
    tokenizer = load_model(args)
    if args.stages is not None:
        write_stdout("\n".join(stages(tokenizer, text_argument(args.stages))) + "\n")
        return
    found = inspect_tokenizer(tokenizer)
    if args.json:
        if text is not None:
            found["ids"] = tokenizer.encode(text)
        write_stdout(json_line(found))
        return
    shown = _report(found, tokenizer)
    if text is not None:
        shown += _tokens_text(tokenizer, text, sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    write_stdout(shown)


def _report(found: dict[str, Any], tokenizer: Tokenizer) -> str:
    rule = {"ranks": ", by ranks", "pairs": "", "priorities": ", by scores"}[found["rule"]]
    rows = {
        "ids": f"{found['n_vocab']} ({tokenizer.id_dtype}), {found['n_unassigned']} of them unassigned",
        "tokens": f"{found['n_tokens']}, single-byte {found['n_single_bytes']}",
        "merges": f"{found['n_merges']}{rule}",
        "ignore_merges": "yes" if found["ignore_merges"] else "no",
        "pattern": found["pattern_name"] or repr(found["pattern"]),
        "pattern engine": found["pattern_engine"],
        "decode errors": found["decode_errors"],
        "special tokens": str(len(found["special_tokens"])),
    }
    lines = [f"{name:<22} {value}" for name, value in rows.items()]
    specials = sorted(found["special_tokens"].items(), key=lambda entry: entry[1])
    lines += _first_few([f"{token_id} {literal!r}" for literal, token_id in specials])
    lines.append(f"{'longest tokens':<22} {len(found['longest'])} shown")
    for each in found["longest"]:
        lines.append(f"  {each['id']} {shown_token(bytes(each['bytes']))} ({len(each['bytes'])} bytes)")
    for what, key in (("unreachable by merging", "unreachable"), ("split by the pattern", "cut_alone")):
        lines.append(f"{what}: {len(found[key])}")
        lines += _first_few([f"{token_id} {shown_token(tokenizer.id_to_token(token_id))}" for token_id in found[key]])
    lines.append(f"duplicates: {len(found['duplicates'])}")
    lines += _first_few([f"{shown_token(bytes(each['bytes']))} {each['ids']}" for each in found["duplicates"]])
    return "\n".join(lines) + "\n"


def _first_few(entries: list[str]) -> list[str]:
    """Returns the first few entries, and a line on how many more there are."""
    shown = [f"  {entry}" for entry in entries[:_N_SHOWN]]
    return [*shown, f"  and {len(entries) - _N_SHOWN} more"] if len(entries) > _N_SHOWN else shown


def _tokens_text(tokenizer: Tokenizer, text: str, in_colour: bool) -> str:
    ids = tokenizer.encode(text)
    size = f"{len(text.encode())} bytes, {len(ids)} tokens"
    if in_colour:
        return f"{coloured(tokenizer, text)}\n{size}\n"
    return size + ": " + " ".join(f"{i}:{shown_token(tokenizer.id_to_token(i))}" for i in ids) + "\n"
