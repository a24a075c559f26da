"""Inspection: unreachable tokens, against their definition; `pairloom inspect` on a terminal and off."""

import contextlib
import json
import random
import re
from pathlib import Path

import pytest

from pairloom import Tokenizer
from pairloom.analysis.inspect import inspect_tokenizer, unreachable_tokens
from pairloom.analysis.render import coloured, shown_token
from pairloom.analysis.stages import stages
from pairloom.reference.encoder import encode_pretoken
from tests.cli.commands import output, run
from tests.formats.models import random_model, reference_of

BYTES = {byte: bytes((byte,)) for byte in range(256)}


@pytest.mark.parametrize("seed", range(40))
def test_unreachable_is_what_the_definition_says(seed: int) -> None:
    model = random_model(seed)
    tokenizer, tokens = Tokenizer.from_model(model), model.tokens()
    definition = reference_of(tokenizer)
    expected_unreachable, expected_cut = [], []
    for token_id, token in tokens.items():
        alone = None
        by_merges = False
        with contextlib.suppress(ValueError):
            by_merges = encode_pretoken(token, definition) == [token_id]
            alone = tokenizer.encode_ordinary(token.decode()) == [token_id]
        if not by_merges and not alone:
            expected_unreachable.append(token_id)
        elif alone is False:
            expected_cut.append(token_id)
    assert unreachable_tokens(tokenizer) == (expected_unreachable, expected_cut)


def test_a_merge_that_another_forestalls() -> None:
    vocab = {**BYTES, 256: b"ab", 257: b"bc", 258: b"abc", 259: b"\xe6\x9d", 260: b"x y", 261: b" y"}
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"\xe6", b"\x9d"), (b" ", b"y"), (b"x", b" y")]
    tokenizer = Tokenizer(vocab, merges, {"<e>": 300, "bc": 301})
    inspection = inspect_tokenizer(tokenizer)
    assert inspection["unreachable"] == [258]
    assert inspection["cut_alone"] == [260]
    assert inspection["duplicates"] == [{"bytes": list(b"bc"), "ids": [257, 301]}]
    assert inspection["longest"][:2] == [{"id": 258, "bytes": list(b"abc")}, {"id": 260, "bytes": list(b"x y")}]
    counted = (inspection["n_vocab"], inspection["n_tokens"], inspection["n_single_bytes"], inspection["n_merges"])
    assert counted == (302, 262, 256, 6)
    assert inspection["n_unassigned"] == 302 - 262 - 2
    assert inspection["pattern_name"] == "gpt2"


def test_spaces_of_a_normalizer_cut_no_token(tmp_path: Path) -> None:
    from tests.formats.test_words import clip_json, load

    tokenizer = Tokenizer.train("low lower lowest", 262)
    assert unreachable_tokens(tokenizer.with_normalizer("prefix_space")) == ([], [])
    clip = load(tmp_path, clip_json(random.Random(3)))
    assert {clip.id_to_token(i).strip() for i in unreachable_tokens(clip)[1]} == {BYTES[byte] for byte in range(65, 91)}


def test_tokens_of_byte_fallback_are_of_one_byte(tmp_path: Path) -> None:
    from tests.formats.test_sentencepiece import load, tokenizer_json

    tokenizer = load(tmp_path, json.dumps(tokenizer_json(random.Random(3), "prepend")).encode(), "tokenizer.json")
    assert inspect_tokenizer(tokenizer)["n_single_bytes"] == 256 + len("ab ")


def test_a_long_token_that_is_no_text_takes_no_quadratic_time() -> None:
    token = b"\xff" * 2**16
    vocab = {**BYTES, **{256 + n: b"\xff" * 2 ** (n + 1) for n in range(16)}}
    merges = [(b"\xff" * 2**n, b"\xff" * 2**n) for n in range(16)]
    assert vocab[271] == token
    assert unreachable_tokens(Tokenizer(vocab, merges)) == ([], [])
    assert unreachable_tokens(Tokenizer({**vocab, 272: token + b"\xff"}, merges)) == ([272], [])


def test_display_obeys_no_control_character() -> None:
    tokenizer = Tokenizer.train(["a"], 256)
    shown = coloured(tokenizer, "é\x1b[2J\x07\n\x9b")
    assert "é×2" in shown and "\\x1b" in shown and "\\x07" in shown
    assert "\x1b[2J" not in shown and "\x07" not in shown and "\x9b" not in shown
    assert all(line.endswith("\x1b[0m") for line in shown.split("\n"))
    assert (shown_token(b"\x1b"), shown_token(b"\xc3")) == (repr("\x1b"), repr(b"\xc3"))


def test_display_draws_a_cut_character_whole() -> None:
    shown = coloured(Tokenizer.train(["a"], 256), "\u0938\u094d a")
    assert re.sub("\x1b[^m]*m", "|", shown) == "|\u0938\u094d×6||\u0020||a|"


def test_the_command_says_all(model: Path) -> None:
    done = run("inspect", "--model", model, "--text", "ab<|endoftext|> é")
    assert (done.status, done.err) == (0, "")
    report = done.out
    for line in (
        "ids                    259 (uint16), 0 of them unassigned",
        "tokens                 258, single-byte 256",
        "merges                 2",
        "pattern                gpt2",
        "  258 '<|endoftext|>'",
        "  257 ' ab' (3 bytes)",
        "unreachable by merging: 0",
        "duplicates: 0",
        "18 bytes, 5 tokens: 256:'ab' 258:'<|endoftext|>' 32:' ' 195:b'\\xc3' 169:b'\\xa9'",
    ):
        assert line in report.splitlines()
    assert "\x1b" not in report


def test_json(model: Path) -> None:
    report = json.loads(output("inspect --json --model", model, "--text", "ab ab"))
    assert report["ids"] == [256, 257]
    assert report["special_tokens"] == {"<|endoftext|>": 258}
    assert report["longest"][0] == {"id": 257, "bytes": [32, 97, 98]}
    assert report["unreachable"] == report["cut_alone"] == report["duplicates"] == []


def test_stages_show_special_tokens_pretokens_and_merges() -> None:
    tokenizer = Tokenizer.train("low low lower", 260)
    assert stages(tokenizer, "low<|endoftext|> lo") == [
        "text: 'low<|endoftext|> lo'",
        "pretoken 'low': 257",
        "  merge of rank 0: 'l' + 'o' = 256",
        "  merge of rank 1: 'lo' + 'w' = 257",
        "special token '<|endoftext|>': 260",
        "pretoken ' lo': 32 256",
        "  merge of rank 0: 'l' + 'o' = 256",
    ]


@pytest.mark.parametrize("text", ["", "e\u0301 é", "<|endoftext|>", "日本 🙂\n\n  x"])
def test_stages_end_in_the_ids_of_encode(text: str) -> None:
    tokenizer = Tokenizer.train("low low lower é 日本", 270).with_normalizer("nfc")
    lines = [line for line in stages(tokenizer, text) if line.startswith(("pretoken ", "special token "))]
    assert [int(token_id) for line in lines for token_id in line.rpartition(": ")[2].split()] == tokenizer.encode(text)
    assert not any("report this" in line for line in lines)
