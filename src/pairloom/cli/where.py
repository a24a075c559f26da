"""`pairloom where`: finds the document, record and input that tokens come from; a JSON line each."""

import argparse
import json

from pairloom.cli.console import whole_number, write_stdout
from pairloom.cli.models import add_model_arguments, load_model, refuse_format_options
from pairloom.shards.config import model_digest
from pairloom.shards.reading import open_shards

HELP = "find where a token in a folder of shards comes from, or where a document went"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `pairloom where`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder that pairloom tokenize wrote")
    parser.add_argument("--shard", type=whole_number, metavar="N", help="with --token: the number of the shard, from 0")
    parser.add_argument("--token", type=whole_number, metavar="T", help="the number of a token in it, from 0")
    parser.add_argument("--id", metavar="ID", help="the id of a document, of shards with --provenance and --id-field")
    add_model_arguments(parser, required=False)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each document found, or each part of it in packed rows. Exit status 1 if there is none."""
    if (args.shard is None) != (args.token is None) or (args.id is None) == (args.shard is None):
        args.wrong_usage("pass --shard and --token, or --id")
    if args.model is None:
        refuse_format_options(args, "needs --model")
    shards = open_shards(args.folder, incomplete=True)
    model = None if args.model is None else load_model(args)
    if model is not None and model_digest(model) != shards.manifest.model:
        raise ValueError(f"{args.folder}: was made with another model than {args.model}; pass the model that made it")
    found = shards.where(shard=args.shard, token=args.token, id=args.id)
    for origin in found:
        line = origin._asdict()
        if model is not None:
            ids = shards.ids(origin.shard)[origin.start : origin.end].tolist()
            config = shards.manifest.config
            ids = ids[1:] if ids[:1] == [config["bos_id"]] and not origin.before else ids
            ids = ids[:-1] if ids[-1:] == [config["eot_id"]] else ids
            # A part can begin or end within a character.
            line["text"] = model.decode(ids, errors="replace")
        write_stdout(json.dumps(line, ensure_ascii=False) + "\n")
    if not found:
        args.console.say("error", f"{args.folder}: no document has the id {args.id!r}")
    elif not shards.manifest.has_provenance:
        args.console.say("note", f"{args.folder}: was made without --provenance, so record and id are unknown")
    return 0 if found else 1
