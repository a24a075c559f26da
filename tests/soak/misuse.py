"""Passes each of 75 values as each argument of each public call: a result or a documented error.

A case makes a valid call and replaces one argument by one of the values. It runs in a child process, in an empty
folder. Errors are documented when they are one of `pairloom.errors`, a TypeError, a ValueError, an OSError or a
MemoryError; an error that the value itself raises (`Mischief`) passes through. Messages of the library that the seam is
written with are failures.
"""

import array
import inspect
import io
import itertools
import math
import os
import random
import resource
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow

import pairloom
from pairloom import Corpus, CountBuilder, PretokenCounts, ShardJob, Tokenizer, TrainingConfig
from pairloom.training.config import PROFILES
from tests.soak.harness import Result
from tests.soak.isolation import run_cases

SUMMARY = (
    "each of 75 values at each argument of each public call; a failure is a process that dies or hangs, an error that"
    " is not documented, or a message of the seam's library"
)
QUICK = 1_500
FULL = 50_000
"""A full run takes the cases that there are, which are fewer."""

_MAX_BYTES = 6 << 30
_SEAM_WORDS = ("cannot be converted to", "is not an instance of", "is not an exact instance", "orrowed", "PyO3")


class Mischief(Exception):
    """The exception that hostile values raise."""


# The values ------------------------------------------------------------------------------------------------------


def _odd(value: Any, **methods: Any) -> Any:
    """Returns the value as an instance of a class whose listed methods raise Mischief or return a given value."""

    def method(answer: Any) -> Any:
        return lambda *_, **__: _raise() if answer is Mischief else answer

    return type("Odd", (type(value),), {name: method(answer) for name, answer in methods.items()})(value)


def _raise(*_: Any) -> Any:
    raise Mischief


class _Any:
    """The base class of objects that are of no other type."""

    def __init__(self, _: Any = None) -> None:
        pass


def _nested(depth: int) -> list[Any]:
    outer: list[Any] = []
    for _ in range(depth):
        outer = [outer]
    return outer


VALUES: tuple[Callable[[], Any], ...] = (
    # Numbers.
    *(lambda value=value: value for value in (None, True, 0, -1, 3, 256, 2**32, 2**63, -(2**64), 10**5000, 0.5, 1j)),
    *(lambda: math.nan, lambda: np.int64(300), lambda: np.uint64(2**64 - 1), lambda: np.float32(1.5)),
    lambda: _odd(3, __index__=Mischief, __lt__=Mischief),
    # Text and bytes.
    *(lambda value=value: value for value in ("", "a", "ab ab", "\x00", "\ud800", "é東😀", "a" * 5000, "a\nb")),
    *(lambda value=value: value for value in ("<|endoftext|>", "gpt2", "all", "[", "(?P<n>a)(?P=n)", "-", "/dev/null")),
    *(lambda value=value: value for value in ("missing/file.json", "http://127.0.0.1:9/x", b"abc", b"\xff")),
    lambda: _odd("abc", __len__=10**12, __str__=Mischief, encode=Mischief),
    *(lambda: bytearray(b"ab"), lambda: memoryview(b"ab"), lambda: array.array("i", [1, 2])),
    # Arrays.
    *(lambda: np.zeros(0, np.int64), lambda: np.arange(3), lambda: np.arange(3, dtype=">i8"), lambda: np.array(5)),
    *(lambda: np.frombuffer(bytes(24)), lambda: np.array([-1, 2**40]), lambda: np.zeros((2, 3), np.uint32)),
    *(lambda: np.array([1.5, math.nan]), lambda: np.array([None, "a"]), lambda: np.zeros(2, "i4,f8")),
    # Containers, iterators and files.
    *(list, dict, set, lambda: [None], lambda: [-1], lambda: [2**70], lambda: ["a", "b"], lambda: ["a", "\ud800"]),
    *(lambda: [["a"], [1]], lambda: {"a": -1}, lambda: {1: b"a"}, lambda: [(b"a", b"b")], lambda: [(1,)]),
    *(lambda: _nested(100_000), lambda: range(10**6), lambda: iter([]), lambda: io.BytesIO(b"a b")),
    *(lambda: iter(["a", None]), lambda: map(_raise, "ab")),
    # Objects that lie or raise, and objects of other types.
    *(lambda: _odd(["a"], __len__=10**12), lambda: _odd(_Any(), __fspath__=5), object, lambda: Path("missing")),
    lambda: _odd(_Any(), **dict.fromkeys(("__iter__", "__index__", "__fspath__", "__len__"), Mischief)),
    lambda: _odd(_Any(), **dict.fromkeys(("__eq__", "__hash__", "__bool__", "__repr__", "__str__"), Mischief)),
)
"""Makers of the values, one for each class that was ever refused badly: an iterator is used up by one case."""


# The calls -------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A public call, and a valid value for each of its arguments."""

    call: Callable[..., Any]
    arguments: dict[str, Any]


_TEXT = "the cat ate the théâtre 東京 <|endoftext|> ab ab"
# They take no arguments, use the network, or only point to other calls.
_LEFT_OUT = {"PretokenCounts", "ProgressEvent", "Tokenizer.from_pretrained", "cpu_tier"}
_BATCHES = {"seq_len": 8, "batch": 2, "seed": 1, "epochs": 1, "pad_id": 0}


def calls(folder: Path) -> dict[str, Call]:
    """Returns each public function, class and method with arguments, by name; valid values are made in `folder`."""
    text, records, model = folder / "text.txt", folder / "records.jsonl", folder / "model.json"
    text.write_text(_TEXT * 5)
    records.write_text('{"text": "the cat"}\n{"text": "ab"}\n')
    tokenizer = Tokenizer.train("the cat ate the théâtre 東京 ab ab", 262, decode_errors="replace")
    counts, shards = PretokenCounts.from_texts([_TEXT]), folder / "shards"
    gpt2, saved_counts, parquet = folder / "gpt2", folder / "counts.plc", folder / "counts.parquet"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer.save(model)
        tokenizer.save(gpt2, format="gpt2")
        counts.save(saved_counts)
        counts.save(parquet)
        pairloom.tokenize_files(tokenizer, text, shards, specials="recognise")
    column, ids = pyarrow.array([_TEXT, None, "ab"]), tokenizer.encode(_TEXT)
    fields = {name: getattr(PROFILES["bpetite"], name) for name in TrainingConfig.__dataclass_fields__}
    two = {"a": shards, "b": shards}
    # What an argument with this name accepts in most calls.
    sound: dict[str, Any] = (
        {"text": _TEXT, "texts": [_TEXT], "corpus": [_TEXT], "iterable": [_TEXT], "ids": ids, "list_of_ids": [ids]}
        | {"token": "a", "tokens": [b"ab"], "id": 97, "vocab_size": 260, "special_tokens": ["<new>"], "min_count": 2}
        | {"path": text, "paths": text, "input_path": text, "source": tokenizer.to_huggingface(), "counts": counts}
        | {"encoding": tokenizer.to_tiktoken(), "model": tokenizer.model, "mine": tokenizer, "theirs": tokenizer}
        | {"mergeable_ranks": {token: i for i, token in tokenizer.model.tokens().items()}, "pattern": "gpt2"}
        | {"vocab_filepath": gpt2 / "vocab.json", "merges_filepath": gpt2 / "merges.txt", "old": tokenizer}
        | {"loss": [0.5, 1.0], "targets": [97, 98], "normalizer": ("nfc",), "cache_bytes": 1 << 20}
        | {"items": [(b"ab", 3)], "table": counts.to_arrow(), "parts": [counts, counts], "folder": shards}
        | {"shards": shards, "output": "out", "seq_len": 8, "profile": "bpetite", "n_chars": 1}
        | {"vocab": tokenizer.vocab, "merges": tokenizer.merges, "other": tokenizer}
    )
    own: dict[str, dict[str, Any]] = {
        "Tokenizer.train": {"corpus": _TEXT, **fields},
        "Tokenizer.extend": {"vocab_size": 270},
        "Tokenizer.prune": {"vocab_size": 258},
        "Tokenizer.adapt": {"n_tokens": 2},
        "Tokenizer.load": {"path": model, "pattern": None, "special_tokens": None},
        "Tokenizer.save": {"path": "saved.json"},
        "Tokenizer.save_pretrained": {"path": "saved"},
        "Tokenizer.with_tokenizer_config": {"eos_token": None, "chat_template": "x"},
        "Tokenizer.encode": {"dropout": 0.1, "seed": 1},
        "Tokenizer.decode_arrow": {"list_of_ids": tokenizer.encode_arrow(column)},
        "PretokenCounts.from_parquet": {"paths": parquet},
        "PretokenCounts.load": {"path": saved_counts},
        "PretokenCounts.save": {"path": "counts.plc"},
        "Corpus": {"paths": records},
        "TrainingConfig": fields,
        "CountBuilder.add_parquet": {"path": parquet},
        "tokenize_files": {"model": tokenizer, "inputs": records, "shard_tokens": 100},
        "drop_documents": {"ids": ["a"]},
        "OpenShards.batches": _BATCHES,
        "MixedShards.batches": _BATCHES | {"epochs": {"a": 2, "b": None}},
        "ShardJob": {"folder": "job", "tokenizer": tokenizer},
        "Task.write": {"batches": [[_TEXT], column.drop_null()], "task": 1},
    }

    def written(**arguments: Any) -> Any:
        with ShardJob("job", tokenizer) as job:
            return job.commit([job.task.write(**arguments)])

    def pushed(**arguments: Any) -> Any:
        return tokenizer.block_encoder().push(next(iter(Corpus(text).read())).documents, **arguments)

    owners = {"Tokenizer": tokenizer, "PretokenCounts": counts, "CountBuilder": CountBuilder(threads=1)}
    found: dict[str, Any] = {name: getattr(pairloom, name) for name in pairloom.__all__}
    for name, owner in owners.items():
        found |= {f"{name}.{method}": getattr(owner, method) for method in dir(owner) if method[0] != "_"}
    found |= {
        "Corpus.of_texts": Corpus.of_texts,
        "TrainingConfig.from_profile": TrainingConfig.from_profile,
        "OpenShards.batches": pairloom.open_shards(shards).batches,
        "MixedShards.batches": pairloom.open_shards(two, weights={"a": 1, "b": 1}).batches,
        "Session.append": tokenizer.session().append,
        "Session.truncate": tokenizer.session(_TEXT).truncate,
        "DecodeStream.push": lambda id: tokenizer.decode_stream().push(id),
        "BlockEncoder.push": lambda name="text", first=0: pushed(name=name, first=first),
        "Task.write": lambda batches, task: written(batches=batches, task=task),
        "open_shards of several": lambda folder=two, weights={"a": 0.5, "b": 1}: pairloom.open_shards(
            folder, weights=weights
        ),
        "Tokenizer ==": lambda other: tokenizer == other,
        "PretokenCounts +": lambda counts: PretokenCounts.from_texts([_TEXT]) + counts,
        "PretokenCounts +=": lambda counts: PretokenCounts.from_texts([_TEXT]).__iadd__(counts),
    }
    made: dict[str, Call] = {}
    for name, call in found.items():
        if callable(call) and not name.endswith("Error") and name not in _LEFT_OUT:
            usual = sound | {"texts": column} if name.endswith("_arrow") else sound
            values = _values(name, call, usual, own.get(name, {}))
            if values:
                made[name] = Call(partial(_used, call), values)
    return made


def _values(name: str, call: Callable[..., Any], sound: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Returns a valid value for each argument of a call: its own, the default, or the one for its name."""
    values = dict(own)
    for key, parameter in inspect.signature(call).parameters.items():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            known = sound.get(key, _UNKNOWN) if parameter.default is parameter.empty else parameter.default
            if values.setdefault(key, known) is _UNKNOWN:
                raise AssertionError(f"misuse knows no sound value of {key} of {name}")
    return values


_UNKNOWN = object()


def _used(call: Callable[..., Any], **arguments: Any) -> Any:
    """Returns the result; reads an iterator to its end, because it may fail only then."""
    result = call(**arguments)
    return list(itertools.islice(iter(result), 9)) if isinstance(result, (Iterator, Corpus)) else result


# The run ---------------------------------------------------------------------------------------------------------


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs all cases, or `count` of them."""
    with tempfile.TemporaryDirectory(prefix="pairloom-misuse-") as name:
        folder = Path(name)
        targets = calls(folder)
        places = [(call, argument) for call, target in targets.items() for argument in target.arguments]
        all_cases = [(*place, number) for place in places for number in range(len(VALUES))]
        all_cases = random.Random(seed).sample(all_cases, min(count, len(all_cases)))

        def case(number: int) -> tuple[str, str]:
            call, argument, value = all_cases[number]
            _limit_once()
            # Files that a call writes do not meet those of another.
            os.chdir(tempfile.mkdtemp(dir=folder))
            return outcome_of(targets[call], argument, VALUES[value])

        for number, outcome in run_cases(case, len(all_cases)):
            call, argument, value = all_cases[number]
            what, detail = outcome.result or ("failed", outcome.death)
            failure = f"{argument}=VALUES[{value}], {_named(value)}: {detail}" if what == "failed" else ""
            yield Result(call, {"cases": 1, **({} if failure else {what: 1})}, failure)


@cache
def _limit_once() -> None:
    """Prepares a child process: an absurd size is a MemoryError, and nothing is read from or shown on the terminal."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    warnings.simplefilter("ignore")


def outcome_of(target: Call, argument: str, value: Callable[[], Any]) -> tuple[str, str]:
    try:
        target.call(**target.arguments | {argument: value()})
    except Mischief:
        return "refused", ""
    except (pairloom.PairloomError, TypeError, ValueError, OSError, MemoryError) as error:
        text = str(error)
        if any(words in text for words in _SEAM_WORDS):
            return "failed", f"{type(error).__name__} in words of the seam's library: {text[:200]}"
        return "refused", ""
    except BaseException as error:
        # The documented ImportError names what to install.
        if isinstance(error, ImportError) and "install" in str(error):
            return "refused", ""
        return "failed", "".join(traceback.format_exception(error)[-2:])[-500:]
    return "accepted", ""


def _named(number: int) -> str:
    try:
        return repr(VALUES[number]())[:60]
    except BaseException as error:
        return f"a value whose repr raises {type(error).__name__}"
