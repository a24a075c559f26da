"""Random calls of sessions of every kind of tokenizer: after each, the ids are those of the whole text.

Every named pattern, custom patterns of automata and of backtracking, normalisers, rules of special tokens, ranks and
SentencePiece; texts of words, white space, pieces of special tokens and of what normalisers change, and long runs.
"""

import json
import random
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pairloom import SpecialTokenError, Tokenizer
from pairloom.model import SPECIAL_RULES, Model
from pairloom.patterns import PATTERNS
from pairloom.reference.sessions import Session as Oracle
from pairloom.sessions import Session
from tests.formats.models import trained
from tests.formats.test_sentencepiece import USER_DEFINED, load, model_file, random_pieces, tokenizer_json
from tests.soak.harness import Result

SUMMARY = "random calls of sessions; a failure is an id, a change or a text that is not that of the whole text encoded"
QUICK = 2_700
FULL = 200_000

_CALLS_PER_CASE = 50
_MAX_CHARS = 9_000
_SPECIALS = {"<s>": 900, "<s><s>": 901, "word": 902, "rd ": 903, "<|endoftext|>": 904}
_CUSTOM: tuple[Any, ...] = (r"\w+|\s+|[^\w\s]+", r"a*b|a", (r"\p{N}", r" ?\p{L}+"), r"(?=ab)|\s+(?<=a )|[^ ]+")
_PARTS = [*"abcAB79 .,'_\n\té中文🙂，ﬁ\u0301\u2581", "ba", "   a", "</s>", "  ", "\r\n", "'re", " the", "word"]
_PARTS += ["e\u0301", "\u1112\u1161\u11ab"]
_WORDS = ["the cat sat on", " a mat, it's ", "12345 ", "東京都に", "def f(x):\n    return x\n"]


def run(count: int, seed: int) -> Iterator[Result]:
    """Each case makes 50 calls on a few sessions of one tokenizer."""
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        kinds = list(_kinds(Path(name), random.Random(seed)))
        for number in range(-(-count // _CALLS_PER_CASE)):
            kind, make = kinds[number % len(kinds)]
            failure, longest = "", 0
            try:
                longest = _case(make(), random.Random(f"{seed} {number}"))
            except AssertionError as error:
                failure = f"case {number}: {str(error)[:1500]}"
            yield Result(kind, {"calls": _CALLS_PER_CASE}, failure, {"characters at most": longest})


def _kinds(folder: Path, rng: random.Random) -> Iterator[tuple[str, Callable[[], Tokenizer]]]:
    """Each kind of tokenizer, and how one is made."""

    def byte_level(ranks: bool = False, **fields: Any) -> Callable[[], Tokenizer]:
        merges = random.Random(rng.random())

        def make() -> Tokenizer:
            model = trained(_random_merges(merges)).replaced(special_tokens=_SPECIALS, **fields)
            if ranks:
                tokens = model.tokens()
                model = Model.from_tokens(
                    tokens, [], rule="ranks", ignore_merges=True, special_tokens=_SPECIALS, pattern=model.pattern
                )
            return Tokenizer.from_model(model)

        return make

    def sentencepiece(number: int) -> Callable[[], Tokenizer]:
        def make() -> Tokenizer:
            pieces = random_pieces(rng)
            if number == 1:
                pieces = list({piece[0]: piece for piece in [*pieces, ("ba", 0.0, USER_DEFINED)]}.values())
            rules: dict[int, Any] = {3: number % 2, 4: int(number in (2, 4, 5))}
            if number > 3:
                rules[2] = charsmap({"e\u0301": "é", "\t": " ", "ﬁ": "ab", "ba": "é", "\u0301": "", "，": "ba "})
            return load(folder, model_file(pieces, normalizer=rules))

        return make

    def characters(kind: str) -> Tokenizer:
        return load(folder, json.dumps(tokenizer_json(rng, kind)).encode(), "tokenizer.json")

    for name, pattern in PATTERNS.items():
        yield name, byte_level(pattern=pattern)
    for pattern in _CUSTOM:
        yield f"custom {pattern}", byte_level(pattern=pattern)
    for steps in (("nfc",), ("nfd",), ("nfkc",), ("nfkd",), ("prefix_space",), ("nfc", "prefix_space")):
        yield " ".join(steps), byte_level(normalizer=steps)

    def after_space() -> Tokenizer:
        model = characters("prepend").model
        specials = {**model.special_tokens, "word": 9000}
        return Tokenizer.from_model(model.replaced(special_tokens=specials, special_rules=(("word", "after_space"),)))

    yield "word after_space", after_space
    of_bytes = [rule for rule in SPECIAL_RULES if rule != "after_space"]
    for literal in ("<s>", "word"):
        for rule in of_bytes:
            yield f"{literal} {rule}", byte_level(special_rules=((literal, rule),))
    rules = tuple((literal, rule) for literal in ("<s>", "word") for rule in of_bytes if rule != "ordinary")
    yield "all rules", byte_level(special_rules=rules)
    for steps in (("nfc",), ("prefix_space",)):
        yield f"all rules, {steps[0]}", byte_level(special_rules=rules, normalizer=steps)
    yield "ranks", byte_level(ranks=True)
    for number in range(6):
        yield f"SentencePiece {number}", sentencepiece(number)
    for kind in ("prepend", "first", "always", "none"):
        yield f"tokenizer.json, {kind}", partial(characters, kind)


def charsmap(table: dict[str, str]) -> bytes:
    """The table as SentencePiece has it: a trie as a double array of units, and replacements ended by zero bytes."""
    replacements = b"".join(value.encode() + b"\0" for value in table.values())
    starts = {key.encode(): replacements.find(value.encode() + b"\0") for key, value in table.items()}
    units: dict[int, int] = {0: 0}
    bases: set[int] = set()

    def fill(place: int, prefix: bytes) -> None:
        rest = [key[len(prefix) :] for key in starts if key.startswith(prefix)]
        labels = sorted({key[0] if key else 0 for key in rest})
        free = (base for base in range(1, 9999) if base not in bases)
        base = next(base for base in free if all(base ^ label not in units for label in labels))
        bases.add(base)
        units[place] |= (place ^ base) << 10 | (256 if 0 in labels else 0)
        for label in labels:
            units[base ^ label] = label if label else 1 << 31 | starts[prefix]
        for label in labels:
            if label:
                fill(base ^ label, prefix + bytes((label,)))

    fill(0, b"")
    trie = b"".join(struct.pack("<I", units.get(place, 1 << 31)) for place in range(max(units) + 1))
    return struct.pack("<I", len(trie)) + trie + replacements


def _random_merges(rng: random.Random) -> list[tuple[int, int]]:
    """Merges of the characters of the texts, many of them of one letter and of few letters."""
    symbols = [*b"aaaabbbAB c\n", 0xE4, 0xB8, 0xAD, 0xCC, 0x81]
    merges: dict[tuple[int, int], None] = {}
    tokens = {byte: bytes((byte,)) for byte in range(256)}
    known = set(tokens.values())
    while len(merges) < 60:
        pair = rng.choice(symbols), rng.choice(symbols)
        token = tokens[pair[0]] + tokens[pair[1]]
        if token in known or len(token) > 40:
            symbols.append(97)
            continue
        known.add(token)
        tokens[256 + len(merges)] = token
        symbols.append(256 + len(merges))
        merges[pair] = None
    return list(merges)


def _text(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.25:
        return "".join(rng.choices(_PARTS, k=rng.randrange(1, 6)))
    if kind < 0.4:
        literal = rng.choice(list(_SPECIALS))
        return (
            literal[rng.randrange(len(literal)) :] if rng.random() < 0.5 else literal[: rng.randrange(len(literal) + 1)]
        )
    if kind < 0.5:
        return rng.choice(list(_SPECIALS))
    if kind < 0.6:
        return rng.choice(["a", "ab", "abaab", "中", " ", "\n", "="]) * rng.randrange(2, 700)
    words = _WORDS if kind < 0.9 else _PARTS
    return "".join(rng.choices(words, k=rng.randrange(1, 60)))


def _case(tokenizer: Tokenizer, rng: random.Random) -> int:
    options: dict[str, Any] = rng.choice([{}, {}, {"allowed_special": ()}, {"disallowed_special": {"word"}}])
    if "disallowed_special" in options and "word" not in tokenizer.special_tokens:
        options = {}

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, **options)
        return ids

    sessions: list[tuple[Session, Oracle]] = [(tokenizer.session(**options), Oracle(encode))]
    longest = 0
    for _ in range(_CALLS_PER_CASE):
        number = rng.randrange(len(sessions))
        session, oracle = sessions[number]
        before = (oracle.text, oracle.ids)
        kind = rng.random()
        argument: Any
        try:
            if kind < 0.1 and len(sessions) < 4:
                sessions.append((session.fork(), oracle.fork()))
                continue
            if kind < 0.2 or len(oracle.text) > _MAX_CHARS:
                back = len(oracle.text) if rng.random() < 0.1 else min(len(oracle.text), rng.randrange(1, 300))
                call, argument = "truncate", len(oracle.text) - back
                if len(oracle.text) > _MAX_CHARS:
                    argument = rng.randrange(len(oracle.text))
            else:
                call, argument = "append", _text(rng)
            expected = getattr(oracle, call)(argument)
        except SpecialTokenError:
            try:
                getattr(session, call)(argument)
            except SpecialTokenError:
                assert (session.text, session.ids.tolist()) == before, "a call that failed changed the session"
                continue
            raise AssertionError(f"{call}({argument!r}) of {before[0]!r} should have failed") from None
        keep, ids = getattr(session, call)(argument)
        context = json.dumps([call, argument, before[0][-3000:]])
        assert (keep, ids.tolist()) == expected, (context, keep, ids.tolist()[:20], expected[0], expected[1][:20])
        assert session.ids.tolist() == oracle.ids, context
        assert (session.text, session.n_chars, len(session)) == (oracle.text, len(oracle.text), len(oracle.ids)), (
            context
        )
        longest = max(longest, len(oracle.text))
    for session, oracle in sessions:
        assert (session.text, session.ids.tolist()) == (oracle.text, oracle.ids), "a fork has changed"
    return longest
