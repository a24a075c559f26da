"""SentencePiece vocabularies for the harness `identity`: random ones, and some that are trained here.

Without sentencepiece there are none. tests/formats/test_sentencepiece.py compares a tokenizer.json with tokenizers.
"""

import importlib
import importlib.util
import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pairloom import Tokenizer, formats
from tests.formats.test_sentencepiece import model_file, random_pieces

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


def families() -> Iterator[Family]:
    """Returns the vocabularies."""
    if importlib.util.find_spec("sentencepiece") is None:
        return
    for number in range(3):
        pieces = random_pieces(random.Random(number))
        yield _family(f"random .model {number}", model_file(pieces))
        no_bytes = [piece for piece in pieces if not piece[0].startswith("<0x")]
        yield _family(f"random .model {number} without bytes", model_file(no_bytes))
    for name, settings in _TRAINED.items():
        yield _family(f"trained, {name}", _trained(settings))


def _family(name: str, data: bytes) -> Family:
    sentencepiece: Any = importlib.import_module("sentencepiece")

    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = Tokenizer.from_model(formats.read("sentencepiece", data))
    tokens = formats.huggingface.texts_of(ours.model)
    # sentencepiece decodes unknown pieces, and the byte of a space, in its own way.
    known = [i for i, text in tokens.items() if text not in {*ours.special_tokens, "<0x20>"}]
    of_bytes = [i for i in known if tokens[i].startswith("<0x")]

    def decodes_otherwise(ids: list[int], rng: random.Random) -> str | None:
        # The ids of a text, and random ones, which can end within characters.
        mixed = (rng.choice(rng.choice((known, of_bytes or known))) for _ in range(rng.randrange(12)))
        for some in ([each for each in ids if each in known], list(mixed)):
            text = ours.decode(some, skip_special_tokens=True)
            if text != theirs.decode(some):
                return f"{some} is {theirs.decode(some)!a}, not {text!a}"
        return None

    return Family(
        name, "sentencepiece", lambda texts: ours.encode_batch(texts, threads=1), theirs.encode, decodes_otherwise
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
