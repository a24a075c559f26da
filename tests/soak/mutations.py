"""Randomly changed files: every loader returns a result or a documented error, in bounded time and memory.

Each case takes a small valid file of one kind, changes a few bytes, or one or two values of its JSON, loads it,
encodes and decodes with the result, and saves it in every format. Changed values include what real files
contain: ids near 2**24, literals of tens of thousands of characters, thousands of entries, half surrogates.
"""

import contextlib
import copy
import hashlib
import json
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pairloom import PretokenCounts, Tokenizer
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom.errors import CountsError, FormatError, PairloomError, PatternError
from pairloom.formats import WRITABLE, gpt2, huggingface, native, tiktoken
from pairloom.model import Model
from tests.formats.models import random_model, trained
from tests.formats.test_loading import MODELS
from tests.formats.test_sentencepiece import Piece, gguf_file, model_file, random_pieces
from tests.formats.test_tiktoken import tekken_file
from tests.soak.harness import Result
from tests.soak.isolation import run_by_kind

SUMMARY = (
    "changed model files and counts files, from load to save; a failure is another error than the documented ones, a"
    " process that dies, more than 2 s of processor time, or more memory than 200 MB or ten times the file"
)
QUICK = 600
FULL = 350_000

# A value whose JSON is longer than this is repeated only a few times.
_MAX_REPEATED_BYTES = 1000
_SEPARATOR = b"\n--\n"
_TEXT = "ab <|endoftext|> the théâtre 東京 ab\n\n 12345"
_PIECES = (
    *(b"", b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"0", b"-1", b"1e9", b"9" * 30, b"true", b"null", b"\xff"),
    *(b"\\ud800", b"\x00", b"\n", b" ", b"=", b'"a"', b"[]", b"{}", "Ġ".encode(), "｜".encode(), b"a b", b'"Split"'),
    *(b"16777215", b"16777216", b"4294967295", b"YWI=", b"AAAA", b"\r\n", b"#version", b"9" * 5000, b"[" * 2000),
    *(b"\x7f", b"\x80", bytes(4), bytes(8), b"\xff" * 4, b"\xff" * 8, b"\x7f" * 4),
)


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` cases, by the kind of file."""
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as folder:
        yield from run_by_kind(tuple(_ORIGINALS), count, seed, lambda number: _run_case(seed, number, Path(folder)))


def mutant(seed: int, number: int) -> tuple[str, bytes]:
    """Returns the kind and the bytes of a case."""
    kinds = tuple(_ORIGINALS)
    kind = kinds[number % len(kinds)]
    rng = random.Random(f"{seed} {number}")
    original = rng.choice(_originals(kind))
    if kind not in _NOT_JSON and rng.random() < 0.6:
        value = json.loads(original)
        for _ in range(rng.choice((1, 1, 2))):
            value = changed_value(value, rng)
        data = json.dumps(value, separators=(",", ":"), sort_keys=rng.random() < 0.5).encode()
        return kind, data if rng.random() < 0.8 else changed_bytes(data, rng)
    data = changed_bytes(original, rng)
    if kind == "counts" and rng.random() < 0.7:
        # With a valid checksum, so that the code after the check is reached.
        data = data[:-32] + hashlib.sha256(data[:-32]).digest()
    return kind, data


def _run_case(seed: int, number: int, folder: Path) -> tuple[str, int]:
    """Returns the outcome of a case ("loaded", "refused ..." or "FAILED ...") and the size of its file."""
    kind, data = mutant(seed, number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind.startswith("counts"):
                return _use_counts(kind, data, folder), len(data)
            return _use_tokenizer(kind, data, folder), len(data)
    except Exception as error:
        return f"FAILED {type(error).__name__}: {str(error)[:300]}", len(data)


def _use_tokenizer(kind: str, data: bytes, folder: Path) -> str:
    file = folder / kind
    options: dict[str, Any] = {"missing_bytes": "raise"}
    if kind == "gpt2":
        file.mkdir(exist_ok=True)
        vocab, _, merges = data.partition(_SEPARATOR)
        (file / gpt2.VOCAB_NAME).write_bytes(vocab)
        (file / gpt2.MERGES_NAME).write_bytes(merges)
        options["special_tokens"] = ["ab", "<|endoftext|>"]
    else:
        file.write_bytes(data)
        options["format"] = "pairloom" if kind in ("schema 1", "schema 2") else kind
    if kind == "tiktoken":
        options.update(pattern="gpt2", special_tokens=["ab", "<|endoftext|>"])
    try:
        tokenizer = Tokenizer.load(file, **options)
    except PairloomError as error:
        if len(str(error)) > 1500:
            return f"FAILED a message of {len(str(error))} characters"
        if not isinstance(error, (FormatError, PatternError)) or not str(error).startswith(str(file)):
            return f"FAILED {type(error).__name__}: {error}"
        return f"refused {type(error).__name__}"
    for text in (_TEXT, "ab" * 40):
        try:
            ids = tokenizer.encode(text)
        except PairloomError:  # a byte without a token, or a pattern that gave up
            continue
        if tokenizer.is_lossless and tokenizer.decode_bytes(ids) != text.encode():
            return f"FAILED {text!r} is not decoded from its ids"
    for format in WRITABLE:
        target = folder / f"{kind} as {format}"
        try:
            tokenizer.save(target, overwrite=True, format=format)
        except FormatError:
            continue
        if format == "pairloom" and Tokenizer.load(target, missing_bytes="raise") != tokenizer:
            return "FAILED the saved tokenizer is another"
        if format == "pairloom" and kind.startswith("schema") and _said(target.read_bytes()) != _said(data):
            return "FAILED the saved file says something else"
    return "loaded"


def _said(data: bytes) -> dict[str, Any]:
    """A native file's JSON without its ids, which may be written as other runs of the same."""
    value: dict[str, Any] = json.loads(data)
    value.pop("token_ids", None)
    return value


def _use_counts(kind: str, data: bytes, folder: Path) -> str:
    file = folder / ("counts.parquet" if kind == "counts parquet" else "counts")
    file.write_bytes(data)
    try:
        counts = PretokenCounts.load(file)
    except CountsError:
        return "refused CountsError"
    counts.save(file, overwrite=True)
    if PretokenCounts.load(file) != counts:
        return "FAILED the saved counts are others"
    # Refused if the counts were split in another way, or by a pattern that does not compile.
    with contextlib.suppress(PairloomError):
        Tokenizer.train_from_counts(counts, 260, special_tokens=(), corpus_specials="text")
    return "loaded"


# Originals ------------------------------------------------------------------------------------------------------


def _models() -> list[Model]:
    # Among the random ones are some of few tokens, in whose files changes meet all parts.
    return [trained([(97, 98), (32, 256), (99, 100)]), *MODELS.values(), *(random_model(seed) for seed in range(12))]


def _written(write: Callable[[Model], bytes]) -> list[bytes]:
    found = []
    for model in _models():
        try:
            found.append(write(model))
        except FormatError:
            continue
    return found


def _write_gpt2(model: Model) -> bytes:
    files = gpt2.write(model)
    return files[gpt2.VOCAB_NAME] + _SEPARATOR + files[gpt2.MERGES_NAME]


def _tekken() -> list[bytes]:
    listed = [{"rank": 1, "token_str": "<e>", "is_control": True}]
    return [json.dumps(file).encode() for file in (tekken_file(), tekken_file() | {"special_tokens": listed})]


def _pieces() -> list[list[Piece]]:
    return [random_pieces(random.Random(seed)) for seed in range(4)]


def _ggufs() -> list[bytes]:
    found = []
    for pieces in _pieces():
        tokens, scores, kinds = (list(column) for column in zip(*pieces, strict=True))
        found.append(gguf_file(model="llama", tokens=tokens, scores=scores, token_type=kinds))
    letters = [*map(to_alphabet, (bytes((byte,)) for byte in range(256))), "ab", "\u0120ab"]
    found.append(gguf_file(model="gpt2", pre="gpt-2", tokens=letters, merges=["a b", "\u0120 ab"]))
    return found


def _counts(name: str) -> list[bytes]:
    made = [
        PretokenCounts.from_texts(["ab ab ab the cat", "naïve 東京"]),
        PretokenCounts.from_texts(["a<s>b"], special_tokens=["<s>"], corpus_specials="split"),
        PretokenCounts.from_texts([]),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, counts in enumerate(made):
            path = Path(folder) / f"{number}{name}"
            counts.save(path)
            found.append(path.read_bytes())
    return found


_ORIGINALS: dict[str, Callable[[], list[bytes]]] = {
    "schema 1": lambda: [data for data in _written(native.write) if b'"schema_version":1' in data],
    "schema 2": lambda: [data for data in _written(native.write) if b'"schema_version":2' in data],
    "huggingface": lambda: _written(huggingface.write),
    "tiktoken": lambda: _written(tiktoken.write),
    "tekken": _tekken,
    "gpt2": lambda: _written(_write_gpt2),
    "sentencepiece": lambda: [model_file(pieces) for pieces in _pieces()],
    "gguf": lambda: _ggufs(),
    "counts": lambda: _counts(""),
    "counts parquet": lambda: _counts(".parquet"),
}
_NOT_JSON = ("tiktoken", "gpt2", "sentencepiece", "gguf", "counts", "counts parquet")


@cache
def _originals(kind: str) -> list[bytes]:
    return _ORIGINALS[kind]()


# Changes --------------------------------------------------------------------------------------------------------


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Returns a copy of the data with one to three changes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        n = len(changed)
        # Most of a file is its vocabulary or its text, so its start and its end get as many changes.
        at = rng.choice((rng.randrange(n + 1), rng.randrange(min(n, 64) + 1), n - rng.randrange(min(n, 400) + 1)))
        how = rng.randrange(8)
        if how == 0:
            changed[at:at] = rng.choice(_PIECES)
        elif how == 1:
            piece = rng.choice(_PIECES)
            changed[at : at + rng.choice((1, 2, 50, len(piece)))] = piece
        elif how == 2:
            other = rng.randrange(len(changed) + 1)
            changed[at : at + 8], changed[other : other + 8] = changed[other : other + 8], changed[at : at + 8]
        elif how < 6 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif how == 6:
            del changed[at : at + rng.choice((1, 4, 100, n))]
        else:
            # A stretch again and again: many entries, or one that is long.
            stretch = changed[at : at + rng.choice((1, 7, 40))]
            changed[at:at] = stretch * rng.choice((2, 50, 3000))
    return bytes(changed)


def _hostile_value(rng: random.Random) -> Any:
    n = rng.choice((3, 2000, 20_000))
    made = rng.choice(_HOSTILE)
    return made(n) if callable(made) else copy.deepcopy(made)


# Values, and what makes a value of a size.
_HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 255, 256, 257, 2**16, 2**20, 2**24 - 1, 2**24, 2**32, 2**63, 10**40, 0.5, 1e308),
    *("", "a", "ab", " ", "Ġ", "<e>", "é", "\x00", "\ud800", "(a|b)*c", r"\s+$|\w+|\s", "[", "(?<=a)b"),
    *([], {}, [[]], {"type": "ByteLevel"}, {"type": "Sequence", "pretokenizers": []}, {"Regex": "a"}),
    json.loads("[" * 400 + "]" * 400),
    lambda n: "x" * n,
    lambda n: {"x" * n: 5},
    lambda n: [0] * n,
    lambda n: list(range(n)),
    lambda n: [[97, 98] for _ in range(n)],
    lambda n: ["a b"] * n,
    lambda n: {str(number): number for number in range(n)},
    lambda n: {f"<|{number}|>": 300 + number for number in range(n)},
)


def changed_value(value: Any, rng: random.Random) -> Any:
    """Returns a copy of the JSON value with one value, key or entry changed."""
    changed = [copy.deepcopy(value)]
    holder: Any = changed
    place: Any = 0
    # Descends to a random depth; long lists and maps of a vocabulary are chosen no more often than others.
    while isinstance(holder[place], (dict, list)) and holder[place] and rng.random() < 0.85:
        holder = holder[place]
        place = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    how = rng.randrange(6)
    old = holder[place]
    if how == 0 and holder is not changed:
        del holder[place]
    elif how == 1 and type(old) is int:
        holder[place] = rng.choice((old + 1, old - 1, -old, old * 1000, old + 0.5, str(old), 2**24 - 1))
    elif how == 2 and isinstance(old, str):
        many = 3000 if len(old) < _MAX_REPEATED_BYTES else 2
        holder[place] = rng.choice((old * 2, old[:-1], old.upper(), old + " ", old * many, old[::-1]))
    elif how == 3 and isinstance(holder, dict):
        holder[rng.choice(("x", place + "x", "", "merges", "vocab", "x" * 3000))] = old
    elif how == 4 and isinstance(holder, list) and holder is not changed:
        # Not a whole vocabulary 2,000 times, so that files stay below a few megabytes.
        text = json.dumps(old)
        n = rng.choice((1, 2, 2000 if len(text) < _MAX_REPEATED_BYTES else 3))
        holder[place:place] = json.loads(f"[{','.join([text] * n)}]")
    else:
        holder[place] = _hostile_value(rng)
    return changed[0]
