"""The view page in a real browser: pointing, keys, the slider, a megabyte, hostile text, accessibility."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.view.view import View
from tests.browser.pages import violations
from tests.view.test_view import HOSTILE

Opener = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")]
    return Tokenizer.train(texts, 900, corpus_specials="split", decode_errors="replace")


@pytest.fixture(scope="module")
def other() -> Tokenizer:
    return Tokenizer.train(
        (ROOT / "README.md").read_text(encoding="utf-8"), 400, pattern="o200k", corpus_specials="split"
    )


def ready(page: Any) -> Any:
    page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
    return page


def facts(page: Any) -> dict[str, str]:
    terms = page.locator("#facts dt").all_inner_texts()
    return dict(zip(terms, page.locator("#facts dd").all_inner_texts(), strict=True))


def test_pointing_at_a_token_shows_it(open_page: Opener, tokenizer: Tokenizer) -> None:
    text = "a tokenizer for 東京\t<|endoftext|>x"
    page = ready(open_page(tokenizer.view(text).html()))
    ids = tokenizer.encode(text)
    spans = page.locator(".t[data-i]")
    assert spans.count() == len(ids)
    rank_of = {left + right: rank for rank, (left, right) in enumerate(tokenizer.merges)}
    for index, token_id in enumerate(ids):
        spans.nth(index).hover()
        shown, token = facts(page), tokenizer.id_to_token(token_id)
        assert shown["id"] == str(token_id)
        assert shown["bytes"].startswith(token.hex(" ").upper())
        if token in rank_of:
            assert shown["rank"] == str(rank_of[token])
            # The tree's leaves spell the token.
            assert page.locator("#tree li").count() == 2 * len(token) - 1
        assert len(token) > 1 or token in rank_of or "byte" in shown["rank"]
    assert page.locator(".whole").all_text_contents() == ["東", "京"]
    assert page.locator(".parts .t").count() == 6
    spans.nth(6).hover()
    assert facts(page)["character"] == "part 3 of 3 of 東 U+6771, 1 of its 3 bytes"
    assert page.locator(".t.special[data-i]").inner_text() == "<|endoftext|>"


def test_the_slider_replays_the_merges_of_the_definition(open_page: Opener, tokenizer: Tokenizer) -> None:
    rank_of = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
    for word in (" tokenizers", " pretokens", "reference", " banana", " ssssssssss"):
        page = ready(open_page(tokenizer.view(word).html()))
        symbols = [bytes((byte,)) for byte in word.encode()]
        expected = [list(symbols)]
        while True:
            found = [(rank_of[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in rank_of]
            if not found:
                break
            _, at = min(found)
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
            expected.append(list(symbols))
        slider = page.locator("#replay")
        assert slider.get_attribute("max") == str(len(expected) - 1)
        for step, wanted in enumerate(expected):
            slider.fill(str(step))
            shown = page.locator("#symbols small").all_inner_texts()
            assert [tokenizer.id_to_token(int(i)) for i in shown] == wanted
            assert f"tep {step} of" in page.locator("#replayed").inner_text()
        page.locator("#back").click()
        assert slider.input_value() == str(len(expected) - 2)
        page.locator("#forth").click()
        assert page.locator("#forth").is_disabled()


def test_keys_move_and_keep(open_page: Opener, tokenizer: Tokenizer) -> None:
    text = "the tokenizer trains\non a corpus"
    n = tokenizer.count_tokens(text)
    page = ready(open_page(tokenizer.view(text).html()))
    page.locator(".t[data-i]").first.focus()
    title = page.locator("#panel-title")
    for key, index in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", n), ("Home", 1)):
        page.keyboard.press(key)
        assert title.inner_text() == f"Token {index} of {n}"
    page.keyboard.press("Enter")
    page.locator(".t[data-i]").nth(3).hover()
    assert title.inner_text() == f"Token 1 of {n}", "what is kept stays"
    assert page.locator('[aria-selected="true"]').count() == 1
    page.keyboard.press("Escape")
    page.locator(".t[data-i]").nth(2).hover()
    assert title.inner_text() == f"Token 3 of {n}"
    assert page.locator('.t[tabindex="0"]').count() == 1, "Tab reaches one token of a text"
    label = page.locator(".t[data-i]").nth(1).get_attribute("aria-label")
    assert label and "id " in label


def test_a_megabyte_scrolls(open_page: Opener, tokenizer: Tokenizer, screenshot: Callable[[Any, str], None]) -> None:
    text = ((ROOT / "README.md").read_text(encoding="utf-8") * 200)[:1_000_000]
    page = ready(open_page(tokenizer.view(text).html()))
    n = tokenizer.count_tokens(text)
    for share in (0.25, 0.5, 1.0, 0.0):
        page.evaluate("share => scrollTo(0, document.body.scrollHeight * share)", share)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.t[data-i]')].some(t => { const b = t.getBoundingClientRect();"
            " return b.top > 100 && b.bottom < innerHeight; })"
        )
        assert page.locator(".t[data-i]").count() < 20_000, "tokens out of sight have no elements"
        if share == 0.5:
            screenshot(page, "view-megabyte")
    page.locator(".t[data-i]").first.focus()
    page.keyboard.press("End")
    assert page.locator("#panel-title").inner_text() == f"Token {n:,} of {n:,}"
    assert page.evaluate("document.activeElement === Array.from(document.querySelectorAll('.t')).at(-1)")


def test_hostile_text_runs_no_script(open_page: Opener, tokenizer: Tokenizer) -> None:
    special = tokenizer.add_special_tokens(["<img src=x onerror=document.title='owned'>"])
    text = HOSTILE + "<img src=x onerror=document.title='owned'>"
    page = ready(open_page(View([(HOSTILE, special)], [(HOSTILE, text)]).html()))
    for index in range(page.locator(".t[data-i]").count()):
        page.locator(".t[data-i]").nth(index).hover()
    assert page.title().startswith("Tokens of ")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "[U+202E]" in page.locator("#texts h2").inner_text()
    # Each direction control is alone in a box, so that it affects nothing outside.
    boxes = page.evaluate("""() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
        for (let node; (node = walker.nextNode());) {
            if (/[\u202a-\u202e\u2066-\u2069]/.test(node.data) && !node.parentElement.closest("script")) {
                found.push([node.data.length, getComputedStyle(node.parentElement).display]);
            }
        }
        return found;
    }""")
    assert boxes and all(box == [1, "inline-block"] for box in boxes)
    assert page.evaluate("window.owned") is None


def test_two_tokenizers_side_by_side(open_page: Opener, tokenizer: Tokenizer, other: Tokenizer) -> None:
    text = "the tokenizers train on documents\n" * 40
    page = ready(open_page(tokenizer.view({"a": text}, other=other).html()))

    def cuts(side: Tokenizer) -> set[tuple[int, int]]:
        spans, at = set(), 0
        for token_id in side.encode(text):
            spans.add((at, at + len(side.id_to_token(token_id))))
            at += len(side.id_to_token(token_id))
        return spans

    n_a, n_b = len(cuts(tokenizer) - cuts(other)), len(cuts(other) - cuts(tokenizer))
    assert page.locator(".differences").inner_text() == f"tokens that differ: A {n_a}, B {n_b}"
    assert page.locator(".t.differs[data-i]").count() == n_a + n_b
    page.locator("section button").click()
    assert page.evaluate("document.activeElement.classList.contains('differs')")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.classList.contains('differs')")
    same = ready(open_page(tokenizer.view("the cat", other=tokenizer).html()))
    assert same.locator(".differs[data-i]").count() == 0


COPIED = """(range) => {
    let copied = null;
    const caught = (event) => { copied = event.clipboardData.getData("text/plain"); };
    addEventListener("copy", caught, { once: true });
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
    return copied;
}"""


@pytest.mark.parametrize("n_sides", [1, 2])
def test_copying_a_part_of_a_text_returns_that_part(
    open_page: Opener, tokenizer: Tokenizer, other: Tokenizer, n_sides: int
) -> None:
    # tests/view/test_drawing.py tests that the nodes of a page hold texts of all scripts.
    text = "two  spaces and zero\u200bwidth,\ttab\r\nlast \u202eline"
    page = ready(open_page(tokenizer.view({"one": text, "two": text}, other=other if n_sides == 2 else None).html()))
    page.locator(".t[data-i]").first.focus()
    found = page.evaluate(
        f"""() => [[3, 20], [0, 40], [10, 11]].map(([start, end]) => {{
            const range = document.createRange();
            const place = (at) => {{
                const walker = document.createTreeWalker(document.querySelector(".cell"), NodeFilter.SHOW_TEXT);
                for (let node; (node = walker.nextNode()); at -= node.length) if (at <= node.length) return [node, at];
            }};
            range.setStart(...place(start));
            range.setEnd(...place(end));
            return ({COPIED})(range);
        }})"""
    )
    assert found == [text[3:20], text[:40], text[10:11]]
    page.keyboard.press("Control+A")
    whole = page.evaluate(f"() => ({COPIED})(getSelection().getRangeAt(0).cloneRange())")
    assert whole == f"{text}\n{text}"


def test_a_frame_has_the_panel_below_the_tokens(open_page: Opener, tokenizer: Tokenizer) -> None:
    """The frame fits any notebook width, without unused space."""
    for text, viewport in (("the cat", "phone"), ("the cat\n" * 60, "desktop")):
        page = open_page(f"<!DOCTYPE html><title>notebook</title>{tokenizer.view(text)._repr_html_()}", viewport)
        frame = page.frame_locator("iframe")
        frame.locator(".t[data-i]").nth(1).click()
        tokens, panel = frame.locator("main").bounding_box(), frame.locator("#panel").bounding_box()
        height = page.locator("iframe").bounding_box()["height"]
        assert tokens["y"] < 60 and panel["y"] >= tokens["y"] + tokens["height"] and panel["y"] + 200 < height < 900


@pytest.mark.parametrize("by", ["phone", "large type"])
def test_a_sheet_opens_for_a_token_and_closes(open_page: Opener, tokenizer: Tokenizer, by: str) -> None:
    page = ready(open_page(tokenizer.view("the tokenizers\n" * 80).html(), "phone" if by == "phone" else "desktop"))
    if by == "large type":
        page.locator("#large").click()
    panel, token = page.locator("#panel"), page.locator(".t[data-i]").nth(20)
    assert not panel.is_visible()
    token.hover()
    assert not panel.is_visible()
    token.click()
    assert panel.is_visible()
    assert token.bounding_box()["y"] + 10 < panel.bounding_box()["y"], "the token is not covered"
    page.locator("#panel .bar").click(position={"x": 5, "y": 5})
    assert panel.is_visible()
    page.mouse.click(5, 5)
    assert not panel.is_visible()
    token.click()
    page.locator("#unpin").click()
    assert not panel.is_visible()
    assert page.locator(".keys").is_visible() == (by != "phone")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth)")


def test_arabic_keeps_its_order(open_page: Opener, tokenizer: Tokenizer) -> None:
    """Right-to-left words stay joined if tokens split their letters; in sentences, quotes and ids stay in place."""
    text = "with \u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 inside"
    page = ready(open_page(tokenizer.view(text).html()))
    first, second = (page.locator(".unit").nth(index).bounding_box()["x"] for index in (0, 1))
    assert first > second
    parts = page.locator(".parts").first.locator(".t")
    assert parts.first.bounding_box()["x"] > parts.last.bounding_box()["x"]
    words = ["\u0645\u0631\u062d\u0628\u0627"] * 9
    arabic = Tokenizer.train([" ".join(words)], 264)
    page = ready(open_page(arabic.view(words[0]).html()))
    page.locator("#replay").fill("3")
    bidi = page.locator("#replayed bdi")
    assert bidi.count() == 3 and "\u2018" in page.locator("#replayed").inner_text()
    boxes = [bidi.nth(index).bounding_box()["x"] for index in range(3)]
    assert boxes == sorted(boxes)


@pytest.mark.parametrize(
    ("scheme", "viewport", "sides"),
    [("light", "desktop", 2), ("dark", "desktop", 1), ("light", "phone", 1), ("dark", "phone", 2)],
)
def test_accessibility(
    open_page: Opener,
    tokenizer: Tokenizer,
    other: Tokenizer,
    screenshot: Callable[[Any, str], None],
    scheme: str,
    viewport: str,
    sides: int,
) -> None:
    """axe-core has no findings at all; its rules include contrast."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")[:3000] + HOSTILE
    page = ready(
        open_page(tokenizer.view({"README.md": text}, other=other if sides == 2 else None).html(), viewport, scheme)
    )
    page.locator(".t[data-i]").nth(30).click()
    screenshot(page, f"view-{sides}-{viewport}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing reaches beyond the window"
    assert not violations(page)
