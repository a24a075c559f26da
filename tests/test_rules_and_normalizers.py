"""Special tokens with rules, and normalizers: every call applies them alike, like the reference and HuggingFace's."""

import json
import pickle
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from pairloom import FormatError, SpecialTokenError, Tokenizer, _core, formats
from pairloom.model import SPECIAL_RULES, Model
from pairloom.reference import encoder as reference
from pairloom.reference.vocabulary import Model as Oracle
from tests.encoding_calls import check_encoding_calls
from tests.formats.models import trained

MERGES = [(97, 98), (32, 97), (97, 97), (32, 32), (0xC3, 0xA9), (0xCC, 0x81), (101, 261), (102, 105)]
SPECIALS = {"<m>": 270, "word": 271, "<": 272, "rd ": 273, "<s>": 274, "[x]": 275}
RULES: list[tuple[tuple[str, str], ...]] = [
    (("<m>", "lstrip"),),
    (("<m>", "lstrip"), ("<m>", "rstrip"), ("<s>", "rstrip")),
    (("word", "single_word"),),
    (("<", "normalized"), ("word", "normalized"), ("word", "single_word"), ("word", "lstrip")),
    (("<s>", "ordinary"), ("word", "ordinary")),
    (("<", "nfc"), ("word", "nfc"), ("<s>", "nfc")),
    tuple((literal, rule) for literal in ("<m>", "word") for rule in SPECIAL_RULES if rule != "after_space"),
]
STEPS: list[tuple[str, ...]] = [
    *(("nfc",), ("nfd",), ("nfkc",), ("nfkd",), ("prefix_space",), ("nfc", "prefix_space"), ("nfkd", "nfc"))
]
SETTINGS = [*({"special_rules": rules} for rules in RULES), *({"normalizer": steps} for steps in STEPS)]
CHARACTERS = [*"ab_.é \n", "  ", "\u3000", "\u0338", "\u0301", "\u0323", *SPECIALS, "<m> ", " word "]
CHANGED = [*"aeé ﬁ>Å①가각東\n", *"\u0301\u0338\u0327\u00a0\u212b\u1100\u1161\u11a8\u037e", "ascii text ", "<s>", "[x]"]


def texts(seed: int, characters: list[str] = CHARACTERS, n: int = 150) -> list[str]:
    rng = random.Random(seed)
    return ["", *("".join(rng.choices(characters, k=rng.randrange(1, 40))) for _ in range(n))]


def model_of(**setting: Any) -> Model:
    return trained(MERGES, special_tokens=SPECIALS, decode_errors="replace").replaced(**setting)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_road_gives_the_ids_of_the_reference(setting: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_model(model_of(**setting))
    plain = Oracle.of_bytes(MERGES)
    oracle = Oracle(plain.vocab, plain.merges, SPECIALS, **setting)
    found = texts(1, CHANGED if "normalizer" in setting else CHARACTERS)
    encode_ordinary = partial(reference.encode, model=oracle, allowed_special=())
    check_encoding_calls(tokenizer, found, partial(reference.encode, model=oracle), encode_ordinary, tmp_path)
    assert list(map(tokenizer.as_tiktoken().encode_ordinary, found)) == list(map(encode_ordinary, found))
    some = [reference.encode(text, oracle, allowed_special={"word", "<s>"}) for text in found]
    assert [tokenizer.encode(text, allowed_special={"word", "<s>"}) for text in found] == some
    for text in found:
        try:
            reference.encode(text, oracle, disallowed_special={"word"})
        except ValueError as error:
            with pytest.raises(SpecialTokenError, match="word"):
                tokenizer.encode(text, disallowed_special={"word"})
            assert "'word'" in str(error)
        else:
            tokenizer.encode(text, disallowed_special={"word"})


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_rules_and_normalizers_are_a_part_of_the_tokenizer(setting: dict[str, Any], tmp_path: Path) -> None:
    tokenizer, plain = Tokenizer.from_model(model_of(**setting)), Tokenizer.from_model(model_of())
    assert tokenizer != plain and plain.special_rules == {} and plain.normalizer is None and plain.is_lossless
    assert "special_rules" not in repr(plain) and "normalizer" not in repr(plain)
    rules, steps = setting.get("special_rules", ()), setting.get("normalizer", ())
    assert {(literal, rule) for literal, each in tokenizer.special_rules.items() for rule in each} == set(rules)
    assert tokenizer.normalizer == (steps[0] if len(steps) == 1 else steps or None)
    assert repr(tokenizer.special_rules if rules else tokenizer.normalizer) in repr(tokenizer)
    assert tokenizer.is_lossless == (not steps and not {"lstrip", "rstrip"} & {rule for _, rule in rules})
    tokenizer.save(tmp_path / "model.json")
    assert Tokenizer.load(tmp_path / "model.json") == pickle.loads(pickle.dumps(tokenizer)) == tokenizer
    more = tokenizer.add_special_tokens(["<new>"])
    assert (more.special_rules, more.normalizer) == (tokenizer.special_rules, tokenizer.normalizer)
    if steps:
        assert plain.with_normalizer(steps) == tokenizer and tokenizer.with_normalizer(None) == plain


def test_other_things_that_make_a_tokenizer_not_lossless() -> None:
    tokenizer = Tokenizer.from_model(model_of(special_rules=(("word", "any_case"),)))
    assert tokenizer.decode(tokenizer.encode("a WORD")) == "a word" and not tokenizer.is_lossless
    assert not Tokenizer({0: b"a"}, [], missing_bytes="raise").is_lossless


@pytest.mark.parametrize("literal", ["<tool>", "obs", " a=", "[x]"])
def test_added_tokens_are_found_after_nfc_as_in_tokenizers(literal: str, tmp_path: Path) -> None:
    # The result of add_tokens(["<tool>"]) on Qwen's tokenizer: non-special tokens are "normalized" by default.
    file = json.loads(formats.huggingface.write(trained(MERGES, decode_errors="replace")))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file | {"normalizer": {"type": "NFC"}}))
    theirs.add_tokens([literal])
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = Tokenizer.load(tmp_path)
    rng = random.Random(literal)
    parts = [literal, literal, literal[:-1], "\u0338", "\u0323", "\u0301", "\u0334", "e", "\u015b", " ", "<", "\u226f"]
    for _ in range(300):
        text = "".join(rng.choices(parts, k=rng.randrange(1, 7)))
        assert ours.encode(text) == theirs.encode(text).ids, text
        session = ours.session(text[:3])
        session.append(text[3:])
        assert session.ids.tolist() == ours.encode(text)
    ours.save(tmp_path / "saved.json", format="huggingface")
    assert Tokenizer.load(tmp_path / "saved.json") == ours


@pytest.mark.parametrize("form", ["nfc", "nfd", "nfkc", "nfkd"])
def test_each_form_is_that_of_tokenizers_and_the_reference(form: str) -> None:
    theirs = getattr(tokenizers.normalizers, form.upper())()
    points = [point for point in range(0x80, 0x20000) if not 0x3400 <= point < 0xA000 and not 0xAC00 <= point < 0xF900]
    for context in ("{}\u0301\u0323", "a\u0301{}", "a{}\u0334"):
        texts = [context.format(chr(point)) for point in points]
        ours = _core.normalized(texts, [form])
        assert ours == [theirs.normalize_str(text) for text in texts], context
        assert ours[::7] == [reference.normalize(text, [form]) for text in texts[::7]], context


def test_unknown_rules_are_refused() -> None:
    for rules, error in (((("<m>", "strip"),), ValueError), ((("<x>", "lstrip"),), ValueError), (("ab",), TypeError)):
        with pytest.raises(error, match="rule"):
            model_of(special_rules=rules)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("NFC", ValueError),
        (("prefix_space", "nfc"), ValueError),
        (("nfc",) * 6, ValueError),
        (5, TypeError),
        ((5,), ValueError),
        ({"nfc"}, TypeError),
    ],
)
def test_other_normalisers_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="normalizer"):
        Tokenizer.from_model(model_of()).with_normalizer(given)


@pytest.mark.parametrize(
    ("setting", "kept", "changed", "message"),
    [
        ({"special_rules": RULES[0]}, "a<m>b", "a <m>b", "absorb white space of 'a <m>b' "),
        ({"normalizer": ("nfc",)}, "é<s>a", "e\u0301", "the normalizer 'nfc' changes the text"),
    ],
)
def test_offsets_of_a_text_that_is_changed_are_refused(setting: Any, kept: str, changed: str, message: str) -> None:
    tokenizer = Tokenizer.from_model(model_of(**setting))
    assert tokenizer.encode_with_offsets(kept)[1].tolist() == [[0, 1], [1, 4], [4, 5]]
    for call in (tokenizer.encode_with_offsets, lambda text: tokenizer.encode_batch_with_offsets(["", text])):
        with pytest.raises(ValueError, match=message):
            call(changed)


def test_encode_special_tokens_of_an_object_is_kept(tmp_path: Path) -> None:
    theirs = Tokenizer.from_model(trained(MERGES, special_tokens={}, decode_errors="replace")).to_huggingface()
    theirs.add_special_tokens(["<s>"])
    theirs.add_tokens(["word"])
    theirs.add_special_tokens(["s>wo"])
    theirs.encode_special_tokens = True
    ours = Tokenizer.from_huggingface(theirs)
    again = ours.to_huggingface()
    assert again.encode_special_tokens
    for text in (*texts(4), "<s>word", "s>word", "<s> words"):
        ids = theirs.encode(text).ids
        assert ours.encode(text) == ids and again.encode(text).ids == ids, text
    assert (
        ours.encode("<s>", allowed_special={"<s>"}) == [256 + len(MERGES)] and ours.decode([256 + len(MERGES)]) == "<s>"
    )
    assert Tokenizer.from_huggingface(again) == ours
    with pytest.raises(FormatError, match="stays text: save as 'pairloom'"):
        ours.save(tmp_path / "tokenizer.json", format="huggingface")
    theirs.encode_special_tokens = False
    transformers = pytest.importorskip("transformers", reason="wraps the tokenizer with transformers")
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=theirs)
    wrapped.split_special_tokens = True
    assert Tokenizer.from_huggingface(wrapped).encode("<s>") == wrapped.encode("<s>", add_special_tokens=False)
