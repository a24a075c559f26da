"""The case files of testdata/ as typed objects; testdata/README.md specifies them.

Each list holds cases whose `str` names them in a test run. Nothing here depends on an engine.
"""

import builtins
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
TESTDATA = ROOT / "testdata"
CS336 = ROOT.parent / "shared" / "fixtures" / "cs336"
"""The public files of the CS336 assignment; tests that need them skip where they are absent."""

ENDOFTEXT = "<|endoftext|>"

PROFILES: dict[str, dict[str, Any]] = {
    "bpetite": {
        "pattern": "gpt2",
        "special_tokens": [ENDOFTEXT],
        "special_ids": "last",
        "byte_order": "value",
        "specials_counted": False,
        "corpus_specials": "text",
        "tie_break": "ids_least",
        "min_frequency": 1,
        "max_token_bytes": None,
    },
    "cs336": {
        "pattern": "gpt2",
        "special_tokens": [],
        "special_ids": "after_bytes",
        "byte_order": "value",
        "specials_counted": True,
        "corpus_specials": "split",
        "tie_break": "bytes_greatest",
        "min_frequency": 1,
        "max_token_bytes": None,
    },
    "huggingface": {
        "pattern": "gpt2",
        "special_tokens": [],
        "special_ids": "first",
        "byte_order": "gpt2",
        "specials_counted": True,
        "corpus_specials": "text",
        "tie_break": "ids_least",
        "min_frequency": 1,
        "max_token_bytes": None,
    },
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
    """What all cases have."""

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
class PairCountCase(Case):
    """Words, each ids and occurrences, hold these pairs."""

    words: list[tuple[list[int], int]]
    counts: dict[tuple[int, int], int]


@dataclass(frozen=True)
class BestPairCase(Case):
    """Of these counts this pair is merged next."""

    tie_break: Literal["ids_least", "bytes_greatest", "first_seen"]
    tokens: dict[int, bytes]
    counts: dict[tuple[int, int], int]
    best: tuple[int, int] | None
    min_frequency: int = 1
    max_token_bytes: int | None = None


@dataclass(frozen=True)
class ReplacementCase(Case):
    """Replacing a pair turns ids into the result."""

    ids: list[int]
    pair: tuple[int, int]
    merged_id: int
    result: list[int]


@dataclass(frozen=True)
class TrainingCase(Case):
    """Documents, or counts of pretokens, give these merges and ids, or an error.

    `overrides` is what differs from the profile; `fields` is the profile with that in place. Exactly one of
    `documents` and `counts` is given.
    """

    profile: str
    overrides: dict[str, Any]
    fields: dict[str, Any]
    documents: list[str] | None
    counts: dict[bytes, int] | None
    vocab_size: int
    merges: list[tuple[int, int]] = field(default_factory=list)
    special_tokens: dict[str, int] = field(default_factory=dict)
    tokens: dict[int, bytes] = field(default_factory=dict)
    n_tokens: int = 0
    error: ExpectedError | None = None


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
    """A model, by name, turns text into ids, or raises."""

    model: str
    text: str
    allowed_special: Literal["all"] | list[str]
    disallowed_special: Literal["all"] | list[str]
    ids: list[int]
    decoded: str
    error: ExpectedError | None


@dataclass(frozen=True)
class DecodingCase(Case):
    """A model, by name, turns ids into text, or raises."""

    model: str
    ids: list[int]
    errors: Literal["strict", "replace", "ignore"]
    text: str
    error: ExpectedError | None
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
    error: ExpectedError | None

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
    """All of pretokens.json."""
    return [
        PretokenCase(case["name"], case["pattern"], case["text"], [text.encode() for text in case["pretokens"]])
        for case in _read("pretokens.json")["cases"]
    ]


def document_cases() -> list[DocumentCase]:
    """All of documents.json."""
    return [DocumentCase(**case) for case in _read("documents.json")["cases"]]


def pair_count_cases() -> list[PairCountCase]:
    """The pair counts of steps.json."""
    return [
        PairCountCase(case["name"], [(ids, n) for ids, n in case["words"]], _pair_counts(case["counts"]))
        for case in _read("steps.json")["pair_counts"]
    ]


def best_pair_cases() -> list[BestPairCase]:
    """The best pairs of steps.json."""
    return [
        BestPairCase(
            case["name"],
            case["tie_break"],
            _tokens(case["tokens"]),
            _pair_counts(case["counts"]),
            _pair(case["best"]) if case["best"] is not None else None,
            case.get("min_frequency", 1),
            case.get("max_token_bytes"),
        )
        for case in _read("steps.json")["best_pairs"]
    ]


def replacement_cases() -> list[ReplacementCase]:
    """The replacements of steps.json."""
    return [
        ReplacementCase(case["name"], case["ids"], _pair(case["pair"]), case["merged_id"], case["result"])
        for case in _read("steps.json")["replacements"]
    ]


def training_cases() -> list[TrainingCase]:
    """All of training.json."""
    return [_training_case(case) for case in _read("training.json")["cases"]]


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


def encoding_cases() -> list[EncodingCase]:
    """All of encoding.json."""
    return [
        EncodingCase(
            case["name"],
            case["model"],
            case["text"],
            case.get("allowed_special", "all"),
            case.get("disallowed_special", []),
            case.get("ids", []),
            case.get("decoded", case["text"]),
            _error(case),
        )
        for case in _read("encoding.json")["cases"]
    ]


def decoding_cases() -> list[DecodingCase]:
    """All of decoding.json."""
    return [
        DecodingCase(
            case["name"],
            case["model"],
            case["ids"],
            case["errors"],
            case.get("text", ""),
            _error(case),
            case.get("skip_special_tokens", False),
        )
        for case in _read("decoding.json")["cases"]
    ]


def extending_cases() -> list[ExtendingCase]:
    """All of extending.json."""
    cases = _read("extending.json")["cases"]
    return [ExtendingCase(**{**case, "merges": [tuple(merge) for merge in case["merges"]]}) for case in cases]


def damaged_cases() -> list[DamagedCase]:
    return [
        DamagedCase(case["name"], case["base"], case["changes"], _error(case))
        for case in _read("damaged.json")["cases"]
    ]


def offset_cases() -> list[OffsetCase]:
    """All of offsets.json."""
    return [
        OffsetCase(
            case["name"],
            case["model"],
            case["text"],
            [_pair(span) for span in case["bytes"]],
            [_pair(span) for span in case["chars"]],
            case["starts"],
        )
        for case in _read("offsets.json")["cases"]
    ]


def gpt2_alphabet() -> dict[str, int]:
    """The byte that each character of GPT-2's files stands for."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + n): byte for n, byte in enumerate(others)}


def read_gpt2_merges(path: Path) -> list[tuple[bytes, bytes]]:
    """A merges.txt: a pair a line, in the GPT-2 alphabet, after an optional #version line."""
    alphabet = gpt2_alphabet()
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0].startswith("#version"):
        lines = lines[1:]
    pairs = [line.split(" ") for line in lines if line]
    return [(bytes(alphabet[char] for char in left), bytes(alphabet[char] for char in right)) for left, right in pairs]


def _gpt2_model(name: str, vocab_file: str, merges_file: str, special_tokens: dict[str, int]) -> ModelCase | None:
    if not (CS336 / vocab_file).exists():
        return None
    alphabet = gpt2_alphabet()
    entries = json.loads((CS336 / vocab_file).read_text(encoding="utf-8"))
    id_of_token = {
        bytes(alphabet[char] for char in token): token_id
        for token, token_id in entries.items()
        if token not in special_tokens
    }
    merges = [
        (id_of_token[left], id_of_token[right], id_of_token[left + right])
        for left, right in read_gpt2_merges(CS336 / merges_file)
    ]
    vocab = {token_id: token for token, token_id in id_of_token.items()}
    return ModelCase(name, vocab, merges, special_tokens, "gpt2")


def _training_case(case: dict[str, Any]) -> TrainingCase:
    counts = case.get("counts")
    overrides = case.get("fields", {})
    return TrainingCase(
        name=case["name"],
        profile=case["profile"],
        overrides=overrides,
        fields=PROFILES[case["profile"]] | overrides,
        documents=case.get("documents"),
        counts=None if counts is None else {text.encode(): n for text, n in counts.items()},
        vocab_size=case["vocab_size"],
        merges=[_pair(pair) for pair in case.get("merges", [])],
        special_tokens=case.get("special_tokens", {}),
        tokens=_tokens(case.get("tokens", {})),
        n_tokens=case.get("n_tokens", 0),
        error=_error(case),
    )


def _read(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((TESTDATA / file).read_text(encoding="utf-8"))
    return content


def _tokens(tokens: dict[str, str]) -> dict[int, bytes]:
    return {int(token_id): token.encode("latin-1") for token_id, token in tokens.items()}


def _pair(pair: list[int]) -> tuple[int, int]:
    left, right = pair
    return left, right


def _pair_counts(counts: list[list[int]]) -> dict[tuple[int, int], int]:
    return {(left, right): n for left, right, n in counts}


def _error(case: dict[str, Any]) -> ExpectedError | None:
    if "error" not in case:
        return None
    error_type = getattr(builtins, case["error"]["type"])
    assert issubclass(error_type, Exception)
    return ExpectedError(error_type, case["error"]["mentions"])
