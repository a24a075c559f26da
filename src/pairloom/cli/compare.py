"""`pairloom compare`: counts the documents that two tokenizers encode differently, and shows the first difference."""

import argparse
import json
from typing import Any

from pairloom import Tokenizer, explain_difference
from pairloom._internal.arguments import as_text
from pairloom.analysis.compare import LIBRARIES, compare, load_side, named_documents, side_of
from pairloom.analysis.render import shown_token
from pairloom.cli.console import json_line, write_stdout
from pairloom.cli.corpus_options import add_corpus_options, corpus_of
from pairloom.cli.models import add_format_arguments, load_one_of, refuse_format_options
from pairloom.cli.report import add_plot_options, add_report_options, print_report, wants_report

HELP = "compare two tokenizers: ids, token boundaries, token counts and bytes per token"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom compare`."""
    group = parser.add_argument_group("models")
    group.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="MODEL",
        help="a tokenizer file, tiktoken:NAME or hf:PATH_OR_NAME (which encode with the libraries tiktoken and "
        "tokenizers); pass it twice, or with --corpus any number of times",
    )
    add_format_arguments(group)
    add_plot_options(parser, "with --corpus: also plot the bytes per token and the premium of each corpus")
    parser.add_argument(
        "--merges",
        action="store_true",
        help="explain why the models learned different merges from the corpus: a tie, line endings, ...",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    add_report_options(parser)
    add_corpus_options(parser, required=False)


def run(args: argparse.Namespace) -> None:
    """Prints the comparison. The exit status is 0 even if they differ."""
    if wants_report(args):
        if args.merges:
            args.wrong_usage("--merges needs --input, not --corpus")
        print_report(args, {name: _load_own(name, args, "--corpus") for name in args.model})
        return
    if args.plot is not None:
        args.wrong_usage("--plot needs named corpora: pass --corpus NAME=PATH instead of --input")
    if len(args.model) != 2:
        args.wrong_usage(f"pass --model twice, not {len(args.model)} times")
    if args.merges:
        mine, theirs = (_load_own(name, args, "--merges") for name in args.model)
        explanation = explain_difference(mine, theirs, corpus_of(args))
        text = json.dumps(explanation.as_dict()) if args.json else f"cause: {explanation.cause}\n{explanation}"
        write_stdout(text + "\n")
        return
    if all(name.startswith(LIBRARIES) for name in args.model):
        refuse_format_options(args, "does not apply: the models' libraries know all of it")
    first, second = (
        load_side(name) if name.startswith(LIBRARIES) else side_of(load_one_of(name, args), name) for name in args.model
    )
    found = compare(first, second, named_documents(corpus_of(args)))
    write_stdout(json_line(found) if args.json else _report(found))


def _load_own(name: str, args: argparse.Namespace, option: str) -> Tokenizer:
    """Loads a file's tokenizer, for options that need pairloom's own."""
    if name.startswith(LIBRARIES):
        raise ValueError(f"{name}: {option} needs files, not libraries; save the tokenizer as a file")
    return load_one_of(name, args)


def _report(found: dict[str, Any]) -> str:
    name_a, name_b = map(as_text, found["names"])
    tokens_a, tokens_b = found["n_tokens"]
    ratio_a, ratio_b = ("-" if ratio is None else f"{ratio:.4f}" for ratio in found["bytes_per_token"])
    more = f"{(tokens_b - tokens_a) / tokens_a:+.2%}" if tokens_a else "no tokens"
    lines = [
        f"A  {name_a}",
        f"B  {name_b}",
        f"{found['n_documents']} documents, {found['n_bytes']} bytes",
        f"tokens           A {tokens_a}  B {tokens_b}  ({more})",
        f"bytes per token  A {ratio_a}  B {ratio_b}",
        f"documents with different ids {found['n_differing_ids']}, with different boundaries "
        f"{found['n_differing_cuts']}",
    ]
    for letter, n_altered in zip("AB", found["n_altered"], strict=True):
        if n_altered:
            lines.append(
                f"{letter} does not reproduce the text of {n_altered} documents: it normalizes text, or lacks bytes"
            )
    ids, cuts = found["ids"], found["cuts"]
    lines += ["the ids are the same"] if ids is None else _difference_lines("first different ids", ids)
    if cuts is None and ids is not None:
        lines.append("the token boundaries are the same; only the ids differ")
    elif cuts != ids:
        lines += _difference_lines("first different boundary", cuts)
    return "\n".join(lines) + "\n"


def _difference_lines(what: str, difference: dict[str, Any]) -> list[str]:
    lines = [
        f"{what}: {difference['document']}, byte {difference['byte_offset']}",
        f"  text  {difference['before']!r} then {difference['after']!r}",
    ]
    for letter, window in zip("AB", difference["windows"], strict=True):
        tokens = zip(window["ids"], window["tokens"], strict=True)
        shown = [f"{token_id}:{shown_token(bytes(token))}" for token_id, token in tokens]
        shown.insert(window["at"], ">>")
        lines.append(f"  {letter}     {' '.join(shown)}")
    return lines
