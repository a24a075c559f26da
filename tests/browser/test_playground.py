"""The playground in a real browser: ids of the native core, merges of the reference, typing, loading, learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.reference import naive
from tests.browser.axe import violations
from tests.browser.conftest import VIEWPORTS
from tests.browser.serving import served
from tests.wasm.test_module import _texts as varied_texts
from tests.wasm.test_module import module as module

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = ROOT / "docs" / "playground"
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Playground</title><link rel="stylesheet" href="playground.css">
<style>:root { color-scheme: light dark }
@media (prefers-color-scheme: dark) { body { background: #1e2129; color: #e2e4e9 } }</style>
<body><main><h1>Playground</h1><div id="pairloom-playground"></div></main>
<script>if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.dataset.mdColorScheme = "slate";</script>
<script type="module" src="playground.js"></script></body></html>"""


@pytest.fixture(scope="module")
def site(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    for path in PLAYGROUND.iterdir():
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
        assert page.locator(".pl-token").count() == len(native.encode(text))
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


def test_a_tokenizer_from_disk(playground: Callable[..., Any], tmp_path: Path) -> None:
    tokenizer = Tokenizer.train_files([ROOT / "README.md"], 400, pattern="cl100k", corpus_specials="split")
    tokenizer.save(tmp_path / "model.json")
    tokenizer.save(tmp_path / "model.tiktoken")
    page = playground()
    for name, text in (("model.json", "the tokens<|endoftext|>12345"), ("model.tiktoken", "the tokens 12345")):
        page.locator("#pl-pattern").select_option("cl100k")
        page.locator("#pl-file").set_input_files(tmp_path / name)
        page.wait_for_function("name => document.getElementById('pl-from').textContent.startsWith(name)", arg=name)
        page.locator("#pl-text").fill(text)
        assert [int(each) for each in page.locator("#pl-ids").text_content().split()] == tokenizer.encode(text)
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    page.locator("#pl-file").set_input_files(tmp_path / "broken.json")
    page.wait_for_selector(".pl-error")
    assert "the file" in page.locator(".pl-error").inner_text()


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
    screenshot(page, f"playground-{viewport}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing reaches beyond the window"
    assert not violations(page)
