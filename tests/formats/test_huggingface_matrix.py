"""Every combination of splitting steps against HuggingFace's library: the same ids, or refused with the reason."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
import regex
import tokenizers

from pairloom import FormatError, Tokenizer, pretokenize
from pairloom.formats.shared.oniguruma import can_match_nothing, from_oniguruma, to_oniguruma
from tests.formats.models import trained

MERGES = [(97, 98), (32, 97), (97, 97), (32, 32), (256, 256), (49, 50), (46, 46), (10, 10), (98, 46), (99, 49)]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PATTERNS: list[dict[str, str]] = [
    *({"Regex": text} for text in (r"\s+", "[ab]", r"\p{N}{1,3}", "a*", r"(?=b)", r"(?i:A)b?|1$", r"a{1,2}+")),
    {"Regex": r" ?\p{L}+|[^\s\p{L}]+|\s+(?!\S)|\s+"},
    {"Regex": r"(?<=b)[^b]+|b(?!b)"},
    *(
        {"Regex": text}
        for text in (r"\w+|\h", r"[\w']+", r"\W", r"[^\W\d]+", r"\ba|c\b", r"\B.", r"(?m:a.)", r"(?m).\n|b.", r"\H")
    ),
    *({"String": text} for text in ("ab", ".", "a|b")),
]
BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
LOSES = r"leaves parts of the text out"
EMPTY = r"can match nothing"


def texts(n: int) -> list[str]:
    rng = random.Random(7)
    return ["".join(rng.choices([*"ab c12.\n-é東_'|", "  ", "<s>", "ab"], k=rng.randrange(30))) for _ in range(n)]


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    model = trained(MERGES, special_tokens={"<s>": 256 + len(MERGES)}, decode_errors="replace")
    found: dict[str, Any] = json.loads(Tokenizer.from_model(model).to_huggingface().to_str())
    return found


def outcome(file: dict[str, Any], pre_tokenizer: dict[str, Any], n_texts: int = 200) -> str:
    """ "same", or why it is refused; fails where ids differ, before or after saving."""
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": pre_tokenizer}))
    try:
        ours = Tokenizer.from_huggingface(theirs)
    except FormatError as error:
        return str(error)
    again = ours.to_huggingface()
    for text in texts(n_texts):
        ids = theirs.encode(text).ids
        assert ours.encode(text) == ids, (pre_tokenizer, text)
        assert again.encode(text).ids == ids, (pre_tokenizer, text)
    assert Tokenizer.from_huggingface(again) == ours
    return "same"


@pytest.mark.parametrize("split", PATTERNS, ids=str)
def test_split_by_every_behavior(split: dict[str, str], file: dict[str, Any]) -> None:
    for behavior, invert, use_regex in itertools.product(BEHAVIORS, (False, True), (False, True)):
        step = {"type": "Split", "pattern": split, "behavior": behavior, "invert": invert}
        steps = [step, {**BYTE_LEVEL, "use_regex": use_regex}]
        found = outcome(file, {"type": "Sequence", "pretokenizers": steps})
        if "Regex" in split and split["Regex"] in ("a*", "(?=b)"):
            assert EMPTY in found, (step, found)
        elif behavior == "Removed":
            assert LOSES in found, (step, found)
        else:
            assert found == "same", (step, found)


def test_byte_level_alone_and_digits(file: dict[str, Any]) -> None:
    for use_regex, prefix in itertools.product((True, False), (True, False)):
        assert outcome(file, {**BYTE_LEVEL, "use_regex": use_regex, "add_prefix_space": prefix}) == "same"
    for individual, use_regex in itertools.product((True, False), (True, False)):
        steps = [{"type": "Digits", "individual_digits": individual}, {**BYTE_LEVEL, "use_regex": use_regex}]
        assert outcome(file, {"type": "Sequence", "pretokenizers": steps}) == "same"


def test_two_splits_in_turn(file: dict[str, Any]) -> None:
    kept = [split for split in PATTERNS if split.get("Regex") not in ("a*", "(?=b)")]
    rng = random.Random(3)
    for _ in range(40):
        steps = [
            {
                "type": "Split",
                "pattern": rng.choice(kept),
                "behavior": rng.choice([each for each in BEHAVIORS if each != "Removed"]),
                "invert": rng.random() < 0.5,
            }
            for _ in range(2)
        ]
        steps.append({**BYTE_LEVEL, "use_regex": rng.random() < 0.5})
        assert outcome(file, {"type": "Sequence", "pretokenizers": steps}, 60) == "same"


@pytest.mark.parametrize(
    "text", [r"\w", r"\W", r"[\w]", r"[^\w]", r"[\W]", r"[^\W]", r"[\w.]", r"\h", r"\H", r"[\h]", r"a\b.", r"a\B."]
)
def test_rewritten_classes_hold_the_characters_that_they_hold_there(text: str) -> None:
    """Both engines split the same characters off: all below U+2000, and a sample of the others."""
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(text), "isolated")
    ours = from_oniguruma(text)
    back = tokenizers.pre_tokenizers.Split(tokenizers.Regex(to_oniguruma(ours)), "isolated")
    codes = [*range(0x2000), *range(0x2000, 0x110000, 47)]
    characters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for at in range(0, len(characters), 2_000):
        sample = "a".join(characters[at : at + 2_000])
        found = [piece for piece, _ in theirs.pre_tokenize_str(sample)]
        assert [piece.decode() for piece in pretokenize(sample, ours)] == found
        assert [piece for piece, _ in back.pre_tokenize_str(sample)] == found


def test_patterns_that_can_match_nothing_are_all_found() -> None:
    rng = random.Random(1)
    plain = ["a", "b", "[ab]", r"\s", "(?=a)", "(?!b)", "^", "$", r"\z", "(?<=a)"]

    def group(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.4:
            return rng.choice(plain)
        if kind < 0.7:
            return f"(?:{group(depth - 1)}|{group(depth - 1)})"
        return f"(?>{group(depth - 1)})" if kind < 0.8 else group(depth - 1) + group(depth - 1)

    def atom() -> str:
        text = group(2)
        quantifier = rng.choice(["*", "+", "?", "{0,2}", "{1,2}", "*?", "++", "{2}"])
        return f"(?:{text}){quantifier}" if rng.random() < 0.5 else text

    n_empty = 0
    for _ in range(3000):
        pattern = "".join(atom() for _ in range(rng.randrange(1, 3)))
        try:
            compiled = regex.compile(pattern.replace(r"\z", r"\Z"))
        except regex.error:
            continue
        samples = ["", "a", "b", "ab", "ba", " ", "aab", "bb a"]
        if any(not match.group() for text in samples for match in compiled.finditer(text)):
            n_empty += 1
            assert can_match_nothing(pattern), pattern
    assert n_empty > 500
