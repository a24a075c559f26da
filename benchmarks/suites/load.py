"""Loading and starting: a saved model, files of other libraries against their owners, imports and a short command."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from corpora.vocabularies import vocabulary
from peer_process import ENVIRONMENT, Call, cold, turns, warm
from report.section import Claim, Section, Setup, Table

from pairloom import Tokenizer


def measure(setup: Setup) -> Section:
    """Milliseconds, first call in a fresh process and later calls."""
    section = Section("load")
    table = Table("a tokenizer made ready: milliseconds", ["vocabulary", "call", "first", "later"])
    section.tables.append(table)
    what = {
        "pairloom": "pairloom, from its file",
        "tiktoken": "tiktoken, from ranks in memory",
        "gigatoken": "gigatoken, from a .tiktoken file",
    }
    for name in ("gpt2", "cl100k", "o200k"):
        job = {"task": "load", "repeats": 5} | vocabulary(name).job()
        calls: dict[str, Call] = {peer: (peer, job) for peer in what}
        results = turns(calls, setup)
        for peer, found in results.items():
            table.rows.append([name, what[peer], cold(found) * 1e3, warm(found) * 1e3])
        if name == "gpt2":
            for state, figure in (("first", cold), ("later", warm)):
                ratio = figure(results["pairloom"]) / figure(results["tiktoken"])
                section.claims.append(Claim(f"load of gpt2, {state}, over tiktoken's", ratio, 2, at_most=True))
    _files(section, setup)
    _starting(section, setup)
    return section


def _files(section: Section, setup: Setup) -> None:
    """Processor time of loading files of other libraries, against their owners."""
    table = Table("another library's file: milliseconds of processor time", ["file", "library", "first", "later"])
    section.tables.append(table)
    for name, job in _foreign_files(setup.folder).items():
        owner = "tiktoken" if "pattern" in job else "tokenizers"
        calls: dict[str, Call] = {peer: (peer, job) for peer in ("pairloom", owner)}
        results = turns(calls, setup)
        for peer, found in results.items():
            table.rows.append([name, peer, cold(found) * 1e3, warm(found) * 1e3])
        ratio = warm(results[owner]) / warm(results["pairloom"])
        section.claims.append(Claim(f"load of {name}, {owner}'s time over pairloom's", ratio, 2))


def _foreign_files(folder: Path) -> dict[str, dict[str, object]]:
    """Jobs by name: tokenizer.json of cl100k, o200k and as Llama 3 publishes it, GPT-2's files, o200k's .tiktoken."""
    jobs: dict[str, dict[str, object]] = {}
    for name in ("cl100k", "o200k"):
        path = folder / f"{name}.tokenizer.json"
        Tokenizer.load(vocabulary(name).model).save(path, overwrite=True, format="huggingface")
        jobs[f"{name}'s tokenizer.json"] = {"file": str(path)}
    # Merges as lists, whole pretokens looked up, indented.
    file = json.loads((folder / "cl100k.tokenizer.json").read_text(encoding="utf-8"))
    file["model"]["ignore_merges"] = True
    file["model"]["merges"] = [merge.split(" ") for merge in file["model"]["merges"]]
    path = folder / "llama.tokenizer.json"
    path.write_text(json.dumps(file, ensure_ascii=False, indent=2), encoding="utf-8")
    jobs["a tokenizer.json like Llama 3's"] = {"file": str(path)}
    gpt2 = folder / "gpt2-files"
    Tokenizer.load(vocabulary("gpt2").model).save(gpt2, overwrite=True, format="gpt2")
    jobs["GPT-2's vocab.json and merges.txt"] = {"file": str(gpt2)}
    job = vocabulary("o200k").job()
    ranks = {"file": job["ranks"], "pattern": job["pattern"], "special_tokens": job["special_tokens"]}
    jobs["o200k's .tiktoken"] = ranks
    return {name: {"task": "load_file", "repeats": 5} | each for name, each in jobs.items()}


def _starting(section: Section, setup: Setup) -> None:
    """Processor time of imports and of a short command."""
    table = Table("starting: milliseconds of processor time", ["what", "milliseconds"])
    section.tables.append(table)
    own, peers = sys.executable, str(ENVIRONMENT / "bin/python")
    model = str(vocabulary("gpt2").model)
    encode = ["-m", "pairloom", "encode", "--model", model, "--text", "hi"]
    commands = {
        "python, nothing imported": [own, "-c", ""],
        "import numpy": [own, "-c", "import numpy"],
        "from pairloom import Tokenizer": [own, "-c", "from pairloom import Tokenizer"],
        "import tiktoken": [peers, "-c", "import tiktoken"],
        "import tokenizers": [peers, "-c", "import tokenizers"],
        "pairloom encode --model gpt2.json --text hi": [own, *encode],
    }
    # As installed: compiled modules are written, whatever the environment says.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(setup.folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times: dict[str, list[float]] = {what: [] for what in commands}
    for turn in range(3 * setup.n_turns + 1):
        for what, command in commands.items():
            seconds = _on_processor(command, environment)
            # The first turn writes compiled modules.
            if turn:
                times[what].append(seconds)
    found = {what: statistics.median(each) * 1e3 for what, each in times.items()}
    table.rows += [[what, each] for what, each in found.items()]
    extra = found["from pairloom import Tokenizer"] - found["python, nothing imported"]
    section.claims.append(Claim("from pairloom import Tokenizer, milliseconds", extra, 20, at_most=True))
    whole = found["pairloom encode --model gpt2.json --text hi"]
    section.claims.append(Claim("pairloom encode --text hi, milliseconds", whole, 100, at_most=True))


def _on_processor(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of processor time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
