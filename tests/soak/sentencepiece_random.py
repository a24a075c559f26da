"""Random texts through vocabularies of SentencePiece's kind: the ids and the text of their owners' libraries.

A `.model` file is judged by sentencepiece, a tokenizer.json by tokenizers. Vocabularies are random ones, and some
that sentencepiece trains here; without sentencepiece the .model files are left out. Published ones are in
tests/formats/test_sentencepiece.py and tests/parity.
"""

import importlib
import importlib.util
import io
import json
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pairloom import Tokenizer, formats
from tests.formats.test_sentencepiece import model_file, random_pieces, tokenizer_json
from tests.soak.harness import Table

SUMMARY = (
    "random texts and random ids through SentencePiece's BPE against sentencepiece and tokenizers; a failure is another"
    " id or another text"
)
QUICK = 60
FULL = 12_000
"""Texts for each vocabulary."""

_MOST_FAILURES = 5

_WORDS = (
    *("the", "of", "hello", "world", "don't", "it's", "12345", "3.14", "foo_bar(x)", "</s>", "<s>", "<unk>", "<0x41>"),
    *("[INST]", "[TOOL_CALLS]", "na\u00efve", "caf\u00e9", "東京", "日本語", "Привет", "नमस्ते", "안녕", "🙂", "e\u0301"),
    *("👨\u200d👩\u200d👧", "ﬁ", "１２", "½", "ß", "İ", "\ufeff", "\u200b", "<|im_start|>", ">▁</", "▁", "▁▁", "▁▁▁▁"),
    *("\x00", "\x7f", "\u0301", "\u2047", "\ufffd", "\uffff", "\U0010ffff", "\u0085", "<0xE2>", "\x1c"),
)
_SPACES = (
    *("  ", "   ", "\n", "\n\n", "\t", "\r\n", " " * 7, " " * 16, "  \n ", "\u00a0", "\u3000"),
    *(" ",) * 6,
    *("",) * 6,
)
_RANGES = ((0x20, 0x7F), (0x20, 0x250), (0x370, 0x500), (0x4E00, 0x5000), (0xAC00, 0xAD00), (0x1F300, 0x1F650))


@dataclass(frozen=True)
class Case:
    """A vocabulary: its file, and how its owner encodes and decodes."""

    name: str
    tokenizer: Tokenizer
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]
    literals: tuple[str, ...]
    skips_special: bool


def run(count: int, seed: int) -> Table:
    """Runs `count` texts through each vocabulary."""
    table = Table(("vocabulary", "texts", "other ids", "other text", "other text of random ids"))
    for case in cases(seed):
        rng = random.Random(f"{seed} {case.name}")
        wrong = [0, 0, 0]
        for start in range(0, count, 1000):
            texts = [_text(rng, case.literals) for _ in range(min(1000, count - start))]
            for text, found in zip(texts, case.tokenizer.encode_batch(texts), strict=True):
                ids = case.encode(text)
                # What is unknown decodes otherwise in sentencepiece.
                known = [each for each in ids if each in _ids_of(case.tokenizer)[2]]
                any_ids = _random_ids(rng, case.tokenizer, known)
                outcomes = (
                    (found == ids == case.tokenizer.encode(text), f"{text!a} has {ids}, not {found}"),
                    _decoded(case, known),
                    _decoded(case, any_ids),
                )
                for kind, (is_right, failure) in enumerate(outcomes):
                    wrong[kind] += not is_right
                    if not is_right and wrong[kind] <= _MOST_FAILURES:
                        # Other ids come first in what is printed.
                        table.failures.insert(0 if kind == 0 else len(table.failures), f"{case.name}: {failure}")
        table.add(case.name, count, *wrong)
    return table


def _decoded(case: Case, ids: list[int]) -> tuple[bool, str]:
    found, expected = case.tokenizer.decode(ids, skip_special_tokens=case.skips_special), case.decode(ids)
    return found == expected, f"{ids} is {expected!a}, not {found!a}"


def _text(rng: random.Random, literals: tuple[str, ...]) -> str:
    kind = rng.random()
    if kind < 0.1:
        return "".join(rng.choices("ab ▁\u00e9東", k=rng.randrange(30)))
    if kind < 0.25:
        return "".join(chr(rng.randrange(*rng.choice(_RANGES))) for _ in range(rng.randrange(40)))
    if kind < 0.35:
        return rng.choice("aeo =-.東") * rng.randrange(60)
    text = "".join(rng.choice(_WORDS) + rng.choice(_SPACES) for _ in range(rng.randrange(12)))
    if literals and rng.random() < 0.3:
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(literals) + text[at:]
    return text


def _random_ids(rng: random.Random, tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """Ids that no text makes: tokens at random, many of them bytes, and a text that ends within a character."""
    kind = rng.random()
    if kind < 0.3:
        return ids[: rng.randrange(len(ids) + 1)]
    every = _ids_of(tokenizer)
    n = rng.randrange(1, 12)
    if kind < 0.6:
        return rng.choices(every[0], k=n)
    return [rng.choice(every[1] if every[1] and rng.random() < 0.7 else every[0]) for _ in range(n)]


_known: dict[int, tuple[list[int], list[int], frozenset[int]]] = {}


def _ids_of(tokenizer: Tokenizer) -> tuple[list[int], list[int], frozenset[int]]:
    """All ids, those of bytes, and all as a set, without those that sentencepiece decodes otherwise."""
    if id(tokenizer) not in _known:
        _known.clear()
        tokens = formats.huggingface.texts_of(tokenizer.model)
        if tokenizer.decode_errors == "replace_bytes":
            differing = {*tokenizer.special_tokens, "<0x20>"}
            tokens = {i: text for i, text in tokens.items() if text not in differing}
        bytes_alone = [i for i, text in tokens.items() if text.startswith("<0x")]
        _known[id(tokenizer)] = (list(tokens), bytes_alone, frozenset(tokens))
    return _known[id(tokenizer)]


def cases(seed: int) -> Iterator[Case]:
    """The vocabularies."""
    has_owner = importlib.util.find_spec("sentencepiece") is not None
    if importlib.util.find_spec("tokenizers"):
        for kind in ("prepend", "first", "always", "none"):
            for number in range(3):
                file = tokenizer_json(random.Random(f"{seed} {kind} {number}"), kind)
                yield _of_tokenizers(f"random tokenizer.json, {kind}, {number}", json.dumps(file))
    if has_owner:
        for number in range(3):
            pieces = random_pieces(random.Random(number))
            yield _of_sentencepiece(f"random .model {number}", model_file(pieces))
            no_bytes = [piece for piece in pieces if not piece[0].startswith("<0x")]
            yield _of_sentencepiece(f"random .model {number} without bytes", model_file(no_bytes))
        for name, settings in _TRAINED.items():
            yield _of_sentencepiece(f"trained, {name}", _trained(settings))


def _of_sentencepiece(name: str, data: bytes) -> Case:
    sentencepiece: Any = importlib.import_module("sentencepiece")

    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = Tokenizer.from_model(formats.read("sentencepiece", data))
    return Case(name, ours, theirs.encode, theirs.decode, (), skips_special=True)


def _of_tokenizers(name: str, text: str) -> Case:
    import tokenizers

    theirs = tokenizers.Tokenizer.from_str(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = Tokenizer.from_model(formats.read("huggingface", text.encode()))
    return Case(
        name,
        ours,
        lambda text: list(theirs.encode(text, add_special_tokens=False).ids),
        lambda ids: str(theirs.decode(ids, skip_special_tokens=False)),
        tuple(ours.special_tokens)[:40],
        skips_special=False,
    )


_TRAINED: dict[str, dict[str, Any]] = {
    "nfkc": {},
    "user-defined pieces": {"user_defined_symbols": ["<sep>", "ab", "e\u0301x", "12"]},
    "identity": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "no prefix": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "no prefix, extra spaces removed": {"add_dummy_prefix": False},
    "case folded": {"normalization_rule_name": "nmt_nfkc_cf", "split_by_whitespace": False, "split_digits": True},
    "no byte fallback": {"byte_fallback": False},
    "no byte fallback, identity": {
        "byte_fallback": False,
        "normalization_rule_name": "identity",
        "user_defined_symbols": ["ab", "<sep>"],
    },
    "pieces of spaces": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
}


def _trained(settings: dict[str, Any]) -> bytes:
    sentencepiece: Any = importlib.import_module("sentencepiece")

    rng = random.Random(1)
    texts = ["".join(rng.choices(_WORDS, k=8)) + " ".join(rng.choices(_WORDS, k=8)) for _ in range(400)]
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(text.replace("\x00", "") for text in texts),
        model_writer=file,
        vocab_size=620,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
        **{"byte_fallback": True, **settings},
    )
    return file.getvalue()
