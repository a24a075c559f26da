"""Each of 77 values at each argument of each public call: a result or a documented error.

A case makes a sound call and puts one of the values where one argument was. It runs in a child process, in an empty
folder. Errors are documented when they are one of `pairloom.errors`, a TypeError, a ValueError, an OSError or a
MemoryError; an error that the value itself raises (`Mischief`) passes through. Messages of the library that the seam is
written with are failures.
"""

from __future__ import annotations

import array
import copy
import inspect
import io
import itertools
import math
import os
import resource
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow

import pairloom
from pairloom import Corpus, CountBuilder, PretokenCounts, ShardJob, Tokenizer, TrainingConfig
from pairloom.training.config import PROFILES
from tests.soak.harness import Table
from tests.soak.isolation import run_cases

SUMMARY = (
    "each of 77 values at each argument of each public call; a failure is a process that dies or hangs, an error that"
    " is not documented, or a message of the seam's library"
)
QUICK = 1_500
FULL = 50_000
"""A full run takes the cases that there are, which are fewer."""

_MOST_BYTES = 6 << 30
_SEAM_WORDS = ("cannot be converted to", "is not an instance of", "is not an exact instance", "orrowed", "PyO3")


class Mischief(Exception):
    """What a hostile value raises."""


# The values ------------------------------------------------------------------------------------------------------


def _raises(*names: str) -> Any:
    """An object whose methods of these names raise Mischief."""

    def method(*_: Any, **__: Any) -> Any:
        raise Mischief

    return type("Raising", (), dict.fromkeys(names, method))()


class _LyingList(list[Any]):
    def __len__(self) -> int:
        return 10**12


class _LyingHint:
    def __iter__(self) -> Any:
        return iter(["a", "b"])

    def __length_hint__(self) -> int:
        return 2**62


class _Str(str):
    def __len__(self) -> int:
        return 10**12

    def __str__(self) -> str:
        raise Mischief

    def encode(self, *_: Any) -> bytes:
        raise Mischief


class _Int(int):
    def __index__(self) -> int:
        raise Mischief

    def __lt__(self, _: object) -> bool:
        raise Mischief


def _returning(name: str, value: Any) -> Any:
    return type("Returning", (), {name: lambda _: value})()


def _generator(*items: Any) -> Any:
    for item in items:
        if item is Mischief:
            raise Mischief
        yield item


def _nested(depth: int) -> list[Any]:
    outer: list[Any] = []
    for _ in range(depth):
        outer = [outer]
    return outer


def _in_itself() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def _read_only() -> Any:
    made = np.arange(3)
    made.flags.writeable = False
    return made


VALUES: tuple[Callable[[], Any], ...] = (
    # Numbers.
    *(lambda value=value: value for value in (None, True, 0, -1, 3, 256, 2**32, 2**63, -(2**64), 10**5000, 0.5, 1j)),
    *(lambda: math.nan, lambda: np.int64(300), lambda: np.uint64(2**64 - 1), lambda: np.float32(1.5), lambda: _Int(3)),
    # Text and bytes.
    *(lambda value=value: value for value in ("", "a", "ab ab", "\x00", "\ud800", "é東😀", "a" * 5000, "a\nb")),
    *(lambda value=value: value for value in ("<|endoftext|>", "gpt2", "all", "[", "(?P<n>a)(?P=n)", "-", "/dev/null")),
    *(lambda value=value: value for value in ("missing/file.json", "http://127.0.0.1:9/x", b"abc", b"\xff")),
    *(lambda: _Str("abc"), lambda: bytearray(b"ab"), lambda: memoryview(b"ab"), lambda: array.array("i", [1, 2])),
    # Arrays.
    *(lambda: np.zeros(0, np.int64), lambda: np.arange(3), lambda: np.arange(3, dtype=">i8"), _read_only),
    *(lambda: np.array([-1, 2**40]), lambda: np.zeros((2, 3), np.uint32), lambda: np.array(5)),
    *(lambda: np.array([1.5, math.nan]), lambda: np.array([None, "a"]), lambda: np.zeros(2, "i4,f8")),
    # Containers, iterators and files.
    *(list, dict, set, lambda: [None], lambda: [-1], lambda: [2**70], lambda: ["a", "b"], lambda: ["a", "\ud800"]),
    *(lambda: [["a"], [1]], lambda: {"a": -1}, lambda: {1: b"a"}, lambda: [(b"a", b"b")], lambda: [(1,)]),
    *(lambda: _nested(100_000), _in_itself, lambda: range(10**6), lambda: iter([]), lambda: io.BytesIO(b"a b")),
    *(lambda: _generator("a", None), lambda: _generator("a", Mischief)),
    # Objects that lie or raise, and objects of other kinds.
    *(lambda: _LyingList(["a"]), _LyingHint, lambda: _returning("__fspath__", 5), object, lambda: Path("missing")),
    *(
        lambda: _raises("__iter__", "__index__", "__fspath__", "__len__"),
        lambda: _raises("__eq__", "__hash__", "__bool__", "__repr__", "__str__"),
    ),
)
"""Makers of the values, one for each class that was ever refused badly: an iterator is used up by one case."""


# The calls -------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A public call, and a maker of sound values for each of its arguments."""

    call: Callable[..., Any]
    arguments: dict[str, Callable[[], Any]]


_TEXT = "the cat ate the théâtre 東京 <|endoftext|> ab ab"


class _Inputs:
    """What sound calls work on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokenizer = Tokenizer.train("the cat ate the théâtre 東京 ab ab", 262, decode_errors="replace")
        self.counts = PretokenCounts.from_texts([_TEXT])
        self.text = folder / "text.txt"
        self.text.write_text(_TEXT * 5)
        self.records = folder / "records.jsonl"
        self.records.write_text('{"text": "the cat"}\n{"text": "ab"}\n')
        self.model = folder / "model.json"
        self.tokenizer.save(self.model)
        self.gpt2 = folder / "gpt2"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tokenizer.save(self.gpt2, format="gpt2")
        self.saved_counts = folder / "counts.plc"
        self.counts.save(self.saved_counts)
        self.parquet_counts = folder / "counts.parquet"
        self.counts.save(self.parquet_counts)
        self.shards = folder / "shards"
        pairloom.tokenize_files(self.tokenizer, self.text, self.shards, specials="recognise")


def calls(folder: Path) -> dict[str, Call]:
    """The public calls by name; the sound values of arguments need `folder`."""
    inputs = _Inputs(folder)
    tokenizer, counts, model = inputs.tokenizer, inputs.counts, inputs.tokenizer.model
    column = pyarrow.array([_TEXT, None, "ab"])

    def given(value: Any) -> Callable[[], Any]:
        return lambda: value

    def made(call: Callable[..., Any], of: Callable[..., Any] | None = None, **arguments: Any) -> Call:
        """The call with these arguments, and the defaults of all others of `of` (None: of `call` itself)."""
        found = inspect.signature(of or call).parameters.values()
        defaults = {each.name: each.default for each in found if each.default is not each.empty}
        return Call(call, {name: given(value) for name, value in (defaults | arguments).items()})

    fields = {name: getattr(PROFILES["bpetite"], name) for name in TrainingConfig.__dataclass_fields__}
    ids = tokenizer.encode(_TEXT)
    made_by_hand: dict[str, Any] = {
        "vocab": tokenizer.vocab,
        "merges": tokenizer.merges,
        "special_tokens": ["<|endoftext|>"],
    }

    def documents(**arguments: Any) -> Any:
        return list(Corpus(**arguments))

    def texts_read(**arguments: Any) -> Any:
        return list(Corpus.of_texts(**arguments))

    def streamed(**arguments: Any) -> Any:
        return list(tokenizer.encode_iterable(**arguments))

    def decoded(token_id: Any, prompt_ids: Any, skip_special_tokens: Any) -> Any:
        stream = tokenizer.decode_stream(prompt_ids, skip_special_tokens=skip_special_tokens)
        return stream.push(token_id) + stream.finish()

    def blocks(name: Any, first: Any, **arguments: Any) -> Any:
        block = next(iter(Corpus(inputs.text).read())).documents
        return tokenizer.block_encoder(**arguments).push(block, name=name, first=first)

    def built(texts: Any, column: Any, counts: Any) -> Any:
        builder = CountBuilder(threads=1)
        builder.add_texts(texts)
        builder.add_arrow(column)
        builder.add_counts(counts)
        return builder.finish()

    def written(folder: Any, tokenizer: Any, batches: Any, task: Any, **options: Any) -> Any:
        with ShardJob(folder, tokenizer, **options) as job:
            return job.commit([job.task.write(batches, task)])

    def batches(**arguments: Any) -> Any:
        return next(pairloom.open_shards(inputs.shards).batches(**arguments), None)

    two = {"a": inputs.shards, "b": inputs.shards}

    def mixed(**arguments: Any) -> Any:
        return next(pairloom.open_shards(two, weights={"a": 1, "b": 1}).batches(**arguments), None)

    def added(other: Any) -> Any:
        total = copy.copy(counts)
        total += other
        return total

    def merged(parts: Any) -> Any:
        return PretokenCounts.merged(parts)

    return {
        "Tokenizer()": made(Tokenizer, **made_by_hand),
        "Tokenizer.train": made(Tokenizer.train, corpus=_TEXT, vocab_size=260, **fields),
        "Tokenizer.train_files": made(Tokenizer.train_files, paths=inputs.text, vocab_size=260),
        "Tokenizer.train_from_counts": made(Tokenizer.train_from_counts, counts=counts, vocab_size=260),
        "Tokenizer.extend": made(tokenizer.extend, corpus=_TEXT, vocab_size=270, profile="bpetite"),
        "train_bpe": made(pairloom.train_bpe, input_path=inputs.text, vocab_size=260, special_tokens=["<|endoftext|>"]),
        "explain_difference": made(pairloom.explain_difference, mine=tokenizer, theirs=tokenizer, corpus=[_TEXT]),
        "TrainingConfig": made(TrainingConfig, **fields),
        "TrainingConfig.from_profile": made(TrainingConfig.from_profile, profile="cs336"),
        "Tokenizer.from_files": made(
            Tokenizer.from_files,
            vocab_filepath=inputs.gpt2 / "vocab.json",
            merges_filepath=inputs.gpt2 / "merges.txt",
        ),
        "Tokenizer.load": made(Tokenizer.load, path=inputs.model),
        "Tokenizer.save_pretrained": made(tokenizer.save_pretrained, path="saved"),
        "Tokenizer.from_ranks": made(
            Tokenizer.from_ranks,
            mergeable_ranks={token: i for i, token in tokenizer.model.tokens().items()},
            pattern="gpt2",
        ),
        "Tokenizer.with_tokenizer_config": made(tokenizer.with_tokenizer_config, eos_token=None, chat_template="x"),
        "Tokenizer.save": made(tokenizer.save, path="saved.json"),
        "Tokenizer.from_tiktoken": made(Tokenizer.from_tiktoken, encoding=tokenizer.to_tiktoken()),
        "Tokenizer.as_tiktoken": made(tokenizer.as_tiktoken, name="pairloom"),
        "Tokenizer.to_tiktoken": made(tokenizer.to_tiktoken, name="pairloom"),
        "Tokenizer.from_huggingface": made(Tokenizer.from_huggingface, source=tokenizer.to_huggingface()),
        "Tokenizer.from_model": made(Tokenizer.from_model, model=model),
        "Tokenizer.encode": made(tokenizer.encode, text=_TEXT, dropout=0.1, seed=1),
        "Tokenizer.encode_ordinary": made(tokenizer.encode_ordinary, text=_TEXT),
        "Tokenizer.encode_ordinary_batch": made(tokenizer.encode_ordinary_batch, texts=[_TEXT]),
        "Tokenizer.encode_batch": made(tokenizer.encode_batch, texts=[_TEXT]),
        "Tokenizer.encode_to_numpy": made(tokenizer.encode_to_numpy, text=_TEXT),
        "Tokenizer.encode_batch_to_numpy": made(tokenizer.encode_batch_to_numpy, texts=[_TEXT]),
        "Tokenizer.encode_with_offsets": made(tokenizer.encode_with_offsets, text=_TEXT),
        "Tokenizer.encode_batch_with_offsets": made(tokenizer.encode_batch_with_offsets, texts=[_TEXT]),
        "Tokenizer.encode_arrow": made(tokenizer.encode_arrow, texts=column),
        "Tokenizer.count_tokens_arrow": made(tokenizer.count_tokens_arrow, texts=column),
        "Tokenizer.decode_arrow": made(tokenizer.decode_arrow, list_of_ids=tokenizer.encode_arrow(column)),
        "Tokenizer.encode_iterable": made(streamed, tokenizer.encode_iterable, iterable=[_TEXT]),
        "Tokenizer.encode_file": made(tokenizer.encode_file, path=inputs.text),
        "Tokenizer.view": made(tokenizer.view, texts=_TEXT),
        "Tokenizer.session": made(tokenizer.session, text=_TEXT),
        "Session.append": made(tokenizer.session().append, text=_TEXT),
        "Session.truncate": made(tokenizer.session(_TEXT).truncate, n_chars=1),
        "Tokenizer.count_tokens": made(tokenizer.count_tokens, text=_TEXT),
        "Tokenizer.count_tokens_batch": made(tokenizer.count_tokens_batch, texts=[_TEXT]),
        "Tokenizer.decode": made(tokenizer.decode, ids=ids),
        "Tokenizer.decode_bytes": made(tokenizer.decode_bytes, ids=ids),
        "Tokenizer.decode_with_offsets": made(tokenizer.decode_with_offsets, ids=ids),
        "Tokenizer.decode_batch": made(tokenizer.decode_batch, list_of_ids=[ids]),
        "Tokenizer.canonicalize": made(tokenizer.canonicalize, ids=[97, 98]),
        "Tokenizer.is_canonical": made(tokenizer.is_canonical, ids=[97, 98]),
        "Tokenizer.decode_stream": made(decoded, token_id=97, prompt_ids=[97], skip_special_tokens=False),
        "Tokenizer.block_encoder": made(blocks, tokenizer.block_encoder, name="text", first=0),
        "Tokenizer.token_to_id": made(tokenizer.token_to_id, token="a"),
        "Tokenizer.id_to_token": made(tokenizer.id_to_token, id=97),
        "Tokenizer.truncate_vocab": made(tokenizer.truncate_vocab, vocab_size=258),
        "Tokenizer.prune": made(tokenizer.prune, corpus=[_TEXT], vocab_size=258),
        "Tokenizer.adapt": made(tokenizer.adapt, corpus=[_TEXT], n_tokens=2),
        "Tokenizer.pieces_of": made(tokenizer.pieces_of, tokens=[b"ab"]),
        "Tokenizer.changes_from": made(tokenizer.changes_from, old=tokenizer),
        "Tokenizer.add_special_tokens": made(tokenizer.add_special_tokens, special_tokens=["<new>"]),
        "Tokenizer.with_normalizer": made(tokenizer.with_normalizer, normalizer=("nfc",)),
        "Tokenizer.with_cache_bytes": made(tokenizer.with_cache_bytes, cache_bytes=1 << 20),
        "Tokenizer.token_byte_lengths": made(tokenizer.token_byte_lengths),
        "Tokenizer.bits_per_byte": made(tokenizer.bits_per_byte, loss=[0.5, 1.0], targets=[97, 98]),
        "Tokenizer ==": made(tokenizer.__eq__, other=tokenizer),
        "PretokenCounts.from_texts": made(PretokenCounts.from_texts, texts=[_TEXT]),
        "PretokenCounts.from_files": made(PretokenCounts.from_files, paths=[inputs.text]),
        "PretokenCounts.from_corpus": made(PretokenCounts.from_corpus, corpus=Corpus(inputs.records)),
        "PretokenCounts.from_items": made(PretokenCounts.from_items, items=[(b"ab", 3)]),
        "PretokenCounts.from_arrow": made(PretokenCounts.from_arrow, table=counts.to_arrow()),
        "PretokenCounts.from_parquet": made(PretokenCounts.from_parquet, paths=inputs.parquet_counts),
        "PretokenCounts.pruned": made(counts.pruned, min_count=2),
        "CountBuilder": made(CountBuilder),
        "CountBuilder.add": made(built, texts=[_TEXT], column=column, counts=counts),
        "pack_shards": made(pairloom.pack_shards, shards=inputs.shards, output="packed", seq_len=8, seed=1),
        "open_shards": made(pairloom.open_shards, folder=inputs.shards),
        "open_shards of several": made(pairloom.open_shards, folder=two, weights={"a": 0.5, "b": 1}),
        "MixedShards.batches": made(
            mixed,
            pairloom.open_shards(two, weights={"a": 1, "b": 1}).batches,
            seq_len=8,
            batch=2,
            seed=1,
            epochs={"a": 2, "b": None},
            pad_id=0,
        ),
        "shard_stats": made(pairloom.shard_stats, shards=inputs.shards),
        "ShardJob": made(
            written, ShardJob, folder="job", tokenizer=tokenizer, batches=[[_TEXT], column.drop_null()], task=1
        ),
        "OpenShards.batches": made(
            batches, pairloom.open_shards(inputs.shards).batches, seq_len=8, batch=2, seed=1, epochs=1, pad_id=0
        ),
        "PretokenCounts.load": made(PretokenCounts.load, path=inputs.saved_counts),
        "PretokenCounts.save": made(counts.save, path="counts.plc"),
        "PretokenCounts.merged": made(merged, parts=[counts, counts]),
        "PretokenCounts +": made(lambda other: counts + other, other=counts),
        "PretokenCounts +=": made(added, other=counts),
        "pretokenize": made(pairloom.pretokenize, text=_TEXT),
        "Corpus": made(documents, Corpus, paths=inputs.records),
        "Corpus.of_texts": made(texts_read, Corpus.of_texts, texts=[_TEXT]),
        "tokenize_files": made(
            pairloom.tokenize_files, model=tokenizer, inputs=inputs.records, output="shards", shard_tokens=100
        ),
        "verify_shards": made(pairloom.verify_shards, folder=inputs.shards),
        "drop_documents": made(pairloom.drop_documents, folder=inputs.shards, ids=["a"]),
    }


# The run ---------------------------------------------------------------------------------------------------------


def run(count: int, seed: int) -> Table:
    """Runs all cases, or `count` of them if those are fewer: an even share, beginning with case `seed`."""
    table = Table(("call", "cases", "accepted", "refused", "failed"))
    with tempfile.TemporaryDirectory(prefix="pairloom-misuse-") as name:
        folder = Path(name)
        targets = calls(folder)
        places = [(call, argument) for call, target in targets.items() for argument in target.arguments]
        all_cases = [(*place, number) for place in places for number in range(len(VALUES))]
        if count < len(all_cases):
            # A step that has no factor in common with their number visits each case once.
            step = next(
                step for step in itertools.count(len(all_cases) // count) if math.gcd(step, len(all_cases)) == 1
            )
            all_cases = [all_cases[(seed + step * number) % len(all_cases)] for number in range(count)]

        def case(number: int) -> tuple[str, str]:
            call, argument, value = all_cases[number]
            _set_up(folder)
            return outcome_of(targets[call], argument, VALUES[value])

        tallies: dict[str, Counter[str]] = {call: Counter() for call in targets}
        for number, outcome in run_cases(case, len(all_cases)):
            call, argument, value = all_cases[number]
            what, detail = outcome.result or ("failed", outcome.death)
            tallies[call][what] += 1
            if what == "failed":
                table.failures.append(f"{call}({argument}=VALUES[{value}], {_named(value)}): {detail}")
    total: Counter[str] = Counter()
    for call, tally in [*tallies.items(), ("all", total)]:
        table.add(call, sum(tally.values()), tally["accepted"], tally["refused"], tally["failed"])
        total.update(tally)
    return table


@cache
def _limit_once() -> None:
    """What a child process does before its first case: an absurd size is a MemoryError, nothing is read or shown."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    warnings.simplefilter("ignore")


_scratch: SimpleNamespace = SimpleNamespace(previous=None)


def _set_up(folder: Path) -> None:
    _limit_once()
    if _scratch.previous is None or any(_scratch.previous.iterdir()):
        _scratch.previous = Path(tempfile.mkdtemp(dir=folder))
    os.chdir(_scratch.previous)


def outcome_of(target: Call, argument: str, value: Callable[[], Any]) -> tuple[str, str]:
    arguments = {name: value() if name == argument else sound() for name, sound in target.arguments.items()}
    try:
        target.call(**arguments)
    except Mischief:
        return "refused", ""
    except (pairloom.PairloomError, TypeError, ValueError, OSError, MemoryError) as error:
        text = str(error)
        if any(words in text for words in _SEAM_WORDS):
            return "failed", f"{type(error).__name__} in words of the seam's library: {text[:200]}"
        return "refused", ""
    except ImportError as error:
        # The documented one names what to install.
        return ("refused", "") if "install" in str(error) else ("failed", _described(error))
    except BaseException as error:
        return "failed", _described(error)
    return "accepted", ""


def _described(error: BaseException) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
    try:
        return f"{type(error).__name__}: {str(error)[:200]}{where}"
    except BaseException:
        return f"{type(error).__name__}{where}"


def _named(number: int) -> str:
    try:
        return repr(VALUES[number]())[:60]
    except BaseException as error:
        return f"a value whose repr raises {type(error).__name__}"
