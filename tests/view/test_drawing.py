"""How display.js draws tokens, in node: the page's text equals the text, and characters stay whole."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.view import view as view_module
from pairloom.view.static import units
from pairloom.view.view import View
from tests.cases import INPUTS
from tests.formats.test_sentencepiece import load, model_file, random_pieces
from tests.view.test_view import payload_of, texts_of_all_scripts

DISPLAY = Path(view_module.__file__).with_name("display.js")
# Byte tokens except for some words, so most characters of other scripts are split.
ENGLISH = "the cat sat on the mat, and the tokenizer trains on a corpus of the words caf\u00e9 caf\u00e9 " * 3


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return Tokenizer.train(ENGLISH, 300, decode_errors="replace")


def drawn(folder: Path, view: Any) -> list[dict[str, Any]]:
    """Returns what display.js draws for the view's texts."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, which runs JavaScript")
    module = folder / "display.mjs"  # node treats .js as CommonJS
    module.write_bytes(DISPLAY.read_bytes())
    command = [node, str(Path(__file__).with_name("draw.mjs")), str(module)]
    done = subprocess.run(
        command, input=json.dumps(payload_of(view.html())), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: list[dict[str, Any]] = json.loads(done.stdout)
    return result


def test_the_text_of_the_page_is_the_text(english: Tokenizer, tmp_path: Path) -> None:
    """Copying a side gives its text, whether or not its tokens have elements."""
    texts = texts_of_all_scripts()
    other = Tokenizer.train(texts, 700, pattern="o200k", decode_errors="replace")
    for text, found in zip(texts, drawn(tmp_path, english.view(texts, other=other)), strict=True):
        assert found["before"] == found["after"] == [text, text]
        assert len(found["tokens"]) == english.count_tokens(text) + other.count_tokens(text)
    # Where a normaliser changes the text, the sides never end together.
    text, changing = "caf\u00e9 caf\u00e9", english.with_normalizer("nfd")
    (found,) = drawn(tmp_path, english.view(text, other=changing))
    assert len(found["tokens"]) == english.count_tokens(text) + changing.count_tokens(text)


@pytest.mark.parametrize(("text", "wholes"), INPUTS["drawn"])
def test_what_is_cut_is_drawn_whole(english: Tokenizer, tmp_path: Path, text: str, wholes: list[str]) -> None:
    """Characters of several bytes, clusters of several characters, words whose letters join."""
    (found,) = drawn(tmp_path, english.view(text))
    assert [whole.strip(" ") for whole in found["units"]] == [whole.strip(" ") for whole in wholes]
    assert found["after"] == [text]


def test_a_token_says_which_part_it_is(english: Tokenizer, tmp_path: Path) -> None:
    (found,) = drawn(tmp_path, english.view("\u0928a"))
    assert [label.rpartition(", id")[0] for label, _ in found["tokens"]] == [
        "bytes E0, part 1 of 3 of \u0928",
        "bytes A4, part 2 of 3 of \u0928",
        "bytes A8, part 3 of 3 of \u0928",
        "a",
    ]


def test_a_word_of_joined_letters_without_a_cut_stays_apart(tmp_path: Path) -> None:
    text = "مرحبا بالعالم " * 4
    arabic = Tokenizer.train(text, 330)
    (found,) = drawn(tmp_path, arabic.view(text.strip()))
    assert not found["units"] and found["after"] == [text.strip()]


@pytest.mark.parametrize("text", ["नमस्ते", "ab 東京 x", "👨‍👩‍👧‍👦!", "👍🏽", "🇯🇵🇩🇪", "e\u0301a", "", "plain"])
def test_units_without_a_script_are_the_same(english: Tokenizer, tmp_path: Path, text: str) -> None:
    tokens = [english.id_to_token(token_id) for token_id in english.encode(text)]
    static = list(units(tokens))
    assert "".join(shown for shown, _ in static) == text and sum(n for _, n in static) == len(tokens)
    if text != "नमस्ते":  # whose last two letters a browser treats as one
        (found,) = drawn(tmp_path, english.view(text))
        assert [shown for shown, n in static if n > 1] == found["units"]


def test_bytes_that_are_no_text_shift_no_units() -> None:
    assert list(units([b"\xc3", b" ", b"a", "é".encode(), b"\xe2\x82"])) == [
        ("\ufffd", 1),
        (" ", 1),
        ("a", 1),
        ("é", 1),
        ("\ufffd", 1),
    ]
    assert list(units([b"\xff\xc3", b"\xa9", b"a"])) == [("\ufffdé", 2), ("a", 1)]


def test_a_prefix_of_one_side_shifts_no_differences(tmp_path: Path) -> None:
    pieces = load(tmp_path, model_file(random_pieces(random.Random(9))))
    english = Tokenizer.train("ab", 256, special_tokens=())
    for sides in ([("a", english), ("b", pieces)], [("b", pieces), ("a", english)]):
        (text,) = drawn(tmp_path, View(sides, [("t", " .a\U0001f600-.")]))
        # Both sides have a token for each byte or character; one has a space more, before the text.
        labels = [label for label, _ in text["tokens"] if label.endswith("differs")]
        assert labels == [f"space, id {pieces.encode('.')[0]}, differs"]
