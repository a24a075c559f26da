"""Ids equal those of the owners' libraries, over as much text as there is time for, with a running total.

Seeded text is encoded by pairloom and by the library that owns each vocabulary: tiktoken, tokenizers, sentencepiece.
`--total FILE` keeps the sum of all runs in a file, written after each round, and starts where the last run of the same
seed stopped: `make soak ARGS="identity --total identity-total.json"` may be killed and started again at any time.
Some vocabularies are trained here; from a count of 10 on, those of tests/parity/packages.txt are used too.
"""

import importlib
import importlib.util
import io
import json
import os
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pairloom import Tokenizer, formats
from pairloom.patterns import PATTERNS
from tests.cases import INPUTS
from tests.formats.test_sentencepiece import model_file, random_pieces
from tests.parity import prose, texts
from tests.parity.real_vocabularies import VOCABULARIES, Vocabulary, loaded, tiktoken_encoding
from tests.soak.harness import Result

SUMMARY = "seeded text against tiktoken, tokenizers and sentencepiece; a failure is other ids, or another text of them"
QUICK = 1
FULL = 1_000_000
"""Rounds, in each of which every vocabulary encodes a block of text: more than anybody waits for."""

total_file: Path | None = None
"""The file of the running total, or None."""

_MIN_COUNT_FOR_PUBLISHED = 10
_CHARACTERS = {"tiktoken": 2_000_000, "tokenizers": 500_000, "sentencepiece": 200_000}
"""How much text a round has for each vocabulary of an owner: the faster, the more. A quick round has a fiftieth."""
_LITERALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eot|>", "<|eot|>x", "</s>", "<unk>")
_FEW = "ab \u00e9\u4e1c\u2581"
"""The characters of the random vocabularies of SentencePiece's kind."""


@dataclass(frozen=True)
class Family:
    """A vocabulary: its owner, how pairloom and the owner encode, and how their decoded texts differ, if they do."""

    name: str
    owner: str
    ours: Callable[[list[str]], list[list[int]]]
    theirs: Callable[[str], list[int]]
    decodes_otherwise: Callable[[list[int], random.Random], str | None] = lambda ids, rng: None


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` rounds, and adds them to those in the file of the total."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    rounds: dict[str, int] = {}
    found: list[Result] = []
    if total_file is not None and total_file.exists():
        rounds, rows = json.loads(total_file.read_text())
        found = [Result(*row) for row in rows]
        yield from found
    vocabularies = list(_families(count))
    for _ in range(count):
        number = rounds.get(str(seed), 0)
        for family in vocabularies:
            found.append(_round(family, number, seed, is_quick=count < _MIN_COUNT_FOR_PUBLISHED))
            yield found[-1]
        rounds[str(seed)] = number + 1
        if total_file is not None:
            new = total_file.with_name(total_file.name + ".new")
            new.write_text(json.dumps([rounds, found]))
            new.replace(total_file)


def _round(family: Family, number: int, seed: int, is_quick: bool) -> Result:
    key = f"{family.name}, {family.owner}"
    rng = random.Random(f"{seed} {key} {number}")
    given = list(documents(rng, _CHARACTERS[family.owner] // (50 if is_quick else 1)))
    n_tokens, failures = 0, []
    for text, found in zip(given, family.ours(given), strict=True):
        ids = family.theirs(text)
        n_tokens += len(ids)
        other_text = family.decodes_otherwise(ids, rng)
        if found != ids or other_text:
            failures.append(other_text if found == ids else ascii(shortest(family, text)))
    counts = {"documents": len(given), "tokens": n_tokens, "divergences": len(failures)}
    return Result(key, counts, f"round {number}: {failures[0]}" if failures else "")


def shortest(family: Family, text: str) -> str:
    """Returns a minimal part of the text that still has different ids."""
    size = len(text)
    while size := size // 2:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if family.ours([shorter])[0] != family.theirs(shorter):
                text = shorter
            else:
                at += size
    return text


def _families(count: int) -> Iterator[Family]:
    for pattern, text in PATTERNS.items():
        tokenizer = _trained(pattern)
        if isinstance(text, str):
            yield _of_tokenizer(f"trained, {pattern}", "tiktoken", tokenizer, _in_tiktoken(tokenizer.to_tiktoken()))
        yield _of_huggingface(f"trained, {pattern}", tokenizer)
    for vocabulary in VOCABULARIES if count >= _MIN_COUNT_FOR_PUBLISHED else ():
        if vocabulary.path is not None:
            yield from of_published(vocabulary)
    yield from _of_sentencepiece()


def of_published(vocabulary: Vocabulary) -> Iterator[Family]:
    """Returns a published vocabulary by its owner's library and, if that is tiktoken, by HuggingFace's."""
    path, name = vocabulary.path, vocabulary.name
    assert path is not None
    if vocabulary.kind == "tokenizers":
        import tokenizers

        whole = tokenizers.Tokenizer.from_file(str(path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer = Tokenizer.load(path)
        yield _of_tokenizer(
            name, "tokenizers", tokenizer, lambda text: whole.encode(text, add_special_tokens=False).ids
        )
        return
    specials: dict[str, int] = {}
    if vocabulary.kind == "tiktoken":
        n = loaded(vocabulary).n_vocab
        specials = vocabulary.load.get("special_tokens", {}) | {text: n + i for i, text in enumerate(_LITERALS[1:4])}
    elif vocabulary.kind == "gpt2":
        specials = {"<|endoftext|>": 50256}
    tokenizer = loaded(vocabulary, specials or None)
    encoding = tiktoken_encoding(vocabulary, specials)
    if vocabulary.kind == "tekken":  # its special tokens are not text
        yield Family(name, "tiktoken", tokenizer.encode_ordinary_batch, encoding.encode_ordinary)
        return
    yield _of_tokenizer(name, "tiktoken", tokenizer, _in_tiktoken(encoding))
    yield _of_huggingface(name, tokenizer)


def _of_tokenizer(name: str, owner: str, tokenizer: Tokenizer, theirs: Callable[[str], list[int]]) -> Family:
    return Family(name, owner, lambda texts: tokenizer.encode_batch(texts, threads=1), theirs)


def _of_huggingface(name: str, tokenizer: Tokenizer) -> Family:
    whole = tokenizer.to_huggingface()
    return _of_tokenizer(name, "tokenizers", tokenizer, lambda text: whole.encode(text, add_special_tokens=False).ids)


def _in_tiktoken(encoding: Any) -> Callable[[str], list[int]]:
    return lambda text: encoding.encode(text, allowed_special="all", disallowed_special=())


def _trained(pattern: str) -> Tokenizer:
    corpus = [*texts.library_files(400_000), *texts.languages(200_000)]
    return Tokenizer.train(corpus, 3000, pattern=pattern, special_tokens=_LITERALS[:3])


_WORDS = (
    *("the", "of", "hello", "world", "don't", "it's", "12345", "3.14", "foo_bar(x)", "</s>", "<s>", "<unk>", "<0x41>"),
    *("[INST]", "[TOOL_CALLS]", "na\u00efve", "caf\u00e9", "東京", "日本語", "Привет", "नमस्ते", "안녕", "🙂", "e\u0301"),
    *("👨\u200d👩\u200d👧", "ﬁ", "１２", "½", "ß", "İ", "\ufeff", "\u200b", "<|im_start|>", ">▁</", "▁", "▁▁", "▁▁▁▁"),
    *("\x00", "\x7f", "\u0301", "\u2047", "\ufffd", "\uffff", "\U0010ffff", "\u0085", "<0xE2>", "\x1c"),
)


def _of_sentencepiece() -> Iterator[Family]:
    """Random vocabularies, and some that are trained here, but none without sentencepiece.

    tests/formats/test_sentencepiece.py compares the same kind of tokenizer.json with tokenizers.
    """
    if importlib.util.find_spec("sentencepiece") is None:
        return
    for number in range(3):
        pieces = random_pieces(random.Random(number))
        yield _of_model_file(f"random .model {number}", model_file(pieces))
        no_bytes = [piece for piece in pieces if not piece[0].startswith("<0x")]
        yield _of_model_file(f"random .model {number} without bytes", model_file(no_bytes))
    for name, settings in INPUTS["sentencepiece"].items():
        yield _of_model_file(f"trained, {name}", _model_file(settings))


def _of_model_file(name: str, data: bytes) -> Family:
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


def _model_file(settings: dict[str, Any]) -> bytes:
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


@cache
def _sources() -> tuple[str, ...]:
    """Real texts: Python's library, sixteen alphabets, and prose if it was fetched."""
    return (*texts.library_files(9_000_000), *texts.languages(2_000_000), *prose.documents())


@cache
def _words() -> list[str]:
    rng = random.Random(0)
    words = [word for line in texts.ALPHABETS.values() for word in line.split(" ")]
    for text in rng.choices(_sources(), k=500):
        start = rng.randrange(len(text) + 1)
        words += text[start : start + 2000].split(" ")
    return words


def documents(rng: random.Random, n_characters: int) -> Iterator[str]:
    """Returns texts of all kinds, with this many characters in all."""
    while n_characters > 0:
        text = _document(rng)
        n_characters -= len(text) + 1
        yield text


def _document(rng: random.Random) -> str:
    kind, size = rng.random(), int(4 * 1000 ** rng.random())
    if kind < 0.5:
        text = rng.choice(_sources())
        start = rng.randrange(len(text) + 1)
        text = text[start : start + size]
    elif kind < 0.8:
        text = " ".join(rng.choices(_words(), k=size // 6 + 1))
    elif kind < 0.9:
        parts = rng.choices((*texts.HOSTILE, *_LITERALS, *rng.choices(_words(), k=20)), k=size % 9)
        text = "".join(part[: rng.randrange(1, 200)] for part in parts)
    elif kind < 0.97:
        text = "".join(rng.choices(rng.choice((texts.TURNING, _FEW)), k=size // 8))
    else:
        text = "".join(next(iter(texts.random_texts(rng.randrange(1 << 30), 1))) for _ in range(size // 40))
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        what = rng.choice(
            (*_LITERALS, "", " ", "  ", "\n", "\r\n", rng.choice(texts.TURNING), text[at : at + 9].upper())
        )
        text = text[:at] + what + text[at + rng.randrange(4) :]
    return text
