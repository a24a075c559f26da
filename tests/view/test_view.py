"""The view page: its data about texts and tokenizers, the escaping of hostile text, and the command."""

import base64
import hashlib
import html
import json
import random
import re
import unicodedata
from html.parser import HTMLParser
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer, pretokenize
from pairloom.analysis.stages import stages
from pairloom.model import Model
from pairloom.patterns import GPT2
from pairloom.view.payload import merge_trees
from pairloom.view.view import View
from tests.cli.commands import run
from tests.formats.models import random_model
from tests.formats.test_sentencepiece import load, model_file, random_pieces

HOSTILE = (
    '</script><script>document.title="owned"</script><!-- <script> --> ]]> &lt; "\' {{data}} {{script}}'
    " <img src=x onerror=alert(1)> \u2028\u2029 \u202egnp.exe\u202c \x00\x1b[2J \ufeff"
)
_STARTS = (
    0x41, 0xC0, 0x391, 0x410, 0x531, 0x5D0, 0x621, 0x710, 0x780, 0x7CA, 0x904, 0x985, 0xA05, 0xA85, 0xB05, 0xB85,
    0xC05, 0xC85, 0xD05, 0xD85, 0xE01, 0xE81, 0xF40, 0x1000, 0x10A0, 0x1100, 0x1200, 0x13A0, 0x1401, 0x16A0, 0x1780,
    0x1820, 0x1B05, 0x2C80, 0x3041, 0x30A1, 0x4E00, 0xA000, 0xAC00, 0xFB50, 0x10300, 0x12000, 0x1E900, 0x20000,
)  # fmt: skip
_SCRIPTS = tuple(
    [chr(code) for code in range(start, start + 60) if unicodedata.category(chr(code))[0] in "LM"] for start in _STARTS
)
_ODD = (
    " ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u200b", "\u200d", "\u200c", "\u202e", "\u2066", "\u2028",
    "\ufeff", "\u3000", "\u0301", "\u0327", "\ufe0f", "\x1b", "\x85", "👨\u200d👩\u200d👧\u200d👦", "👍🏽", "🇯🇵", "❤️",
    "12345", "<b>&amp;", "\U000f0000", "<|endoftext|>",
)  # fmt: skip


def texts_of_all_scripts(n: int = 300) -> list[str]:
    """Returns n texts with everything that a page could lose; several contain each script."""
    rng = random.Random(11)
    texts = []
    for index in range(n):
        letters = _SCRIPTS[index % len(_SCRIPTS)] + rng.choice(_SCRIPTS)[:5]
        words = ["".join(rng.choices(letters, k=rng.randrange(1, 7))) for _ in range(rng.randrange(1, 6))]
        texts.append("".join(word + rng.choice((" ", rng.choice(_ODD))) for word in words))
    return texts


TOKENIZER = Tokenizer.train("the cat ate the théâtre 東京 ab ab <script> </script>", 290, decode_errors="replace")


def test_a_tokenizer_that_splits_no_text_names_no_pattern(tmp_path: Path) -> None:
    pieces = load(tmp_path, model_file(random_pieces(random.Random(9))))
    assert "none: merges cross words after dummy_prefix" in View([("m", pieces)], [("t", "ab")]).html()


def payload_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def text_of(payload: Any, text: int, side: int) -> str:
    tokenizer = payload["tokenizers"][side]
    hex_of = dict(zip(tokenizer["ids"], tokenizer["hex"], strict=True))
    return bytes.fromhex("".join(hex_of[i] for i in payload["texts"][text]["sides"][side]["ids"])).decode()


@pytest.mark.parametrize("text", ["", "the cat", "the cat<|endoftext|>  ate\r\n\tthéâtre 東京 😀", HOSTILE])
@pytest.mark.parametrize("specials", ["recognise", "ordinary"])
def test_the_page_holds_the_ids_and_the_pretokens(text: str, specials: str) -> None:
    view = TOKENIZER.view({"one": text}, specials=specials)
    payload = payload_of(view.html())
    side = payload["texts"][0]["sides"][0]
    expected = TOKENIZER.encode(text) if specials == "recognise" else TOKENIZER.encode_ordinary(text)
    assert side["ids"] == expected
    assert text_of(payload, 0, 0) == text
    parts = re.split(r"(<\|endoftext\|>)", text) if specials == "recognise" else [text]
    pretokens = [p for part in parts for p in ([part.encode()] if part == "<|endoftext|>" else pretokenize(part))]
    tokens = [TOKENIZER.id_to_token(i) for i in expected]
    ends = [0]
    for n in side["pretokens"]:
        ends.append(ends[-1] + n)
    assert [b"".join(tokens[first:end]) for first, end in pairwise(ends)] == pretokens
    counts = view.counts[0]
    assert (counts.n_bytes, counts.n_characters) == (len(text.encode()), len(text))
    assert (counts.n_tokens, counts.n_pretokens) == ((len(expected),), (len(pretokens),))


@pytest.mark.parametrize("normalizer", ["nfd", "nfc", "prefix_space", ("nfkc", "prefix_space")])
def test_a_text_is_shown_as_the_normaliser_leaves_it(normalizer: Any) -> None:
    changing = TOKENIZER.with_normalizer(normalizer)
    text = "th\u00e9\u00e2tre e\u0301<|endoftext|>\ufb01 \u00e9"
    payload = payload_of(changing.view(text).html())
    assert payload["texts"][0]["sides"][0]["ids"] == changing.encode(text)
    spelt = changing.decode(changing.encode(text))
    assert text_of(payload, 0, 0) == spelt != text
    parts = [pretokenize(part) for part in spelt.split("<|endoftext|>")]
    assert len(payload["texts"][0]["sides"][0]["pretokens"]) == sum(map(len, parts)) + 1


@pytest.mark.parametrize("specials", ["recognise", "ordinary"])
def test_pretokens_are_those_with_the_bytes_that_lack_a_token(specials: str) -> None:
    # Neither "1" nor the second byte of "\u00e9" is a token: "x1y" are three pretokens, "xy" would be one.
    tokens = {byte: bytes((byte,)) for byte in range(256) if byte not in b"1\xa9"} | {300: b" <"}
    model = Model.from_tokens(
        tokens, [(32, 60, 300)], special_tokens={"<1>": 400}, pattern=GPT2, normalizer=["drop_missing_bytes"]
    )
    tokenizer = Tokenizer.from_model(model)
    text = " 1< x1y<1>\u00e9 111 1"
    view = tokenizer.view(text, specials=specials)
    side = payload_of(view.html())["texts"][0]["sides"][0]
    parts = [b" ", b"<", b" x", b"y", *([b"<1>"] if specials == "recognise" else [b"<", b">"]), b"\xc3", b" ", b" "]
    ends = [0, *accumulate(side["pretokens"])]
    found = [b"".join(map(tokenizer.id_to_token, side["ids"][a:b])) for a, b in pairwise(ends)]
    assert found == parts
    assert view.counts[0].n_pretokens == (len(found),)
    assert not any("report this" in line for line in stages(tokenizer, text))


@pytest.mark.parametrize(
    ("specials", "fields", "text", "n_special", "pretokens"),
    [
        ({"th": 300}, {"special_rules": (("th", "single_word"),)}, "oth th,th", 2, [2, 1, 1, 1, 1]),
        # "oth" stays text, and hides the literal inside it.
        ({"th": 300, "oth": 301}, {"special_rules": (("oth", "single_word"),)}, "aoth th", 1, [3, 1, 1]),
        ({"th": 300}, {"normalizer": ("lowercase",)}, "oTH th", 1, [2, 1, 1]),
    ],
)
def test_a_merged_token_with_a_special_tokens_id_cuts_nothing(
    specials: dict[str, int], fields: dict[str, Any], text: str, n_special: int, pretokens: list[int]
) -> None:
    tokens = {byte: bytes((byte,)) for byte in range(256)} | {300: b"th"}
    model = Model.from_tokens(tokens, [(116, 104, 300)], special_tokens=specials, pattern=GPT2, **fields)
    tokenizer = Tokenizer.from_model(model)
    lines = stages(tokenizer, text)
    assert [line for line in lines if line.startswith("special")] == ["special token 'th': 300"] * n_special
    side = payload_of(tokenizer.view(text).html())["texts"][0]["sides"][0]
    assert side["pretokens"] == pretokens


def test_hostile_text_and_names_stay_text() -> None:
    special = TOKENIZER.add_special_tokens(["<img src=x onerror=alert(1)>"])
    view = View([(HOSTILE, special), ("b", TOKENIZER)], [(HOSTILE, HOSTILE), ("\udcff.txt", "ab")])
    page = view.html()
    page.encode()  # no lone surrogates
    assert "<img" not in page
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<!--" not in page
    assert "\u2028" not in page.split('id="data">')[1].split("</script>")[0]
    assert text_of(payload_of(page), 0, 0) == HOSTILE
    # In a notebook's frame, one attribute holds the page.
    framed = special.view(HOSTILE)._repr_html_()
    found = re.search(r'<iframe sandbox="allow-scripts" title="Tokens" srcdoc="([^"]*)"', framed)
    assert found and html.unescape(found[1]) == special.view(HOSTILE).html().replace(
        "<html ", '<html data-frame="yes" '
    )
    assert {tag for tag, _ in elements(framed)[0]} == {"div", "b", "br", "code", "iframe"}


def elements(page: str) -> tuple[list[tuple[str, dict[str, str | None]]], str]:
    """Collects (tag, attributes) of all elements, and the text; line breaks become line feeds."""
    tags: list[tuple[str, dict[str, str | None]]] = []
    text: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))
            if tag == "br":
                text.append("\n")

        def handle_data(self, data: str) -> None:
            text.append(data)

    Reader().feed(page)
    return tags, "".join(text)


def test_a_notebook_without_scripts_shows_coloured_tokens() -> None:
    """Keeps what JupyterLab keeps of an untrusted notebook: no frame, and these inline styles."""
    shown = [
        text
        for text in texts_of_all_scripts()
        if not re.search("[\r\\x1b\x85\u200b\u200d\u202e\u2066\u2028\ufeff]", text)
    ]
    assert len(shown) > 40
    for text in ["the cat  ate <b>\n\n\ttheatre", *shown]:
        tags, left = elements(re.sub("<iframe.*?</iframe>", "", TOKENIZER.view(text)._repr_html_(), flags=re.DOTALL))
        assert left == f"text\n{text}"
        tokens = [attributes["style"] or "" for tag, attributes in tags if tag == "code"]
        stripes = [style.count("%,#") // 2 + 1 for style in tokens]
        assert sum(stripes) == TOKENIZER.count_tokens(text) and all("background-color:#" in style for style in tokens)
        assert {name for _, attributes in tags for name in attributes} <= {"style", "dir"}
        assert all(one.partition(":")[0] in STYLES for style in tokens for one in style.split(";"))


STYLES = {"background-color", "background-image", "color", "padding", "font-family"}


def test_a_notebook_without_scripts_says_what_it_leaves_out() -> None:
    other = Tokenizer.train("other", 256)
    shown = TOKENIZER.view("the cat " * 1000, other=other)._repr_html_().partition("<iframe")[0]
    assert f"{TOKENIZER.count_tokens('the cat ' * 1000) - 1000:,} more tokens" in shown and "7,000 more tokens" in shown
    many = TOKENIZER.view(["the cat " * 1000] * 30)._repr_html_().partition("<iframe")[0]
    assert "and 29 more texts" in many and many.count("<code") == 1000
    assert "A: the tokenizer" in shown and "B: the other" in shown
    # Direction controls affect nothing around them.
    assert "\u202e" not in TOKENIZER.view(HOSTILE)._repr_html_() and "[U+202E]" in TOKENIZER.view(HOSTILE)._repr_html_()


def test_only_the_own_script_and_style_may_run() -> None:
    page = TOKENIZER.view(HOSTILE).html()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    script, style = (
        re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL),
        re.search(r"<style>(.*?)</style>", page, re.DOTALL),
    )
    assert policy and script and style
    assert "default-src 'none'" in policy[1]
    for directive, source in (("script-src", script[1]), ("style-src", style[1])):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert not re.search(r"https?:|innerHTML|insertAdjacentHTML|document\.write|\beval\b| on\w+=", script[1])
    assert not re.search(r"https?:|url\(|@import", style[1])


@pytest.mark.parametrize("seed", range(40))
def test_merge_trees_are_those_of_the_encoder(seed: int) -> None:
    """Replaying the merge trees of the tokens, as the page does, gives every pretoken the merges of the definition."""
    model = random_model(seed)
    tokenizer = Tokenizer.from_model(model)
    tokens = model.tokens()
    nodes = merge_trees(model, tokens)
    for token_id, (rank, left, right) in nodes.items():
        assert tokens[token_id] == tokens[left] + tokens[right]
        if model.rule == "pairs":
            assert model.merges[rank].tolist() == [left, right, token_id]
        else:
            assert rank == token_id
        for part in (left, right):
            assert part in nodes or len(tokens[part]) == 1
    present = {token[0] for token in tokens.values() if len(token) == 1}
    for token_id, token in tokens.items():
        if token_id in nodes or not present.issuperset(token) or len(token) == 1:
            continue
        # No merge makes it. If the encoder returns it for its own text, it was looked up whole, as happens
        # with ignore_merges and, like in tiktoken, with ranks.
        try:
            alone = tokenizer.encode_ordinary(token.decode())
        except UnicodeDecodeError:
            continue
        assert alone != [token_id] or model.ignore_merges or model.rule == "ranks"


def test_two_tokenizers_and_several_texts() -> None:
    other = Tokenizer.train("other", 256, pattern="o200k")
    view = TOKENIZER.view(["the cat", "ab ab"], other=other)
    payload = payload_of(view.html())
    assert [text["name"] for text in payload["texts"]] == ["text 1", "text 2"]
    assert [text_of(payload, 0, 0), text_of(payload, 0, 1), text_of(payload, 1, 1)] == ["the cat", "the cat", "ab ab"]
    assert view.counts[1].n_tokens == (TOKENIZER.count_tokens("ab ab"), 5)
    assert (
        repr(view) == f"View(2 texts, {TOKENIZER.count_tokens('the cat') + view.counts[1].n_tokens[0]} and 12 tokens)"
    )


def test_the_command_writes_a_page(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "ab"}\n{"text": "<b>"}\n', encoding="utf-8")
    page = tmp_path / "page.html"
    inputs = (tmp_path / "a.txt", tmp_path / "b.jsonl")
    done = run("view", "--model", model, "--text", "one", "--input", *inputs, "--output", page)
    assert done == (0, "", f"pairloom: wrote {page}: a page; open it in a browser (--open)\n")
    texts = payload_of(page.read_text(encoding="utf-8"))["texts"]
    assert [Path(text["name"]).name for text in texts] == [
        "text 1", "a.txt", "b.jsonl, document 1", "b.jsonl, document 2",
    ]  # fmt: skip
    again = run("view", "--model", model, "--text", "one", "--output", page)
    assert again.status == 1 and "exists" in again.err
    assert run("view", "--model", model, "--model", model, "--text", "two", "--output", page, "--force").status == 0
    assert len(payload_of(page.read_text(encoding="utf-8"))["tokenizers"]) == 2
