"""`pairloom verify`: finds damage in a folder of shards, a line each, and repairs it from the inputs."""

import argparse

from pairloom.cli.console import check_needs, whole_number, write_stdout
from pairloom.cli.messages import with_option_names
from pairloom.cli.models import add_model_arguments, load_model, refuse_format_options
from pairloom.shards.verify import verify_shards

HELP = "find damage in a folder of shards, and repair it from the inputs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom verify`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder that pairloom tokenize wrote")
    parser.add_argument("--deep", action="store_true", help="also compare the SHA-256 of every file")
    parser.add_argument("--repair", action="store_true", help="encode damaged shards again; needs --model")
    parser.add_argument(
        "--input",
        action="extend",
        nargs="+",
        metavar="PATH",
        help="with --repair: the inputs, if they have moved",
    )
    parser.add_argument("--threads", type=whole_number, default=0, metavar="N", help="threads (0: all)")
    add_model_arguments(parser, required=False)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each damaged part. The exit status is 1 if one was not repaired."""
    if args.repair and args.model is None:
        args.wrong_usage("--repair needs --model, the tokenizer that made the shards")
    check_needs(args, input="repair", model="repair")
    if args.model is None:
        refuse_format_options(args, "needs --model")
    model = load_model(args) if args.repair else None
    found = verify_shards(
        args.folder, deep=args.deep, repair=args.repair, model=model, inputs=args.input, threads=args.threads
    )
    for message in found:
        # A repaired part needs no remedy, so cut it off.
        line = f"repaired: {message.partition(';')[0]}" if args.repair else with_option_names(message)
        write_stdout(line + "\n")
    args.console.say(
        "note", f"{args.folder}: {len(found) or 'no'} damaged parts{', repaired' if args.repair and found else ''}"
    )
    return 1 if found and not args.repair else 0
