"""The settings that published models have, with a small vocabulary: all ids are HuggingFace's, before and after saving.

Written from the published files: pre-tokenizer, normaliser, post-processor, decoder, and the flags of added tokens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import tokenizers

from pairloom import FormatError, Tokenizer

Node = dict[str, Any]
_CONTRACTIONS: Final = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LLAMA3: Final = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN35: Final = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def _words(contractions: str, digits: str) -> str:
    before = r"[^\r\n\p{L}\p{N}]?"
    first = f"{before}{_UPPER}*{_LOWER}+{contractions}|{before}{_UPPER}+{_LOWER}*{contractions}"
    return first + rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


_O200K: Final = _words(_CONTRACTIONS + "?", r"\p{N}{1,3}")
_TEKKEN: Final = _words("", r"\p{N}")
_DEEPSEEK: Final = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_HAN: Final = "[一-龥\u3040-ゟ゠-ヿ]+"


def _bytes(*, prefix: bool = False, use_regex: bool = False, trim: bool = True) -> Node:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": use_regex}


def _split(regex: str, behavior: str = "Isolated", invert: bool = False) -> Node:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def _turns(*steps: Node) -> Node:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def _template(single: str, pair: str) -> Callable[[dict[str, int]], Node]:
    """Of words: A and B are the texts, any other word is a special token, in the pair with its type behind a colon."""

    def made(ids: dict[str, int]) -> Node:
        def part(word: str) -> Node:
            name, _, kind = word.partition(":")
            what = "Sequence" if name in "AB" else "SpecialToken"
            return {what: {"id": name, "type_id": int(kind or name == "B")}}

        words = {word.partition(":")[0] for word in f"{single} {pair}".split()} - {"A", "B"}
        return {
            "type": "TemplateProcessing",
            "single": [part(word) for word in single.split()],
            "pair": [part(word) for word in pair.split()],
            "special_tokens": {word: {"id": word, "ids": [ids[word]], "tokens": [word]} for word in sorted(words)},
        }

    return made


def _roberta(ids: dict[str, int]) -> Node:
    sides = {"sep": ["</s>", ids["</s>"]], "cls": ["<s>", ids["<s>"]]}
    return {"type": "RobertaProcessing", **sides, "trim_offsets": True, "add_prefix_space": False}


def _llama3(ids: dict[str, int]) -> Node:
    template = _template("<|begin_of_text|> A", "<|begin_of_text|> A <|begin_of_text|>:1 B")(ids)
    return {"type": "Sequence", "processors": [_bytes(prefix=True, use_regex=True, trim=False), template]}


def _only_bytes(**options: bool) -> Callable[[dict[str, int]], Node]:
    return lambda ids: _bytes(**options)


_GPT2 = _bytes(use_regex=True)
_DIGITS = {"type": "Digits", "individual_digits": True}
_NFC = {"type": "NFC"}
_EMPTY = {"type": "Sequence", "normalizers": []}
_PLAIN: Final = {"special": False, "normalized": True}
_SPACES = {" " * n: _PLAIN for n in range(24, 1, -1)}

# Name -> pre-tokenizer, normaliser, post-processor, added tokens with what is not the default of theirs.
_Setting = tuple[Node, Node | None, Callable[[dict[str, int]], Node] | None, dict[str, Node]]
SETTINGS: Final[dict[str, _Setting]] = {
    "GPT-2": (_GPT2, None, _only_bytes(prefix=True, use_regex=True, trim=False), {"<|endoftext|>": {}}),
    "RoBERTa": (_GPT2, None, _roberta, {"<s>": {"normalized": True}, "</s>": {}, "<mask>": {"lstrip": True}}),
    "Llama 3": (
        _turns(_split(_LLAMA3), _bytes()),
        None,
        _llama3,
        {"<|begin_of_text|>": {}, "<|end_of_text|>": {}, "<|eot_id|>": {}},
    ),
    "Qwen 2 and 3": (
        _turns(_split(_LLAMA3.replace("{1,3}", "")), _bytes(trim=False)),
        _NFC,
        _only_bytes(trim=False),
        {"<|endoftext|>": {}, "<|im_start|>": {}, "<|im_end|>": {}, "<think>": {"special": False}},
    ),
    "Qwen 3.5": (_turns(_split(_QWEN35), _bytes()), _NFC, _only_bytes(trim=False), {"<|endoftext|>": {}}),
    "DeepSeek V3": (
        _turns(_split(r"\p{N}{1,3}"), _split(_HAN), _split(_DEEPSEEK), _bytes()),
        _EMPTY,
        _template("<｜begin▁of▁sentence｜> A", "<｜begin▁of▁sentence｜> A <｜begin▁of▁sentence｜>:1 B"),
        {"<｜begin▁of▁sentence｜>": {}, "<｜end▁of▁sentence｜>": {}, "<｜User｜>": {"special": False}},
    ),
    "DeepSeek Coder": (
        _turns(
            *map(_split, ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+")),
            _DIGITS,
            _bytes(),
        ),
        _EMPTY,
        None,
        {"<|EOT|>": _PLAIN},
    ),
    "OLMo 1": (
        _GPT2,
        _NFC,
        _template("A <|endoftext|>", "A <|endoftext|> B <|endoftext|>:1"),
        {"<|endoftext|>": {}, "  ": _PLAIN, "    ": _PLAIN},
    ),
    "OLMo 2 and Phi-4": (
        _turns(_split(_LLAMA3, "Removed", invert=True), _bytes()),
        None,
        _template("A", "A B"),
        {"<|endoftext|>": {}, "<|pad|>": {}, "|||IP_ADDRESS|||": _PLAIN},
    ),
    "ModernBERT": (
        _GPT2,
        _NFC,
        _template("[CLS] A [SEP]", "[CLS] A [SEP] B [SEP]"),
        {"[CLS]": {}, "[SEP]": {}, "[MASK]": {"lstrip": True}, "  ": _PLAIN, "|||EMAIL_ADDRESS|||": _PLAIN},
    ),
    "Phi-2": (
        _GPT2,
        None,
        _only_bytes(prefix=True, use_regex=True, trim=False),
        {"<|endoftext|>": {}, **_SPACES, **{"\t" * n: _PLAIN for n in range(9, 1, -1)}},
    ),
    "Phi-4 mini": (
        _turns(_split(_O200K, "Removed", invert=True), _bytes()),
        None,
        _only_bytes(prefix=True, use_regex=True, trim=False),
        {"<|endoftext|>": {}, "<|end|>": {"rstrip": True}, "<|user|>": {"rstrip": True}},
    ),
    "StarCoder and SmolLM": (
        _turns(_DIGITS, _GPT2),
        None,
        None,
        {"<|endoftext|>": {}, "<fim_prefix>": {}, "<repo_name>": {}},
    ),
    "Falcon": (
        _turns(
            {"type": "Punctuation", "behavior": "Contiguous"},
            _GPT2,
            {"type": "Digits", "individual_digits": False},
            _split("[0-9][0-9][0-9]"),
        ),
        None,
        _only_bytes(prefix=True, use_regex=True, trim=False),
        {">>TITLE<<": {}, "<|endoftext|>": {}},
    ),
    "BLOOM": (
        _turns(_split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), _bytes()),
        None,
        _only_bytes(prefix=True, trim=False),
        {"<unk>": {}, "<s>": {}, "</s>": {}},
    ),
    "GPT-NeoX": (_GPT2, _NFC, _only_bytes(prefix=True, use_regex=True), {"<|endoftext|>": {}, **_SPACES}),
    "Mistral Nemo": (
        _turns(_split(_TEKKEN), _bytes()),
        None,
        _template("<s> A", "<s> A <s>:1 B"),
        {"<unk>": {}, "<s>": {}, "</s>": {}, "[INST]": {}},
    ),
    "gpt-oss": (_turns(_split(_O200K), _bytes()), None, None, {"<|startoftext|>": {}, "<|channel|>": {}}),
    "Command R": (
        _turns(_DIGITS, _GPT2),
        _NFC,
        _template("<BOS_TOKEN> A", "<BOS_TOKEN> A B"),
        {"<PAD>": {}, "<BOS_TOKEN>": {}},
    ),
    "OPT": (
        _GPT2,
        None,
        _template("</s> A", "</s> A </s> B"),
        {"<pad>": {"normalized": True}, "</s>": {"normalized": True}},
    ),
    "Whisper": (
        _GPT2,
        None,
        _template("<|sot|> <|notimestamps|> A <|endoftext|>", "<|sot|> <|notimestamps|> A B <|endoftext|>:1"),
        {"<|endoftext|>": {}, "<|sot|>": {}, "<|notimestamps|>": {}},
    ),
    "CodeGen with a space before": (
        _bytes(prefix=True, use_regex=True),
        None,
        _only_bytes(prefix=True, use_regex=True),
        {"<|endoftext|>": {}},
    ),
    "three digits from the right": (
        _turns(_split(r"\p{N}{1,3}"), _split(r"(?=(\d{3})+(?!\d))"), _bytes()),
        None,
        None,
        {"<|endoftext|>": {}},
    ),
}
_DECODER = _bytes(prefix=True, use_regex=True)
_CHANGES_TEXT: Final[dict[str, tuple[Node, str]]] = {
    "accents": (
        {"normalizer": {"type": "Sequence", "normalizers": [_NFC, {"type": "StripAccents"}]}},
        "StripAccents",
    ),
    "Gemma": (
        {
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": {**_split(" ", "MergedWithPrevious"), "pattern": {"String": " "}},
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        },
        "is not ByteLevel",
    ),
}


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    text = "the cat ate 12 345 théâtre 東京 don't it's  \n\n  def f(x):\n    return x+1\n"
    return Tokenizer.train(
        [text] * 4 + ["ab ab  ab the 1999 2000 e\u0301"], 420, special_tokens=(), profile="huggingface"
    )


def _file(trained: Tokenizer, setting: _Setting) -> Node:
    pre_tokenizer, normalizer, post_processor, added = setting
    file: Node = json.loads(trained.to_huggingface().to_str())
    ids = {literal: trained.n_vocab + number for number, literal in enumerate(added)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    file["added_tokens"] = [
        {"id": ids[literal], "content": literal, **flags, "special": True, **other} for literal, other in added.items()
    ]
    around = None if post_processor is None else post_processor(ids)
    return {
        **file,
        "pre_tokenizer": pre_tokenizer,
        "normalizer": normalizer,
        "post_processor": around,
        "decoder": _DECODER,
    }


def _texts(literals: list[str]) -> list[str]:
    rng = random.Random(1)
    parts = [
        *(
            "the",
            " cat",
            " ate",
            "12",
            "345",
            "1999",
            " ",
            "  ",
            "   ",
            "\n",
            "\r\n",
            "\t",
            "théâtre",
            "e\u0301",
            "東京",
        ),
        *(
            "カ",
            "don't",
            "IT'S",
            "'ll",
            "!",
            "...",
            "。",
            "…",
            "👩\u200d👩",
            "²",
            "ﬁ",
            "Å",
            "\u212b",
            "\u00a0",
            "\u2028",
        ),
        *("x", "_", "(", "/", "٣", "ſ", "ß", "\u0e33", "\ufeff", "\x00", "ab", *literals, *literals),
    ]
    return [" ", "\n", *("".join(rng.choices(parts, k=rng.randrange(1, 14))) for _ in range(198))]


@pytest.mark.parametrize("name", SETTINGS)
def test_ids_are_those_of_the_owner_before_and_after_saving(name: str, trained: Tokenizer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    file = _file(trained, SETTINGS[name])
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = Tokenizer.load(path)
    assert ours == Tokenizer.from_huggingface(theirs)
    ours.save_pretrained(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").model == ours.model
    of_transformers = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    again, stand_in = ours.to_huggingface(), ours.as_huggingface()
    texts = _texts(list(SETTINGS[name][3]))
    for text, other in zip(texts, texts[1:] + texts[:1], strict=True):
        ids = theirs.encode(text, add_special_tokens=False).ids
        around, pair = theirs.encode(text).ids, theirs.encode(text, other).ids
        assert ours.encode(text) == ids, (name, text)
        assert ours.encode(text, add_special_tokens=True) == around, (name, text)
        assert ours.encode(text, other, add_special_tokens=True) == pair, (name, text)
        assert (again.encode(text).ids, again.encode(text, other).ids) == (around, pair), (name, text)
        assert (stand_in.encode(text).ids, stand_in.encode(text, other).ids) == (around, pair), (name, text)
        assert of_transformers(text)["input_ids"] == around, (name, text)
        assert of_transformers(text, other)["input_ids"] == pair, (name, text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), (name, text)
        assert ours.decode(around, skip_special_tokens=True) == theirs.decode(around), (name, text)


@pytest.mark.parametrize("name", _CHANGES_TEXT)
def test_settings_that_change_text_are_refused_with_the_reason(name: str, trained: Tokenizer) -> None:
    changed, reason = _CHANGES_TEXT[name]
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**_file(trained, SETTINGS["GPT-2"]), **changed}))
    with pytest.raises(FormatError, match=reason):
        Tokenizer.from_huggingface(theirs)
