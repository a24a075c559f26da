"""What fuzzing of model files begins with: small files of each format, and the hostile ones of testdata."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from pairloom import Tokenizer
from pairloom.formats import gpt2, huggingface, native, tiktoken
from pairloom.model import Model

SPLIT = b"\n--\n"
"""Stands between vocab.json and merges.txt."""

_HOSTILE = Path(__file__).parents[2] / "testdata/hostile"
_PREFIXES = {"huggingface": ("tokenizer_",), "tekken": ("tekken_",), "schema2": ("schema2_",)}
_SUFFIXES = {"tiktoken": ".tiktoken"}
_MAX_BYTES = 20_000

WORDS = (
    *('"', "\\", "{", "}", "[", "]", ",", ":", "0", "-1", "1e9", "true", "null", "NaN", "\\ud800", "16777216", "256"),
    *("a b", "#version: 0.2", "YWI=", "Ġ", "｜", "\x00", "\n", "\r\n", " ", "--", '"Split"', '"Regex"', '"String"'),
    *('"ByteLevel"', '"Sequence"', '"Digits"', '"Isolated"', '"Removed"', '"content"', '"normalized"', '"special"'),
    *('"ranks"', '"pairs"', '"merges"', '"vocab"', '"schema_version"', '"token_ids"', '"made_ids"', '"ignore_merges"'),
    *("(?i:", "(?!", "(?<=", "\\\\p{L}", "\\\\s+", "{1,3}", "[^", "++", "(?>"),
)


def escaped(word: str) -> str:
    """The word as a dictionary of libFuzzer writes it."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}" for byte in word.encode())
    return "".join(plain)


def of(parser: str) -> list[bytes]:
    """The seeds of one parser."""
    seeds = [data for model in _models() if (data := _written(parser, model)) is not None]
    if parser == "tekken":
        seeds += [json.dumps(_tekken(listed)).encode() for listed in (False, True)]
    if parser == "gpt2":
        vocab = '{"a":0,"b":1,"Ġ":2,"ab":3,"Ġab":4,"<e>":9}'.encode()
        seeds += [vocab + SPLIT + merges.encode() for merges in ("a b\nĠ ab\n", "#version: 0.2\na b\r\nĠ  ab\n\n# a\n")]
    if parser == "ranks":
        seeds += [bytes(range(256)), b"\x01a\x00\x61" * 9]
    for path in sorted(_HOSTILE.iterdir()):
        mine = path.name.startswith(_PREFIXES.get(parser, ())) or path.suffix == _SUFFIXES.get(parser)
        if (mine or (parser == "schema1" and path.suffix == ".json" and "_" not in path.stem)) and (
            path.stat().st_size < _MAX_BYTES
        ):
            seeds.append(path.read_bytes())
    return seeds


def _models() -> list[Model]:
    few = {0: b"a", 1: b"b", 2: b" ", 3: b"<", 4: b">", 5: b"e", 7: b"ab", 9: b" ab"}
    pairs = [(0, 1, 7), (2, 7, 9)]
    return [
        Model.from_tokens(few, pairs, special_tokens={"<e>": 8}, pattern=r"\S+|\s+"),
        Model.from_tokens(few, rule="ranks", ignore_merges=True, pattern=("a", r"\s+|\S+"), special_tokens={"ab": 20}),
        Model.from_tokens(
            few, pairs, special_tokens={"é": 10, "<e>": 11}, plain_specials=["é"], pattern=r"\p{N}| ?\w+"
        ),
        Model.from_tokens({}, pattern="a"),
        Tokenizer.train(["ab ab ab"], 258).model,
    ]


def _written(parser: str, model: Model) -> bytes | None:
    try:
        if parser == "gpt2":
            files = gpt2.write(model)
            return files[gpt2.VOCAB_NAME] + SPLIT + files[gpt2.MERGES_NAME]
        writers = {"huggingface": huggingface.write, "tiktoken": tiktoken.write, "schema1": native.write}
        return {**writers, "schema2": native.write}[parser](model)
    except (KeyError, ValueError):
        return None


def _tekken(lists_specials: bool) -> dict[str, Any]:
    vocab = [
        {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate((b"a", b"b", b" ", b"ab", b" ab"))
    ]
    config = {"pattern": r"\S+|\s+", "default_vocab_size": 7, "default_num_special_tokens": 2, "version": "v3"}
    listed = {"special_tokens": [{"rank": 1, "token_str": "<e>", "is_control": True}]} if lists_specials else {}
    return {"config": config, "vocab": vocab, **listed}
