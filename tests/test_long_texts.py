"""A long text on all threads, and only as much of a text as max_tokens needs, give the ids of the whole text."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import SpecialTokenError, Tokenizer
from pairloom.patterns import PATTERNS
from tests.encoding_calls import streamed
from tests.formats.models import trained
from tests.formats.test_sentencepiece import load, model_file, random_pieces
from tests.soak.sessions import charsmap

SPECIALS = {"<s>": 900, "word": 902, "<|endoftext|>": 904}
MERGES = [(97, 97), (32, 97), (116, 104), (258, 101), (32, 32), (0xC3, 0xA9)]
RULES = tuple(
    (literal, rule) for literal in ("<s>", "word") for rule in ("lstrip", "rstrip", "single_word", "normalized")
)
SETTINGS: list[dict[str, Any]] = [
    *({"pattern": pattern} for pattern in PATTERNS.values()),
    {"pattern": r"\w+|\s+|[^\w\s]+"},
    {"pattern": r"(?=ab)|\s+(?<=a )|[^ ]+"},
    *({"normalizer": steps} for steps in (("nfc",), ("nfkd",), ("nfc", "prefix_space"))),
    {"special_rules": RULES},
]
PARTS = ["the cat ", "ate é, e\u0301 ", "12345 ", "東京。", "\n\n", "  ", "<s>", " word ", "swords", "'s", "a" * 40]
PARTS += ["<|endof", "text|>"]


# The core divides texts of 1 << 19 characters and more.
DIVIDED = 560_000


def text_of(seed: int, n_chars: int) -> str:
    rng = random.Random(seed)
    block = "".join(rng.choices(PARTS, k=3000))
    return (block * (n_chars // len(block) + 1))[:n_chars]


def tokenizer_of(setting: dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_model(trained(MERGES).replaced(special_tokens=SPECIALS, **setting))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_one_text_on_many_threads_has_the_ids_of_one_thread(setting: dict[str, Any], tmp_path: Path) -> None:
    # The end has accents and spaces that no cut may part.
    tokenizer, text = tokenizer_of(setting), text_of(1, DIVIDED) + "e" + "\u0301" * 5000 + " " * 5000 + "words"
    (tmp_path / "text").write_text(text, encoding="utf-8", newline="")
    whole = tokenizer.encode_to_numpy(text, threads=1)
    assert np.array_equal(tokenizer.encode_file(tmp_path / "text", threads=2), whole)
    pieces = [text[at : at + 65_537] for at in range(0, len(text), 65_537)]
    assert list(tokenizer.encode_iterable(pieces)) == whole.tolist()
    for options in ({}, {"allowed_special": {"word"}}, {"allowed_special": ()}):
        ids = tokenizer.encode(text, threads=1, **options)
        assert tokenizer.encode(text, threads=3, **options) == ids
        assert tokenizer.encode_to_numpy(text, threads=2, **options).tolist() == ids
        assert tokenizer.count_tokens(text, threads=5, **options) == len(ids)
    with pytest.raises(SpecialTokenError):
        tokenizer.encode(text, threads=2, allowed_special=(), disallowed_special={"<|endoftext|>"})
    assert tokenizer.encode(text) == tokenizer.encode(text, threads=1)


@pytest.mark.parametrize("replaced", ["", "é.", "京。", "😀."], ids=["ascii", "latin1", "ucs2", "ucs4"])
def test_text_of_each_width_is_divided_alike(replaced: str) -> None:
    text = text_of(3, DIVIDED).encode("ascii", "replace").decode().replace("?", replaced)[:DIVIDED]
    for setting in ({}, {"normalizer": ("nfc",)}, {"special_rules": RULES}):
        tokenizer = tokenizer_of(setting)
        ids = tokenizer.encode(text, threads=1)
        assert tokenizer.encode(text, threads=3) == ids
        assert tokenizer.encode_to_numpy(text, threads=2).tolist() == ids
        assert tokenizer.count_tokens(text, threads=2) == len(ids)
        for at in (0, len(text) // 2, len(text)):
            wrong = f"{text[:at]}\ud800{text[at:]}"
            for call in (tokenizer.encode, tokenizer.encode_to_numpy, tokenizer.count_tokens):
                with pytest.raises(UnicodeEncodeError, match=f"position {at}: surrogates not allowed"):
                    call(wrong, threads=2)


CHARSMAP: Any = charsmap({"a\u0301": "\u00e9", "\n": " ", "x": "a  b"})


@pytest.mark.parametrize("rules", [{}, {4: 1}, {2: CHARSMAP}, {2: CHARSMAP, 4: 1}], ids=["", "collapse", "map", "both"])
@pytest.mark.parametrize("prefix", [None, "dummy_prefix", "first_prefix", "prefix_space"])
def test_sentencepiece_text_is_divided_among_threads(rules: dict[int, Any], prefix: str | None, tmp_path: Path) -> None:
    for seed in range(2):
        rng = random.Random(seed)
        tokenizer = load(tmp_path, model_file(random_pieces(rng), normalizer={3: 1, **rules}))
        if prefix is not None:
            # Special tokens are found, and the text after one may have a prefix, but not each part of the text.
            changed = tokenizer.model.replaced(normalizer=("spaces", prefix), special_rules=())
            tokenizer = Tokenizer.from_model(changed)
        text = "".join(rng.choices([*"ab\u00e9\u4e1c\u2581  x\n\u0301", *(["</s>"] if seed else [])], k=DIVIDED))
        ids = tokenizer.encode_to_numpy(text, threads=1)
        assert np.array_equal(tokenizer.encode_to_numpy(text, threads=3), ids)
        path = tmp_path / "text"
        path.write_text(text, encoding="utf-8", newline="")
        assert np.array_equal(tokenizer.encode_file(path, threads=3), ids)
        assert tokenizer.count_tokens(text, limit=1000) == 1000


def test_text_without_a_cut_is_one_part() -> None:
    tokenizer = tokenizer_of({})
    for text in ("a" * DIVIDED, " " * DIVIDED, "é" * 300_000 + "a, b"):
        assert tokenizer.encode(text, threads=2) == tokenizer.encode(text, threads=1)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_limits_equal_the_beginning_of_the_whole(setting: dict[str, Any]) -> None:
    tokenizer, rng = tokenizer_of(setting), random.Random(2)
    choices: list[dict[str, Any]] = [{}, {"allowed_special": ()}]
    keeps_text = "normalizer" not in setting and "special_rules" not in setting
    for number in range(40):
        text = text_of(number, rng.choice([0, 1, 30, 3000, 40_000]))
        for options in choices:
            ids = tokenizer.encode(text, **options)
            for limit in (0, 1, 2, rng.randrange(1, 300), len(ids) - 1, len(ids), len(ids) + 1):
                limit = max(limit, 0)
                assert tokenizer.count_tokens(text, limit=limit, **options) == min(limit, len(ids))
                if keeps_text:
                    first, n_chars = tokenizer.encode(text, max_tokens=limit, **options)
                    assert first == ids[:limit]
                    whole = text.encode()[: len(tokenizer.decode_bytes(first))].decode(errors="ignore")
                    assert n_chars == len(whole)


def test_limit_of_a_changed_text_says_that_it_has_no_place() -> None:
    tokenizer = tokenizer_of({"normalizer": ("nfc",)})
    assert tokenizer.encode("the cat, a cat", max_tokens=3) == (tokenizer.encode("the cat, a cat")[:3], 5)
    with pytest.raises(ValueError, match="changes the text"):
        tokenizer.encode("e\u0301, the cat", max_tokens=3)
    for most in (9, 2**62):
        assert tokenizer.encode("e\u0301", max_tokens=most)[0] == tokenizer.encode("\u00e9")


def test_limit_reads_the_text_only_as_far_as_it_needs() -> None:
    tokenizer = tokenizer_of({})
    # A lone surrogate at the end is an error only if the call reads that far.
    for beginning in ("the cat ate, ", "東京。the "):
        text = beginning * 50_000 + "\ud800"
        assert tokenizer.count_tokens(text, limit=100) == 100
        assert len(tokenizer.encode(text, max_tokens=100)[0]) == 100
        for call in (tokenizer.count_tokens, tokenizer.encode):
            with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
                call(text)
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            tokenizer.count_tokens(text, limit=10**9)
    with pytest.raises(SpecialTokenError):
        tokenizer.count_tokens("the cat, " * 50_000 + "<s>", limit=1, disallowed_special={"<s>"}, allowed_special=())


def test_stream_after_a_prompt_returns_what_follows() -> None:
    tokenizer = Tokenizer.from_model(trained(MERGES, decode_errors="strict").replaced(special_tokens=SPECIALS))
    ids = [*"the 東京".encode(), 900, *"😀é".encode()]
    for skips in (False, True):
        whole = tokenizer.decode(ids, skip_special_tokens=skips)
        for at in range(len(ids) + 1):
            following = streamed(tokenizer, ids[at:], ids[:at], skip_special_tokens=skips)
            before = tokenizer.decode(ids[:at], "ignore", skip_special_tokens=skips)
            assert before + following == whole
    # The prompt may contain ids that do not decode to text.
    assert streamed(tokenizer, [0xB1], np.array([0xFF, 0xE6, 97, 0xE6, 0x9D])) == "東"
    with pytest.raises(KeyError):
        tokenizer.decode_stream([5000])
    with pytest.raises(TypeError):
        tokenizer.decode_stream(["a"])  # type: ignore[list-item]


def test_stream_drops_a_prefix_space_only_at_the_start(tmp_path: Path) -> None:
    pieces = random_pieces(random.Random(1))
    tokenizer = load(tmp_path, model_file([*pieces, ("\u2581a\u2581b", -3.0, 1)]))
    (space,) = tokenizer.encode(" ", allowed_special=())[:1]
    ids = tokenizer.encode("a b")
    assert tokenizer.decode_stream().push(space) == ""
    for at in range(len(ids) + 1):
        assert tokenizer.decode(ids[:at]) + streamed(tokenizer, ids[at:], ids[:at]) == "a b"


def test_special_before_the_first_word_hides_no_prefix_space(tmp_path: Path) -> None:
    for collapses in (0, 1):
        tokenizer = load(tmp_path, model_file(random_pieces(random.Random(1)), normalizer={3: 1, 4: collapses}))
        ids = [tokenizer.special_tokens["<s>"], *tokenizer.encode("a b")]
        assert tokenizer.decode(ids, skip_special_tokens=True) == "a b"
        assert tokenizer.decode_batch([ids], skip_special_tokens=True) == ["a b"]
        assert streamed(tokenizer, ids[1:], ids[:1], skip_special_tokens=True) == "a b"
