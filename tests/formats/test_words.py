"""tokenizer.json files that drop white space: an unk_token over characters, and CLIP's words that end in </w>."""

import json
import pickle
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from pairloom import FormatError, Tokenizer, _core
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom.dropin.tokenizers import Tokenizer as DropIn
from pairloom.reference import encoder as reference
from pairloom.reference.characters import CharacterModel, encode_characters
from pairloom.reference.vocabulary import Merge, Model
from tests.encoding_calls import check_encoding_calls, streamed
from tests.formats.test_sentencepiece import KINDS, tokenizer_json

pytestmark = pytest.mark.filterwarnings("ignore:a character without a token becomes")

SYMBOL = "\u2581"
_PARTS = [*"aabbcc  .,'1\n\t\u00e9\u0130\u03a3\u6771\U0001f642\u3000", SYMBOL, "AB", "e\u0301", "[U]"]
_PARTS += ["\x1c", "</w>", "<|END|>", "<|end|>", "<|end|>\u0338", "<|start|>", "'s", "it's"]


def random_text(rng: random.Random, parts: list[str] = _PARTS) -> str:
    return "".join(rng.choices(parts, k=rng.randrange(25)))


def load(tmp_path: Path, file: dict[str, Any]) -> Tokenizer:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    return Tokenizer.load(path)


def _added(content: str, token_id: int, normalized: bool = False) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    return {"id": token_id, "content": content, **flags, "normalized": normalized, "special": True}


def _random_merges(rng: random.Random, tokens: list[str], lefts: list[str], never_second: str = "") -> list[list[str]]:
    """Makes 30 merges of these tokens and adds their results to the tokens; no right part contains `never_second`."""
    merges: list[list[str]] = []
    for _ in range(30):
        left = rng.choice(lefts)
        right = rng.choice([token for token in tokens if not never_second or never_second not in token])
        if len(left + right) < 14 and [left, right] not in merges:
            merges.append([left, right])
            if left + right not in tokens:
                tokens.append(left + right)
                lefts += [left + right] * (not right.endswith("</w>"))
    return merges


# An unk_token

_STEPS: dict[str, list[dict[str, Any]]] = {
    "words": [{"type": "Whitespace"}],
    "spaces": [{"type": "WhitespaceSplit"}],
    "bert": [{"type": "BertPreTokenizer"}],
    "digits": [{"type": "Digits", "individual_digits": True}, {"type": "Whitespace"}],
}
METASPACE = {"type": "Metaspace", "replacement": SYMBOL, "prepend_scheme": "always", "split": True}


def unknown_json(
    rng: random.Random, steps: list[dict[str, Any]], fuses: bool, normalizer: Any = None
) -> dict[str, Any]:
    """Returns a tokenizer.json of random merges of characters; U+001C is white space only to Python."""
    tokens = [*"abc.,'1\x1c", "\u00e9", SYMBOL]
    merges = _random_merges(rng, tokens, list(tokens), SYMBOL if steps == [METASPACE] else "")
    sequence = {"type": "Sequence", "pretokenizers": steps}
    decoder = {"type": "Metaspace", "replacement": SYMBOL, "prepend_scheme": "always", "split": True}
    model = {"type": "BPE", "unk_token": "[U]", "fuse_unk": fuses, "byte_fallback": False}
    return {
        "version": "1.0",
        "added_tokens": [_added("[U]", 0)],
        "normalizer": normalizer,
        "pre_tokenizer": sequence if len(steps) > 1 else steps[0],
        "decoder": decoder if steps == [METASPACE] else None,
        "model": {**model, "vocab": {token: i for i, token in enumerate(["[U]", *tokens])}, "merges": merges},
    }


def _check(ours: Tokenizer, theirs: Any, rng: random.Random, tmp_path: Path, undo: str = "") -> None:
    texts = ["", *(random_text(rng) for _ in range(60))]
    ids = [theirs.encode(text, add_special_tokens=False).ids for text in texts]
    assert ours.encode_batch(texts) == [ours.encode(text) for text in texts] == ids
    for each in (*ids, [rng.randrange(ours.n_vocab) for _ in range(9)] if undo else []):
        for skip in (False, True):
            text = theirs.decode(each, skip_special_tokens=skip)
            assert ours.decode(each, skip_special_tokens=skip) == (text.replace(undo, " ") if undo else text)
        assert streamed(ours, each) == ours.decode(each)
    ours.save(tmp_path / "again.json", format="huggingface", overwrite=True)
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert [written.encode(text, add_special_tokens=False).ids for text in texts] == ids
    assert Tokenizer.load(tmp_path / "again.json") == ours
    ours.save(tmp_path / "native.json", overwrite=True)
    assert Tokenizer.load(tmp_path / "native.json") == ours == pickle.loads(pickle.dumps(ours))
    session, text = ours.session(), ""
    for part in rng.choices(_PARTS, k=12):
        session.append(part)
        text += part
    assert session.ids.tolist() == ours.encode(text)


@pytest.mark.parametrize("fuses", [False, True])
@pytest.mark.parametrize("kind", [*_STEPS, "metaspace"])
def test_unknown_characters_become_the_id_of_the_library(tmp_path: Path, kind: str, fuses: bool) -> None:
    rng = random.Random(f"{kind} {fuses}")
    for normalizer in (None, {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}):
        file = unknown_json(rng, _STEPS.get(kind, [METASPACE]), fuses, normalizer)
        ours = load(tmp_path, file)
        assert ours.id_to_token(0) == b"[U]"
        assert not ours.is_lossless
        _check(ours, tokenizers.Tokenizer.from_str(json.dumps(file)), rng, tmp_path)


def test_merges_of_the_unknown_token_are_refused(tmp_path: Path) -> None:
    file = unknown_json(random.Random(1), [METASPACE], False)
    file["model"]["vocab"]["[U]a"] = len(file["model"]["vocab"])
    file["model"]["merges"].insert(0, ["[U]", "a"])
    with pytest.raises(FormatError, match="stands for characters without a token"):
        load(tmp_path, file)
    ours, theirs = (each.from_str(json.dumps(file)) for each in (DropIn, tokenizers.Tokenizer))
    for text in ("a xa xxa", "ab?a"):
        assert ours.encode(text).ids == theirs.encode(text).ids
        assert "[U]a" in theirs.encode(text).tokens


def test_inspect_takes_a_tokenizer_with_an_unknown_token(tmp_path: Path) -> None:
    from pairloom.analysis.inspect import inspect_tokenizer

    file = unknown_json(random.Random(1), _STEPS["words"], True)
    file["model"]["vocab"]["ca.1"] = len(file["model"]["vocab"])
    assert len(file["model"]["vocab"]) - 1 in inspect_tokenizer(load(tmp_path, file))["unreachable"]


def test_unknown_characters_of_words_equal_the_reference(tmp_path: Path) -> None:
    rng = random.Random(5)
    for fuses in (False, True):
        file = unknown_json(rng, _STEPS["words"], fuses)
        ours, vocab = load(tmp_path, file), file["model"]["vocab"]
        merges = tuple((vocab[left], vocab[right], vocab[left + right]) for left, right in file["model"]["merges"])
        pieces = {token: i for token, i in vocab.items() if i}
        model = CharacterModel(pieces, {}, merges, unknown=0, fuses=fuses, are_words=True)
        for text in (random_text(rng, _PARTS[:20]) for _ in range(100)):
            assert ours.encode(text) == encode_characters(reference.normalize(text, ours.model.normalizer[1:]), model)


def test_a_long_text_of_words_is_divided_among_threads(tmp_path: Path) -> None:
    rng = random.Random(6)
    for file in (unknown_json(rng, _STEPS["words"], True), clip_json(rng)):
        ours = load(tmp_path, file)
        words = ["ab", "abc", "\u00e9", "\u6771\u4eac", "it's", "\u6771,\u4eac", "1.", "\n", SYMBOL, "x" * 3000]
        text = " ".join(rng.choices(words, weights=[50] * 9 + [1], k=150_000)) + "\u6771" * 100_000
        expected = ours.encode_to_numpy(text)
        assert (ours.encode_to_numpy(text, threads=2) == expected).all()
        path = tmp_path / "text"
        path.write_text(text, encoding="utf-8", newline="")
        assert (ours.encode_file(path, threads=2) == expected).all()
        assert list(ours.encode_iterable([text[:70_001], text[70_001:]])) == expected.tolist()
        session = ours.session()
        for start in range(0, 40_000, 1999):
            session.append(text[start : start + 1999])
        assert session.ids.tolist() == ours.encode(session.text)


# CLIP


def clip_json(rng: random.Random, pattern: str = _core.CLIP_PATTERNS[0], normalized: bool = True) -> dict[str, Any]:
    """Returns a tokenizer.json of random merges with CLIP's settings and order of ids."""
    letters = [to_alphabet(bytes([byte])) for byte in range(256)]
    tokens = [each for letter in "abcs'" for each in (letter, letter + "</w>")] + [*to_alphabet("\u00e9".encode())]
    merges = _random_merges(rng, tokens, [token for token in tokens if not token.endswith("</w>")])
    vocab = [*letters, *(letter + "</w>" for letter in letters)]
    vocab += [token for token in tokens if token not in vocab] + ["<|start|>", "<|end|>"]
    start, end = len(vocab) - 2, len(vocab) - 1
    steps = [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    around = {"sep": ["<|end|>", end], "cls": ["<|start|>", start], "trim_offsets": False, "add_prefix_space": False}
    settings = {"type": "BPE", "unk_token": "<|end|>", "end_of_word_suffix": "</w>", "fuse_unk": False}
    return {
        "version": "1.0",
        "added_tokens": [_added("<|start|>", start, normalized), _added("<|end|>", end, False)],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": {"type": "RobertaProcessing", **around},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {**settings, "vocab": {token: i for i, token in enumerate(vocab)}, "merges": merges},
    }


@pytest.mark.parametrize("pattern", _core.CLIP_PATTERNS)
@pytest.mark.parametrize("normalized", [False, True])
def test_clip_has_the_ids_of_tokenizers(tmp_path: Path, pattern: str, normalized: bool) -> None:
    rng = random.Random(f"{pattern} {normalized}")
    for _ in range(4):
        file = clip_json(rng, pattern, normalized)
        file["added_tokens"][1]["normalized"] = rng.random() < 0.5
        ours, theirs = load(tmp_path, file), tokenizers.Tokenizer.from_str(json.dumps(file))
        assert not ours.is_lossless
        _check(ours, theirs, rng, tmp_path, undo="</w>")
        both = [ours.encode("a b", add_special_tokens=True), theirs.encode("a b").ids]
        assert both[0] == both[1] and len(both[0]) > 3


def test_clip_is_encoded_by_every_call_as_the_reference_says(tmp_path: Path) -> None:
    rng = random.Random(2)
    ours = load(tmp_path, clip_json(rng)).without_post_processor()
    merges = [Merge(*row) for row in ours.model.merges.tolist()]
    specials = dict(ours.special_tokens)
    oracle = Model(ours.model.tokens(), merges, specials, ours.pattern, ours.model.normalizer, ours.model.special_rules)
    texts = [random_text(rng) for _ in range(60)]
    encode_ordinary = partial(reference.encode, model=oracle, allowed_special=())
    check_encoding_calls(ours, texts, partial(reference.encode, model=oracle), encode_ordinary, tmp_path)


def test_clip_in_two_files_is_as_its_tokenizer_json(tmp_path: Path) -> None:
    rng = random.Random(7)
    file = clip_json(rng)
    file["added_tokens"][1]["normalized"] = True
    merges = [" ".join(pair) for pair in file["model"]["merges"]]
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip/vocab.json").write_text(json.dumps(file["model"]["vocab"]), encoding="utf-8")
    (tmp_path / "clip/merges.txt").write_text("\n".join(["#version: 0.2", *merges]), encoding="utf-8")
    named = {"bos_token": "<|start|>", "eos_token": "<|end|>", "unk_token": "<|end|>"}
    roles = {role: _added(token, 0, normalized=True) for role, token in named.items()}
    (tmp_path / "clip/special_tokens_map.json").write_text(json.dumps(roles), encoding="utf-8")
    ours, both = load(tmp_path, file), Tokenizer.load(tmp_path / "clip")
    texts = [random_text(rng) for _ in range(100)]
    assert both.encode_batch(texts) == ours.encode_batch(texts)
    assert both.normalizer == ("nfc", "lowercase", f"words:{json.dumps(list(_core.CLIP_PATTERNS[:1]))}")


def test_clip_cannot_be_trained_further_and_says_so(tmp_path: Path) -> None:
    ours = load(tmp_path, clip_json(random.Random(4)))
    with pytest.raises(ValueError, match="drops white space"):
        ours.extend(["ab"], n_tokens=1)
    with pytest.raises(ValueError, match="ends of words"):
        ours.encode("ab", dropout=0.5, seed=1)
    with pytest.raises(ValueError, match="changes the text"):
        ours.encode_with_offsets("a b")
    with pytest.raises(FormatError, match="cannot store the normalizer nfc, lowercase, words"):
        ours.save(tmp_path / "x.tiktoken")
    assert "words:" not in repr(ours)


# Metaspace


@pytest.mark.parametrize(
    ("token", "is_added", "message"),
    [
        (" x", True, r'the spaces of added token " x"'),
        (f"x{SYMBOL}", True, "the spaces of added token"),
        (f"a{SYMBOL}", False, "none that contains it after another character"),
        ("<0x41>", False, r"token <0x41> is decoded as a byte here, but as text by a decoder without ByteFallback"),
    ],
)
def test_what_a_metaspace_decodes_otherwise_is_refused(
    token: str, is_added: bool, message: str, tmp_path: Path
) -> None:
    file = unknown_json(random.Random(1), [METASPACE], True)
    n = len(file["model"]["vocab"])
    if is_added:
        file["added_tokens"].append(_added(token, n))
    else:
        file["model"]["vocab"][token] = n
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    assert theirs.decode([n], skip_special_tokens=False) == token.replace(SYMBOL, "")
    with pytest.raises(FormatError, match=message):
        load(tmp_path, file)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["words", *KINDS])
def test_offsets_and_words_equal_tokenizers(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    if kind == "words":
        files = [*(unknown_json(rng, steps, True) for steps in _STEPS.values()), clip_json(rng)]
        parts = ["a", "b", "ab", " ", " ", ",", "1", " x", "\x1c"]
    else:
        files = [tokenizer_json(rng, kind) for _ in range(5)]
        parts = ["a", "b", " b", "é", "日", "é日", "</s>", " x"]
    n_equal = 0
    for file in files:
        file["added_tokens"].append(_added(" x", len(file["model"]["vocab"])))
        ours = load(tmp_path, file).as_huggingface()
        theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
        for _ in range(200):
            text = "".join(rng.choices(parts, k=rng.randrange(7)))
            found, expected = (each.encode(text, add_special_tokens=False) for each in (ours, theirs))
            try:
                assert (found.offsets, found.word_ids) == (expected.offsets, expected.word_ids), text
                n_equal += kind != "words" or " " in text
            except ValueError as error:
                assert "changes the text" in str(error)
    assert n_equal > 30


@pytest.mark.parametrize("literal", ["é!", "e\u0301!", "<é>", "Ġ!"])
def test_special_tokens_of_characters_are_not_the_byte_alphabet(literal: str, tmp_path: Path) -> None:
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=30, special_tokens=[literal, "<unk>"], show_progress=False)
    theirs.train_from_iterator(["é abc abd"], trainer)
    ours = Tokenizer.from_huggingface(theirs)
    ours.save(tmp_path / "tokenizer.json", format="huggingface")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == ours
    text = f"é {literal}abd"
    again = ours.to_huggingface()
    assert ours.encode(text) == theirs.encode(text).ids == again.encode(text).ids
