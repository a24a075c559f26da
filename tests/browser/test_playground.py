"""The playground in a real browser: ids of the native core, merges of the reference, typing, loading, learning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.formats import huggingface, tiktoken
from pairloom.reference import naive
from pairloom.view.payload import merge_trees
from tests.browser.axe import violations
from tests.browser.conftest import VIEWPORTS
from tests.browser.serving import served
from tests.wasm.test_module import _texts as varied_texts
from tests.wasm.test_module import module as module

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = ROOT / "docs" / "playground"
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Playground</title><link rel="stylesheet" href="display.css">
<link rel="stylesheet" href="playground.css">
<style>:root { color-scheme: light dark }
@media (prefers-color-scheme: dark) { body { background: #1e2129; color: #e2e4e9 } }</style>
<body><main><h1>Playground</h1><div id="pairloom-playground" class="pairloom"></div></main>
<script>if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.dataset.mdColorScheme = "slate";</script>
<script type="module" src="playground.js"></script></body></html>"""


@pytest.fixture(scope="module")
def site(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    for path in (*PLAYGROUND.iterdir(), *(ROOT / "src/pairloom/view").glob("display.*")):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "pairloom.wasm").write_bytes(module.read_bytes())
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    with served(folder) as url:
        yield url


@pytest.fixture
def playground(chromium: Any, site: str) -> Iterator[Callable[..., Any]]:
    contexts: list[Any] = []
    problems: list[str] = []

    def opened(viewport: str = "desktop", scheme: str = "light") -> Any:
        width, height = VIEWPORTS[viewport]
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(site) else problems.append(request.url))
        page.goto(site)
        page.wait_for_selector("#pairloom-playground[data-ready=yes]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems, "an error, or something was asked of another host"


def test_it_encodes_as_the_native_core(playground: Callable[..., Any]) -> None:
    texts, corpus = varied_texts(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(texts) == 200
    page = playground()
    found = page.evaluate(
        """async ([corpus, texts]) => {
            const { Core } = await import("./core.js");
            const core = await Core.load("pairloom.wasm");
            const tokenizer = core.train(corpus, "o200k", 500);
            return texts.map((text) => Array.from(core.encode(tokenizer, text)));
        }""",
        [corpus, texts],
    )
    native = Tokenizer.train([corpus], 756, pattern="o200k", special_tokens=())
    assert found == [native.encode(text) for text in texts]


@pytest.mark.parametrize("tie_break", ["ids_least", "bytes_greatest"])
def test_it_trains_the_merges_of_the_reference(playground: Callable[..., Any], tie_break: Any) -> None:
    corpora = [
        (ROOT / "README.md").read_text(encoding="utf-8")[:3000],
        "low low low lower newest newest widest aaaa aaaaa 東京 東京都 😀😀 é é",
        "".join(varied_texts()[:60]),
    ]
    page = playground()
    for corpus in corpora:
        found = page.evaluate(
            """async ([corpus, greatest]) => {
                const { Core } = await import("./core.js");
                const core = await Core.load("pairloom.wasm");
                return core.merges(core.train(corpus, "gpt2", 80, greatest));
            }""",
            [corpus, tie_break == "bytes_greatest"],
        )
        expected = naive.train([corpus], 336, tie_break=tie_break)
        assert found == [[merge.left, merge.right, merge.merged_id] for merge in expected.merges]


def test_typing_changes_the_tokens(playground: Callable[..., Any]) -> None:
    page = playground()
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    for text in (
        "the newest low",
        "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
        "東京 \u202e x",
        "",
    ):
        page.locator("#pl-text").fill(text)
        ids = page.locator("#pl-ids").text_content()
        assert [int(each) for each in ids.split()] == native.encode(text)
        assert page.locator(".pl-tokens .t").count() == len(native.encode(text))
    assert page.title() == "Playground"


def test_the_pair_counts_of_each_step(playground: Callable[..., Any]) -> None:
    """The winner of each step is the pair that the reference counts most often."""
    page = playground()
    page.locator("#pl-corpus").fill("ab ab ab abc abc bcd bcd bcd bcd")
    page.locator("#pl-merges").fill("6")
    page.locator("#pl-train").click()
    words = [(list(pretoken), 1) for pretoken in naive.pretokenize("ab ab ab abc abc bcd bcd bcd bcd", "gpt2")]
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for step in range(6):
        page.locator("#pl-step").fill(str(step))
        counts = naive.count_pairs(words)
        best = naive.select_best_pair(counts, vocab)
        assert best is not None
        cells = page.locator(".pl-wins td").all_inner_texts()
        parts = [vocab[symbol].decode().replace(" ", "·") for symbol in best]
        assert cells == [" + ".join(parts), str(counts[best]), f"merged to id {256 + step}"]
        vocab[256 + step] = vocab[best[0]] + vocab[best[1]]
        words = [(naive.apply_merge(ids, best, 256 + step), count) for ids, count in words]


def _loaded(page: Any, path: Path) -> None:
    page.locator("#pl-file").set_input_files(path)
    page.wait_for_function("name => document.getElementById('pl-from').textContent.startsWith(name)", arg=path.name)


def _ids(page: Any, text: str) -> list[int]:
    page.locator("#pl-text").fill(text)
    return [int(each) for each in page.locator("#pl-ids").text_content().split()]


def test_a_tokenizer_from_disk(playground: Callable[..., Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer.train_files([ROOT / "README.md"], 400, pattern="cl100k", corpus_specials="split")
    tokenizer.save(tmp_path / "model.json")
    (tmp_path / "model.tiktoken").write_bytes(tiktoken.write(tokenizer.model))
    (tmp_path / "tokenizer.json").write_bytes(huggingface.write(tokenizer.model))
    page = playground()
    page.locator("#pl-pattern").select_option("cl100k")
    for name in ("model.json", "model.tiktoken", "tokenizer.json"):
        _loaded(page, tmp_path / name)
        text = "the tokens<|endoftext|>12345"
        expected = tokenizer.encode_ordinary(text) if name == "model.tiktoken" else tokenizer.encode(text)
        assert _ids(page, text) == expected
    file = json.loads((tmp_path / "tokenizer.json").read_bytes())
    file["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "lowercase.json").write_text(json.dumps(file), encoding="utf-8")
    for name, content, told in (
        ("lowercase.json", json.dumps(file), "Lowercase"),
        ("broken.json", "{}", "the file"),
        ("broken.tiktoken", "no token", "not a tokenizer file"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        page.locator("#pl-file").set_input_files(tmp_path / name)
        page.wait_for_function("told => document.querySelector('.pl-error')?.textContent.includes(told)", arg=told)
        assert page.locator("#pl-from").inner_text().startswith("tokenizer.json"), "the tokenizer before stays"


def test_a_tokenizer_json_from_disk_encodes_as_the_native_core(playground: Callable[..., Any], tmp_path: Path) -> None:
    texts = [*varied_texts(), "one<|endoftext|>two"]
    tokenizer = Tokenizer.train([(ROOT / "README.md").read_text(encoding="utf-8")], 800, pattern="llama3")
    (tmp_path / "tokenizer.json").write_bytes(huggingface.write(tokenizer.model))
    page = playground()
    _loaded(page, tmp_path / "tokenizer.json")
    for text in texts[:20]:  # what a page makes of line breaks and lone surrogates is not the tokenizer's
        if "\r" not in text:
            assert _ids(page, text) == tokenizer.encode(text)
    found = page.evaluate(
        """async ([file, texts]) => {
            const { Core } = await import("./core.js");
            const core = await Core.load("pairloom.wasm");
            const tokenizer = core.open(new TextEncoder().encode(file), "gpt2");
            return texts.map((text) => Array.from(core.encode(tokenizer, text)));
        }""",
        [(tmp_path / "tokenizer.json").read_text(encoding="utf-8"), texts],
    )
    assert found == [tokenizer.encode(text) for text in texts]


def test_the_merge_tree_of_a_token(playground: Callable[..., Any], tmp_path: Path) -> None:
    page = playground()
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    ids = _ids(page, "the newest<b>x</b>")
    nodes = merge_trees(native.model, ids)

    def tree(token_id: int) -> list[str]:
        """The nodes as the page shows them, breadth first."""
        told, open_ids = [], [token_id]
        while open_ids:
            each = open_ids.pop(0)
            rank, left, right = nodes.get(each, (None, None, None))
            told.append(f"{native.id_to_token(each).decode()}id {each}" + ("" if rank is None else f"rank {rank}"))
            open_ids += [part for part in (left, right) if part is not None]
        return told

    for index, token_id in enumerate(ids):
        page.locator(".pl-tokens .t").nth(index).hover()
        assert page.locator("#pl-panel-title").inner_text() == f"Token {index + 1}"
        assert sorted(page.locator("#pl-tree .node").all_text_contents()) == sorted(tree(token_id))
        assert page.locator("#pl-facts dd").first.inner_text() == str(token_id)
    # A click keeps a token; the arrow keys and Escape.
    page.locator(".pl-tokens .t").nth(1).click()
    page.locator(".pl-tokens .t").nth(0).hover()
    assert page.locator("#pl-panel-title").inner_text() == "Token 2"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    assert page.locator("#pl-panel-title").inner_text() == "Token 3"
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.locator("[aria-selected=true]").count() == 1
    for expected in ("pl-unpin", "pl-tree"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == expected


def test_a_special_token_has_no_merge_tree(playground: Callable[..., Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["low low"], 258, special_tokens=["<|x|>"])
    tokenizer.save(tmp_path / "model.json")
    page = playground()
    _loaded(page, tmp_path / "model.json")
    _ids(page, "<|x|>")
    assert "special token" in page.locator("#pl-facts").inner_text()
    assert page.locator("#pl-tree .node").count() == 1


def test_it_says_where_webassembly_is_off(chromium: Any, site: str) -> None:
    page = chromium.new_context().new_page()
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto(site)
    page.wait_for_selector("#pairloom-playground[data-ready=failed]")
    assert "WebAssembly turned off" in page.locator("[role=alert]").inner_text()
    page.context.close()


def test_it_says_where_the_engine_is_missing(chromium: Any, site: str) -> None:
    page = chromium.new_context().new_page()
    page.route("**/pairloom.wasm", lambda route: route.fulfill(status=404))
    page.goto(site)
    page.wait_for_selector("#pairloom-playground[data-ready=failed]")
    assert "rustup target add" in page.locator("[role=alert]").inner_text()
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", ["desktop", "phone"])
def test_accessibility(
    playground: Callable[..., Any], screenshot: Callable[[Any, str], None], viewport: str, scheme: str
) -> None:
    page = playground(viewport, scheme)
    page.locator(".pl-tokens .t").nth(2).click()
    screenshot(page, f"playground-{viewport}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing reaches beyond the window"
    assert not violations(page)
