"""The case files of testdata/ as typed objects; testdata/README.md specifies them.

Each list holds cases whose `str` names them in a test run. Nothing here depends on an engine.
"""

import builtins
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pairloom import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = ROOT / "testdata"
CS336 = ROOT.parent / "shared" / "fixtures" / "cs336"
"""The public files of the CS336 assignment; tests that need them skip where they are absent."""

CS336_SAMPLES = [
    "address.txt",
    "german.txt",
    "tinystories_sample.txt",
    "special_token_trailing_newlines.txt",
    "special_token_double_newlines_non_whitespace.txt",
]

ENDOFTEXT = "<|endoftext|>"

_USUAL: dict[str, Any] = {
    "pattern": "gpt2",
    "special_tokens": [],
    "byte_order": "value",
    "specials_counted": True,
    "corpus_specials": "text",
    "tie_break": "ids_least",
    "min_frequency": 1,
    "max_token_bytes": None,
}
PROFILES: dict[str, dict[str, Any]] = {
    "bpetite": {**_USUAL, "special_tokens": [ENDOFTEXT], "special_ids": "last", "specials_counted": False},
    "cs336": {**_USUAL, "special_ids": "after_bytes", "corpus_specials": "split", "tie_break": "bytes_greatest"},
    "huggingface": {**_USUAL, "special_ids": "first", "byte_order": "gpt2"},
}
"""What each profile must mean, written down a second time so that the product's own table is checked."""


@dataclass(frozen=True)
class ExpectedError:
    """The built-in that an error must be an instance of, and what its message must hold."""

    type: type[Exception]
    mentions: list[str]

    def check(self, error: BaseException) -> None:
        """Asserts that the message of a caught error holds everything it must."""
        missing = [part for part in self.mentions if part not in str(error)]
        assert not missing, f"{error!r} does not mention {missing}"


@dataclass(frozen=True)
class Case:
    """What all cases have: a file names the fields, and leaves out those that are as usual."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PretokenCase(Case):
    """Text under a pattern has these pretokens."""

    pattern: str
    text: str
    pretokens: list[bytes]

    def __str__(self) -> str:
        return f"{self.pattern}: {self.name}"


@dataclass(frozen=True)
class DocumentCase(Case):
    """Text is cut at special tokens into these pieces; those that are none are documents."""

    special_tokens: list[str]
    text: str
    pieces: list[str]
    documents: list[str]


@dataclass(frozen=True)
class TrainingCase(Case):
    """Documents, or counts of pretokens, give these merges and ids, or an error.

    `fields` is what differs from the profile. Exactly one of `documents` and `counts` is given.
    """

    profile: str
    vocab_size: int
    fields: dict[str, Any] = field(default_factory=dict)
    documents: list[str] | None = None
    counts: dict[bytes, int] | None = None
    merges: list[tuple[int, int]] = field(default_factory=list)
    special_tokens: dict[str, int] = field(default_factory=dict)
    tokens: dict[int, bytes] = field(default_factory=dict)
    n_tokens: int = 0
    error: ExpectedError | None = None

    @property
    def all_fields(self) -> dict[str, Any]:
        """The profile with what differs in place."""
        return PROFILES[self.profile] | self.fields


@dataclass(frozen=True)
class ModelCase(Case):
    """A model to encode and decode with: vocab without special tokens, merges as (left, right, merged_id)."""

    vocab: dict[int, bytes]
    merges: list[tuple[int, int, int]]
    special_tokens: dict[str, int]
    pattern: str
    normalizer: tuple[str, ...] = ()


@dataclass(frozen=True)
class EncodingCase(Case):
    """A model, by name, turns text into ids, or raises; they decode to the text unless `decoded` says otherwise."""

    model: str
    text: str
    allowed_special: Literal["all"] | list[str] = "all"
    disallowed_special: Literal["all"] | list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    decoded: str | None = None
    error: ExpectedError | None = None


@dataclass(frozen=True)
class DecodingCase(Case):
    """A model, by name, turns ids into text, or raises."""

    model: str
    ids: list[int]
    errors: Literal["strict", "replace", "ignore"]
    text: str = ""
    error: ExpectedError | None = None
    skip_special_tokens: bool = False


@dataclass(frozen=True)
class ExtendingCase(Case):
    """A model, by name, extended by `n_tokens` on documents, has these merges (left, right, merged_id) and ids."""

    model: str
    documents: list[str]
    n_tokens: int
    merges: list[tuple[int, int, int]]
    special_tokens: dict[str, int]
    keep_ids: bool = True
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DamagedCase(Case):
    """A sound file with these changes is refused; a change is a way into the JSON, and the value there or none."""

    base: str
    changes: list[list[Any]]
    error: ExpectedError

    def __str__(self) -> str:
        return f"{self.base}: {self.name}"

    def applied_to(self, file: Any) -> Any:
        """The file with the changes."""
        changed = json.loads(json.dumps(file))
        for (*way, last), *value in self.changes:
            holder = changed
            for key in way:
                holder = holder[key]
            if not value:
                del holder[last]
            elif isinstance(holder, list) and last == len(holder):
                holder.append(value[0])
            else:
                holder[last] = value[0]
        return changed


@dataclass(frozen=True)
class OffsetCase(Case):
    """Under a model, by name, the tokens of text lie in these spans of bytes and characters, and begin there."""

    model: str
    text: str
    bytes: list[tuple[int, int]]
    chars: list[tuple[int, int]]
    starts: list[int]


def pretoken_cases() -> list[PretokenCase]:
    return _cases(PretokenCase, "pretokens.json", pretokens=lambda texts: [text.encode() for text in texts])


def document_cases() -> list[DocumentCase]:
    return _cases(DocumentCase, "documents.json")


def training_cases() -> list[TrainingCase]:
    def counts(given: dict[str, int]) -> dict[bytes, int]:
        return {text.encode(): n for text, n in given.items()}

    return _cases(TrainingCase, "training.json", counts=counts, merges=_tuples, tokens=_tokens)


def encoding_cases() -> list[EncodingCase]:
    return _cases(EncodingCase, "encoding.json")


def decoding_cases() -> list[DecodingCase]:
    return _cases(DecodingCase, "decoding.json")


def extending_cases() -> list[ExtendingCase]:
    return _cases(ExtendingCase, "extending.json", merges=_tuples)


def damaged_cases(*bases: str) -> list[DamagedCase]:
    return [case for case in _cases(DamagedCase, "damaged.json") if case.base in bases]


def offset_cases() -> list[OffsetCase]:
    return _cases(OffsetCase, "offsets.json", bytes=_tuples, chars=_tuples)


@cache
def model(name: str) -> ModelCase | None:
    """One model of models.json; None where its files are absent."""
    found = _read("models.json")["models"][name]
    special_tokens = found["special_tokens"]
    if "files" in found:
        vocab_file, merges_file = found["files"]
        return _gpt2_model(name, vocab_file, merges_file, special_tokens)
    merges = [(left, right, merged_id) for left, right, merged_id in found["merges"]]
    if "vocab" in found:
        vocab = _tokens(found["vocab"])
    else:
        vocab = {byte: bytes([byte]) for byte in range(256)}
        for left, right, merged_id in merges:
            vocab[merged_id] = vocab[left] + vocab[right]
        vocab.update(_tokens(found.get("more", {})))
    return ModelCase(
        name, vocab, merges, special_tokens, found.get("pattern", "gpt2"), tuple(found.get("normalizer", ()))
    )


def _gpt2_model(name: str, vocab_file: str, merges_file: str, special_tokens: dict[str, int]) -> ModelCase | None:
    if not (CS336 / vocab_file).exists():
        return None
    model = Tokenizer.from_files(CS336 / vocab_file, CS336 / merges_file, special_tokens).model
    merges = [(left, right, merged_id) for left, right, merged_id in model.merges.tolist()]
    return ModelCase(name, model.tokens(), merges, special_tokens, "gpt2")


_C = TypeVar("_C", bound=Case)


def _cases(kind: type[_C], file: str, part: str = "cases", **converters: Callable[[Any], Any]) -> list[_C]:
    """The cases of a part of a file; fields that JSON has no types for are converted."""
    converters["error"] = _error
    return [
        kind(**{name: converters[name](value) if name in converters else value for name, value in case.items()})
        for case in _read(file)[part]
    ]


def _read(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((TESTDATA / file).read_text(encoding="utf-8"))
    return content


def _tokens(tokens: dict[str, str]) -> dict[int, bytes]:
    return {int(token_id): token.encode("latin-1") for token_id, token in tokens.items()}


def _tuples(lists: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in lists]


def _error(error: dict[str, Any]) -> ExpectedError:
    error_type = getattr(builtins, error["type"])
    assert issubclass(error_type, Exception)
    return ExpectedError(error_type, error["mentions"])
