"""SentencePiece vocabularies for the harness `identity`: random ones, and some that are trained here.

A .model file is compared with sentencepiece, a tokenizer.json with tokenizers; without sentencepiece, the former are
skipped.
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

_WORDS = (
    *("the", "of", "hello", "world", "don't", "it's", "12345", "3.14", "foo_bar(x)", "</s>", "<s>", "<unk>", "<0x41>"),
    *("[INST]", "[TOOL_CALLS]", "na\u00efve", "caf\u00e9", "東京", "日本語", "Привет", "नमस्ते", "안녕", "🙂", "e\u0301"),
    *("👨\u200d👩\u200d👧", "ﬁ", "１２", "½", "ß", "İ", "\ufeff", "\u200b", "<|im_start|>", ">▁</", "▁", "▁▁", "▁▁▁▁"),
    *("\x00", "\x7f", "\u0301", "\u2047", "\ufffd", "\uffff", "\U0010ffff", "\u0085", "<0xE2>", "\x1c"),
)


@dataclass(frozen=True)
class Family:
    """A vocabulary: its owner, how pairloom and the owner encode, and how their decoded texts differ, if they do."""

    name: str
    owner: str
    ours: Callable[[list[str]], list[list[int]]]
    theirs: Callable[[str], list[int]]
    decodes_otherwise: Callable[[list[int], random.Random], str | None] = lambda ids, rng: None


def families(seed: int) -> Iterator[Family]:
    """Returns the vocabularies."""
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


def _of_sentencepiece(name: str, data: bytes) -> Family:
    sentencepiece: Any = importlib.import_module("sentencepiece")

    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = Tokenizer.from_model(formats.read("sentencepiece", data))
    # sentencepiece decodes unknown pieces, and the byte of a space, in its own way.
    return _family(name, "sentencepiece", ours, theirs.encode, theirs.decode, {*ours.special_tokens, "<0x20>"})


def _of_tokenizers(name: str, text: str) -> Family:
    import tokenizers

    theirs = tokenizers.Tokenizer.from_str(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = Tokenizer.from_model(formats.read("huggingface", text.encode()))
    return _family(
        name,
        "tokenizers",
        ours,
        lambda text: list(theirs.encode(text, add_special_tokens=False).ids),
        lambda ids: str(theirs.decode(ids, skip_special_tokens=False)),
        set(),
    )


def _family(name: str, owner: str, tokenizer: Tokenizer, encode: Any, decode: Any, differing: set[str]) -> Family:
    """differing: tokens that both decode in their own ways."""
    tokens = formats.huggingface.texts_of(tokenizer.model)
    known = [i for i, text in tokens.items() if text not in differing]
    of_bytes = [i for i in known if tokens[i].startswith("<0x")]

    def decodes_otherwise(ids: list[int], rng: random.Random) -> str | None:
        # The ids of a text, and random ones, which can end within characters.
        mixed = (rng.choice(rng.choice((known, of_bytes or known))) for _ in range(rng.randrange(12)))
        for some in ([each for each in ids if each in known], list(mixed)):
            text = tokenizer.decode(some, skip_special_tokens=owner == "sentencepiece")
            if text != decode(some):
                return f"{some} is {decode(some)!a}, not {text!a}"
        return None

    return Family(name, owner, lambda texts: tokenizer.encode_batch(texts, threads=1), encode, decodes_otherwise)


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
