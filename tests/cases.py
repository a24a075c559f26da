"""Loads the case files of testdata/, which testdata/README.md specifies; `str(case)` is its name in a test run."""

import builtins
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from pairloom import Tokenizer
from pairloom.reference.vocabulary import Merge, Model

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = ROOT / "testdata"
CS336 = ROOT.parent / "shared" / "fixtures" / "cs336"
"""The public files of the CS336 assignment; tests that need them skip where they are absent."""


def _read(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((TESTDATA / file).read_text(encoding="utf-8"))
    return content


PROFILES: dict[str, dict[str, Any]] = _read("training.json")["profiles"]
"""What each profile must mean, written down a second time so that the product's own table is checked."""

INPUTS = _read("inputs.json")
REFUSED: dict[str, list[list[Any]]] = {
    kind: [[getattr(builtins, cell, cell) if str(cell).endswith("Error") else cell for cell in row] for row in rows]
    for kind, rows in _read("refused.json").items()
}


class Case(SimpleNamespace):
    """A case; testdata/README.md lists the fields of each file, and _DEFAULTS the values of optional fields."""

    name: str

    def __str__(self) -> str:
        kind = getattr(self, "pattern", None) or getattr(self, "base", None)
        return f"{kind}: {self.name}" if kind else self.name


class ExpectedError(NamedTuple):
    """The built-in class that an error must be an instance of, and what its message must contain."""

    type: type[Exception]
    mentions: list[str]

    def check(self, error: BaseException) -> None:
        """Asserts that the message of a caught error contains everything it must."""
        missing = [part for part in self.mentions if part not in str(error)]
        assert not missing, f"{error!r} does not mention {missing}"


_DEFAULTS: dict[str, dict[str, Any]] = {
    "training": {"fields": {}, "documents": None, "counts": None, "merges": [], "special_tokens": {}, "tokens": {}}
    | {"n_tokens": 0},
    "encoding": {"allowed_special": "all", "disallowed_special": [], "ids": [], "decoded": None},
    "decoding": {"text": "", "skip_special_tokens": False},
    "extending": {"keep_ids": True, "options": {}},
}


def applied(case: Case, file: Any) -> Any:
    """Returns the intact file after a damage case's changes: each a path into the JSON and its new value, if any."""
    changed = json.loads(json.dumps(file))
    for (*way, last), *value in case.changes:
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


def training_cases() -> list[Case]:
    """Returns the `all_fields` of a case: its profile, with the fields that differ replaced."""
    found = cases_of("training")
    for case in found:
        case.all_fields = PROFILES[case.profile] | case.fields
    return found


def damaged_cases(*bases: str) -> list[Case]:
    return [case for case in cases_of("damaged") if case.base in bases]


@cache
def model(name: str) -> Model:
    """One model of models.json; skips the test where its files are absent."""
    found = _read("models.json")["models"][name]
    special_tokens = found["special_tokens"]
    if "files" in found:
        paths = [CS336 / file for file in found["files"]]
        if not paths[0].exists():
            pytest.skip(f"the files of model {name} are not in {CS336}")
        loaded = Tokenizer.from_files(paths[0], paths[1], special_tokens).model
        return Model(loaded.tokens(), [Merge(*merge) for merge in loaded.merges.tolist()], special_tokens)
    merges = [Merge(*merge) for merge in found["merges"]]
    if "vocab" in found:
        vocab = _tokens(found["vocab"])
    else:
        vocab = {byte: bytes([byte]) for byte in range(256)}
        for left, right, merged_id in merges:
            vocab[merged_id] = vocab[left] + vocab[right]
        vocab.update(_tokens(found.get("more", {})))
    return Model(vocab, merges, special_tokens, found.get("pattern", "gpt2"), tuple(found.get("normalizer", ())))


def cases_of(kind: str) -> list[Case]:
    """Returns the cases of a file; fields without a JSON type are converted."""
    usual, converters = {"error": None, **_DEFAULTS.get(kind, {})}, {"error": _error, **_CONVERTERS.get(kind, {})}
    return [
        Case(**usual | {name: converters[name](value) if name in converters else value for name, value in case.items()})
        for case in _read(f"{kind}.json")["cases"]
    ]


def _tokens(tokens: dict[str, str]) -> dict[int, bytes]:
    return {int(token_id): token.encode("latin-1") for token_id, token in tokens.items()}


def _tuples(lists: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in lists]


def _error(error: dict[str, Any]) -> ExpectedError:
    error_type = getattr(builtins, error["type"])
    assert issubclass(error_type, Exception)
    return ExpectedError(error_type, error["mentions"])


_CONVERTERS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "pretokens": {"pretokens": lambda texts: [text.encode() for text in texts]},
    "training": {
        "counts": lambda counts: {text.encode(): n for text, n in counts.items()},
        "merges": _tuples,
        "tokens": _tokens,
    },
    "extending": {"merges": _tuples},
    "offsets": {"bytes": _tuples, "chars": _tuples},
}
