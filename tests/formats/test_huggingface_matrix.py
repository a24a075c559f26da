"""Every combination of splitting steps against HuggingFace's library: the same ids, or refused with the reason."""

import itertools
import json
import random
from typing import Any

import pytest
import tokenizers

from pairloom import FormatError, PatternError, Tokenizer, _core, pretokenize
from pairloom.reference.pretokens import pretokenize as reference_pretokenize
from tests import cases
from tests.formats.models import trained

MERGES = [(97, 98), (32, 97), (97, 97), (32, 32), (256, 256), (49, 50), (46, 46), (10, 10), (98, 46), (99, 49)]
MERGES += [(0xC2, 0xB2), (0xC3, 0xA9), (49, 49), (65, 98)]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
ONIGURUMA = json.loads((cases.TESTDATA / "oniguruma.json").read_text(encoding="utf-8"))
REGEXES = ONIGURUMA["matrix"]
PATTERNS: list[dict[str, str]] = [
    *({"Regex": text} for text in (*REGEXES, "", "(?:)")),
    *({"String": text} for text in ("", "ab", ".", "a|b", "²", "\n")),
]
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
NEWER = "\U00011de0"  # a digit since Unicode 17
LOSES = r"drops parts of the text"


def texts(n: int) -> list[str]:
    rng = random.Random(7)
    alphabet = [*"ab c12.\n-é東_'|]AB²¼東カ\u061d", NEWER]
    alphabet += ["  ", "<s>", "ab", "e\u0301", "👨\u200d👩", "\r\n", "*?", "b]"]
    return ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(n)]


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    model = trained(MERGES, special_tokens={"<s>": 256 + len(MERGES)}, decode_errors="replace")
    found: dict[str, Any] = json.loads(Tokenizer.from_model(model).to_huggingface().to_str())
    return found


def outcome(file: dict[str, Any], pre_tokenizer: dict[str, Any], n_texts: int = 30) -> str:
    """Returns "same", or why it is refused; fails if ids differ, before or after saving."""
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": pre_tokenizer}))
    wanted = [(text, theirs.encode(text).ids) for text in texts(n_texts)]
    try:
        ours = Tokenizer.from_huggingface(theirs)
    except FormatError as error:
        return str(error)
    again = ours.to_huggingface()
    for text, ids in wanted:
        assert ours.encode(text) == ids, (pre_tokenizer, text)
        assert again.encode(text).ids == ids, (pre_tokenizer, text)
    # Only one text, because a pattern is compiled for each.
    text = "".join(text for text, _ in wanted[:20] if NEWER not in text)
    assert pretokenize(text, ours.pattern) == reference_pretokenize(text, ours.pattern), (pre_tokenizer, text)
    assert Tokenizer.from_huggingface(again) == ours
    return "same"


@pytest.mark.long
@pytest.mark.parametrize("split", PATTERNS, ids=str)
def test_split_by_every_behavior(split: dict[str, str], file: dict[str, Any]) -> None:
    for behavior, invert, use_regex in itertools.product(BEHAVIORS, (False, True), (False, True)):
        step = {"type": "Split", "pattern": split, "behavior": behavior, "invert": invert}
        steps = [step, {**BYTE_LEVEL, "use_regex": use_regex}]
        found = outcome(file, {"type": "Sequence", "pretokenizers": steps})
        assert found == "same" or (behavior == "Removed" and LOSES in found), (step, found)


@pytest.mark.parametrize(
    ("regex", "invert", "is_kept"),
    [(r"\w+|[^\w\s]+|\s+", True, True), (r"\w+|\s+", True, False), ("a", False, False), (r"(?=a)", False, False)],
)
def test_what_removes_nothing_between_matches_is_taken(
    regex: str, invert: bool, is_kept: bool, file: dict[str, Any]
) -> None:
    removed = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": invert}
    found = outcome(file, {"type": "Sequence", "pretokenizers": [removed, BYTE_LEVEL]})
    assert found == "same" if is_kept else LOSES in found


def test_white_space_that_two_tokens_take_is_refused_if_found(file: dict[str, Any]) -> None:
    n = len(file["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    taking, beginning = {"content": "<a>", "rstrip": True}, {"content": " <b>", "lstrip": True}

    def ours(taking: dict[str, Any], beginning: dict[str, Any], *, encodes_special: bool = False) -> Tokenizer:
        added = [{**flags, **entry, "id": n + i} for i, entry in enumerate((taking, beginning))]
        theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "added_tokens": added}))
        theirs.encode_special_tokens = encodes_special
        found = Tokenizer.from_huggingface(theirs)
        rng = random.Random(5)
        for _ in range(200):
            text = "".join(rng.choices(["<a>", " <b>", "<b>", " ", "a", "ab"], k=8))
            assert found.encode(text) == theirs.encode(text).ids == found.to_huggingface().encode(text).ids, text
        return found

    with pytest.raises(FormatError, match="loses its position"):
        ours(taking, beginning)
    # Tokens that stay text, or that are found in different passes, never meet.
    ours(taking, beginning, encodes_special=True)
    ours({**taking, "normalized": True}, beginning)
    ours(taking, {**beginning, "normalized": True})
    plain = {"special": False}
    with pytest.raises(FormatError, match="loses its position"):
        ours({**taking, **plain}, {**beginning, **plain}, encodes_special=True)


@pytest.mark.parametrize(
    "step", [{"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}], ids=str
)
def test_classes_hold_the_characters_that_they_hold_there(step: dict[str, Any], file: dict[str, Any]) -> None:
    steps = {"type": "Sequence", "pretokenizers": [step, {**BYTE_LEVEL, "use_regex": False}]}
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": steps}))
    ours = Tokenizer.from_huggingface(theirs)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for at in range(0, len(codes), 20_000):
        sample = "a".join(map(chr, codes[at : at + 20_000]))
        found = [(end - start) for _, (start, end) in theirs.pre_tokenizer.pre_tokenize_str(sample)]
        assert [len(piece.decode()) for piece in pretokenize(sample, ours.pattern)] == found


@pytest.mark.long
@pytest.mark.parametrize("text", ONIGURUMA["classes"])
def test_classes_that_are_respelt_hold_what_they_hold_there(text: str) -> None:
    """Both engines split off the same characters: all below U+3100, and a sample of the others."""
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(text), "isolated")
    ours, _ = _core.read_oniguruma(text)
    try:
        back = tokenizers.pre_tokenizers.Split(tokenizers.Regex(_core.write_oniguruma(ours)[0]), "isolated")
    except PatternError:
        back = theirs
    codes = [*range(0x3100), *range(0x3100, 0x110000, 101)]
    # Each character twice: two matches are two pieces, but unmatched text is one piece.
    characters = [2 * chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for at in range(0, len(characters), 20_000):
        sample = "a".join(characters[at : at + 20_000])
        found = [piece for piece, _ in theirs.pre_tokenize_str(sample)]
        assert [piece.decode() for piece in pretokenize(sample, f"(?:{ours})")] == found
        assert [piece for piece, _ in back.pre_tokenize_str(sample)] == found


@pytest.mark.parametrize(("regex", "what", "at"), ONIGURUMA["refused"])
def test_a_regex_that_is_refused_says_what_stands_where(regex: str, what: str, at: int) -> None:
    with pytest.raises(PatternError) as caught:
        _core.read_oniguruma(regex)
    assert f"{what} at character {at} cannot be read from a tokenizer.json" in str(caught.value)


@pytest.mark.parametrize("regex", ["(?:[ab]+a|[ab]+c)", "a+b?a+(?!c)"])
def test_a_regex_that_one_engine_simplifies_runs_as_written(regex: str) -> None:
    assert _core.read_oniguruma(regex) == (regex, False)
    for text in ("ababcab", "aab", "abaac aabab", "aabaaac"):
        assert pretokenize(text, regex) == reference_pretokenize(text, regex)


@pytest.mark.parametrize("regex", ONIGURUMA["simplified"])
def test_a_regex_that_the_engine_simplifies_is_refused(regex: str) -> None:
    for translate in (_core.read_oniguruma, _core.write_oniguruma):
        with pytest.raises(PatternError, match="simplifies it"):
            translate(regex)


def test_a_regex_longer_than_any_pattern_is_refused_at_once() -> None:
    for translate in (_core.read_oniguruma, _core.write_oniguruma):
        with pytest.raises(PatternError, match="16385 bytes; at most 16384"):
            translate("a" * 16385)


@pytest.mark.parametrize(("ours", "theirs"), ONIGURUMA["written"])
def test_a_pattern_is_written_as_oniguruma_reads_it(ours: str, theirs: str) -> None:
    assert _core.write_oniguruma(ours) == (theirs, False)
