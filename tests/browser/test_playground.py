"""The playground in a real browser: ids of the native core, typing, loading, learning."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.formats import huggingface, tiktoken
from pairloom.view.payload import merge_trees
from tests.browser.pages import served, violations
from tests.formats.test_sentencepiece import model_file, random_pieces
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
    subprocess.run([sys.executable, ROOT / "scripts/playground_files.py", module, folder], check=True)
    for path in PLAYGROUND.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    with served(folder) as url:
        yield url


@pytest.fixture
def playground(new_page: Callable[..., Any], site: str) -> Iterator[Callable[..., Any]]:
    """playground(viewport="desktop", scheme="light"): the page, which may ask no other host for anything."""
    asked: list[str] = []

    def opened(*look: str) -> Any:
        page = new_page(*look)
        page.on("request", lambda request: asked.append(request.url.removeprefix("blob:")))
        page.goto(site)
        page.wait_for_selector("#pairloom-playground[data-ready=yes]")
        return page

    yield opened
    assert all(url.startswith(site) for url in asked)


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
    file["normalizer"] = {"type": "StripAccents"}
    (tmp_path / "accents.json").write_text(json.dumps(file), encoding="utf-8")
    for name, content, told in (
        ("accents.json", json.dumps(file), "StripAccents"),
        ("broken.json", "{}", "the file"),
        ("broken.tiktoken", "no token", "cannot be detected"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        page.locator("#pl-file").set_input_files(tmp_path / name)
        page.wait_for_function("told => document.querySelector('#pl-file-error').textContent.includes(told)", arg=told)
        assert page.locator("#pl-from").inner_text().startswith("tokenizer.json"), "the tokenizer before stays"


def test_the_merge_tree_of_a_token(playground: Callable[..., Any], tmp_path: Path) -> None:
    page = playground()
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    ids = _ids(page, "the newest<b>x</b>")
    nodes = merge_trees(native.model, ids)

    def tree(token_id: int) -> list[str]:
        """Returns the nodes as the page shows them, breadth first."""
        told, open_ids = [], [token_id]
        while open_ids:
            each = open_ids.pop(0)
            rank, left, right = nodes.get(each, (None, None, None))
            told.append(native.id_to_token(each).decode() + (f"{each}" if rank is None else f"id {each}rank {rank}"))
            open_ids += [part for part in (left, right) if part is not None]
        return told

    for index, token_id in enumerate(ids):
        page.locator(".pl-tokens .t").nth(index).hover()
        assert page.locator("#pl-panel-title").inner_text() == f"Token {index + 1}"
        assert sorted(page.locator("#pl-tree .node").all_text_contents()) == sorted(tree(token_id))
        assert page.locator("#pl-facts dd").first.inner_text() == str(token_id)
    # The keys are tested on the view page, which shares them.
    page.locator(".pl-tokens .t").nth(0).click()
    for expected in ("pl-ids", "pl-unpin", "pl-tree"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == expected


def _said(page: Any, field: str, part: str) -> None:
    """Waits until the message next to a field contains `part`."""
    page.wait_for_function(
        "([field, part]) => document.getElementById(field + '-error').textContent.includes(part)", arg=[field, part]
    )


def _assert_drawn(page: Any, native: Tokenizer, ids: list[int]) -> None:
    """Asserts that kept and rebuilt rows show these ids, in order."""
    rows = page.evaluate("""() => {
        const labelOf = (each) => each.getAttribute("aria-label");
        return Array.from(document.querySelectorAll(".pl-tokens .cell"),
            (cell) => [cell.textContent, labelOf(cell), Array.from(cell.querySelectorAll(".t"), labelOf)]);
    }""")  # fmt: skip
    assert "".join(text for text, _, _ in rows) == native.decode_bytes(ids).decode()
    labelled = [(label.split()[1], label.split()[3], tokens) for _, label, tokens in rows if label]
    assert labelled, "none is drawn"
    for first, last, tokens in labelled:
        found = [int(label.rpartition(", id ")[2]) for label in tokens]
        assert found == ids[int(first.replace(",", "")) - 1 : int(last.replace(",", ""))]


def test_typing_keeps_the_rows_that_are_the_same(playground: Callable[..., Any]) -> None:
    page = playground()
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    rng = random.Random(3)
    words = ["the lowest ", "newest\n", "a\n" * 3, "\n", "x", "東京 ", "😀", "the same line of some words\n"]
    words.append("<script>document.title='owned'</script><img src=x onerror=alert(1)>")
    text = "".join(rng.choices(words, k=120))
    page.locator("#pl-text").fill(text)
    page.evaluate("document.querySelectorAll('.pl-tokens .block').forEach((row) => { row.wasThere = true; })")
    for turn in range(12):
        start = rng.randrange(len(text))
        text = text[:start] + rng.choice(words) + text[start + rng.choice([0, 0, 1, 30]) :]
        page.evaluate("""(text) => {
            const input = document.getElementById("pl-text");
            input.value = text;
            input.dispatchEvent(new Event("input"));
        }""", text)  # fmt: skip
        ids = native.encode(text)
        assert [int(each) for each in page.locator("#pl-ids").text_content().split()] == ids
        _assert_drawn(page, native, ids)
        if turn == 0:
            kept = page.evaluate(
                "[...document.querySelectorAll('.pl-tokens .block')].filter((row) => row.wasThere).length"
            )
            assert kept >= page.locator(".pl-tokens .block").count() - 2 > 2
    assert page.title() == "Playground"
    # The panel and the keyboard know the new positions of the tokens.
    page.locator(".pl-tokens .t").last.click()
    assert page.locator("#pl-panel-title").inner_text() == f"Token {len(ids):,}"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.i") == "1"


def test_typing_in_a_long_text_encodes_what_changes(playground: Callable[..., Any]) -> None:
    page = playground()
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    text = (ROOT / "README.md").read_text(encoding="utf-8") * 20 + "😀 the end"
    page.locator("#pl-text").fill("")
    page.evaluate("""(text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        document.getElementById("pl-text").dispatchEvent(new ClipboardEvent("paste", { clipboardData }));
    }""", text)  # fmt: skip
    assert page.locator("#pl-where").inner_text().endswith(": you edit this part")
    for turn in range(6):
        shown = page.locator("#pl-text").input_value()
        start = text.index(shown)
        assert len(shown) < 4000 and text[start : start + len(shown)] == shown
        at = page.evaluate("""(turn) => {
            const input = document.getElementById("pl-text");
            const at = turn % 2 ? input.value.length : input.value.indexOf(" ", 100);
            input.focus();
            input.setSelectionRange(at, at + turn);
            document.execCommand("insertText", false, "lowest 😀");
            return at;
        }""", turn)  # fmt: skip
        text = text[: start + at] + "lowest 😀" + text[start + min(at + turn, len(shown)) :]
        ids = native.encode(text)
        told = page.locator("#pl-told").inner_text()
        assert told.startswith(f"the one trained here: {len(text.encode()):,} bytes, {len(ids):,} tokens")
        first = native.encode(text[:start])
        drawn = [int(each) for each in page.locator("#pl-ids").text_content().split()]
        at = next(at for at in range(max(0, len(first) - 2), len(first) + 2) if ids[at : at + len(drawn)] == drawn)
        assert native.decode_bytes(ids[at : at + len(drawn)]).decode(errors="ignore").count("lowest 😀") >= 1
        _assert_drawn(page, native, drawn)
        page.locator("#pl-earlier").click()


def test_menu_has_the_toy_of_cs336_and_trained_ones(playground: Callable[..., Any]) -> None:
    page = playground()
    page.locator("#pl-menu").select_option("toy")
    page.wait_for_function("document.getElementById('pl-said').textContent.startsWith('Step 1 of 6')")
    merges = []
    for step in range(6):
        page.locator("#pl-step").fill(str(step))
        merges.append(page.locator(".pl-wins td").first.inner_text().replace(" + ", " "))
    assert merges == ["s t", "e st", "o w", "l ow", "w est", "n e"]
    for key, name, text in (
        ("english", "English", "the following"),
        ("code", "Python", "def f(self):\n"),
        ("languages", "17 languages", "Все люди"),
    ):
        page.locator("#pl-menu").select_option(key)
        page.wait_for_function("name => document.getElementById('pl-from').textContent.startsWith(name)", arg=name)
        n = len(_ids(page, text))
        assert 1 < n < 0.8 * len(text.encode()), name


def test_files_of_one_name_are_two_tokenizers(playground: Callable[..., Any], tmp_path: Path) -> None:
    page = playground()
    trained = [Tokenizer.train(["low lower lowest " * 9], size, special_tokens=()) for size in (258, 261)]
    for number, tokenizer in enumerate(trained):
        (tmp_path / str(number)).mkdir()
        tokenizer.save(tmp_path / str(number) / "english")
    _loaded(page, tmp_path / "0/english")
    page.locator("#pl-other").select_option("english (2)")  # the menu has its own "english"
    page.locator("#pl-file").set_input_files(tmp_path / "1/english")
    page.wait_for_function("document.getElementById('pl-from').textContent.startsWith('english (3)')")
    assert _ids(page, "lowest") == trained[1].encode("lowest")
    other = [int(each) for each in page.locator("#pl-ids-2").text_content().split()]
    assert other == trained[0].encode("lowest") != trained[1].encode("lowest")
    page.locator("#pl-other").select_option("")
    page.wait_for_function("!document.querySelector('.differs') && document.getElementById('pl-ids-2').hidden")


def test_all_tokens_of_a_lengthened_text_are_shown(playground: Callable[..., Any], tmp_path: Path) -> None:
    page = playground()
    data = model_file(random_pieces(random.Random(9)))
    (tmp_path / "tokenizer.model").write_bytes(data)
    _loaded(page, tmp_path / "tokenizer.model")
    assert _ids(page, "abc") == Tokenizer.load(tmp_path / "tokenizer.model").encode("abc"), "with its space before"
    # Of a long text, the part that is shown: one token a character here, and one before the text.
    page.locator("#pl-text").fill("-." * 3000)
    shown = [int(each) for each in page.locator("#pl-ids").text_content().split()]
    assert page.locator("#pl-where").inner_text().startswith("Characters 4,001 to 6,000")
    assert shown == Tokenizer.load(tmp_path / "tokenizer.model").encode("-." * 3000)[4001:]


def test_link_holds_text_and_settings(playground: Callable[..., Any]) -> None:
    page = playground()
    page.locator("#pl-corpus").fill("aab aab & 東京 #x")
    page.locator("#pl-pattern").select_option("o200k")
    page.locator("#pl-merges").fill("3")
    page.locator("#pl-ties").select_option("bytes_greatest")
    page.locator("#pl-train").click()
    page.locator("#pl-other").select_option("code")
    page.wait_for_selector(".pl-tokens .differs")
    ids = _ids(page, "aab 東京 & <b>")
    page.locator("#pl-link").click()
    page.wait_for_function("location.hash.startsWith('#text=')")
    again = playground()
    again.goto(page.url)
    again.wait_for_function("document.getElementById('pl-text')?.value.startsWith('aab 東京')")
    again.wait_for_selector("#pairloom-playground[data-ready=yes]")
    assert [int(each) for each in again.locator("#pl-ids").text_content().split()] == ids
    assert again.locator("#pl-corpus").input_value() == "aab aab & 東京 #x"
    assert [again.locator(f"#pl-{name}").input_value() for name in ("pattern", "merges", "ties", "other")] == [
        "o200k",
        "3",
        "bytes_greatest",
        "code",
    ]
    page.locator("#pl-text").fill("x" * 9000)
    page.locator("#pl-link").click()
    _said(page, "pl-link", "shorten the text")


def test_settings_act_at_once_or_say_that_they_wait(playground: Callable[..., Any], tmp_path: Path) -> None:
    page = playground()
    corpus = page.locator("#pl-corpus").input_value()
    text = "the lowest and the newest tokens"
    for pattern, ties in (("digits", "ids_least"), ("digits", "bytes_greatest"), ("o200k", "bytes_greatest")):
        page.locator("#pl-pattern").select_option(pattern)
        page.locator("#pl-ties").select_option(ties)
        native = Tokenizer.train([corpus], 316, pattern=pattern, tie_break=ties, special_tokens=())
        page.wait_for_function(
            "ids => document.getElementById('pl-ids').textContent === ids", arg=" ".join(map(str, native.encode(text)))
        )
    page.locator("#pl-corpus").fill("other")
    _said(page, "pl-corpus", "press Train to learn from it")
    page.locator("#pl-menu").select_option("english")
    page.wait_for_function("document.getElementById('pl-from').textContent.startsWith('English')")
    page.locator("#pl-ties").select_option("ids_least")
    _said(page, "pl-ties", "press Train")
    # Another pattern splits a .tiktoken at once.
    tokenizer = Tokenizer.train([corpus * 9 + "12345 12345"], 400, pattern="o200k", special_tokens=())
    (tmp_path / "some.tiktoken").write_bytes(tiktoken.write(tokenizer.model))
    _loaded(page, tmp_path / "some.tiktoken")
    page.locator("#pl-text").fill("12345")
    for pattern in ("o200k", "gpt2"):
        page.locator("#pl-pattern").select_option(pattern)
        other = Tokenizer.load(tmp_path / "some.tiktoken", pattern=pattern)
        page.wait_for_function(
            "ids => document.getElementById('pl-ids').textContent === ids",
            arg=" ".join(map(str, other.encode("12345"))),
        )


def test_tokenizer_from_an_address_and_errors_beside_it(playground: Callable[..., Any], site: str) -> None:
    page = playground()
    for address, part in (("no address", "starts with https"), (site + "nothing.json", "404"), (site, "tokenizer")):
        page.locator("#pl-url").fill(address)
        page.locator("#pl-load").click()
        _said(page, "pl-url", part)
        assert page.locator("#pl-url").get_attribute("aria-invalid") == "true"
    page.locator("#pl-url").fill(site + "english.json")
    page.locator("#pl-load").click()
    page.wait_for_function("document.getElementById('pl-from').textContent.startsWith('english.json: 4,000 ids')")
    assert page.locator("#pl-url-error").inner_text() == ""


def test_page_opened_from_disk_has_the_engine_within(chromium: Any, module: Path, tmp_path: Path) -> None:
    """Opens the site's own markup, without a server."""
    markup = (ROOT / "docs/playground.md").read_text(encoding="utf-8")
    body = markup[markup.index("<link") : markup.index("## What it reads")]
    folder = tmp_path / "playground"
    folder.mkdir()
    (tmp_path / "playground.html").write_text(f'<!DOCTYPE html><meta charset="utf-8">{body}', encoding="utf-8")
    for path in (*PLAYGROUND.iterdir(), *(ROOT / "src/pairloom/view").glob("display.*")):
        (folder / path.name).write_bytes(path.read_bytes())
    page = chromium.new_context(offline=True).new_page()
    page.goto((tmp_path / "playground.html").as_uri())
    page.wait_for_function("document.body.textContent.includes('python -m http.server')")
    subprocess.run([sys.executable, ROOT / "scripts/playground_files.py", module, folder], check=True)
    page.reload()
    page.wait_for_selector("#pairloom-playground[data-ready=yes]")
    native = Tokenizer.train([page.locator("#pl-corpus").input_value()], 316, special_tokens=())
    assert _ids(page, "the lowest 東京") == native.encode("the lowest 東京")
    page.locator("#pl-menu").select_option("languages")
    page.wait_for_function("document.getElementById('pl-from').textContent.startsWith('17 languages')")
    page.context.close()


def test_package_runs_in_a_module_worker(playground: Callable[..., Any]) -> None:
    found = playground().evaluate("""async () => {
        const { Tokenizer } = await import("./pairloom/index.js");
        const tokenizer = await Tokenizer.train("low lower lowest newest", 9);
        const source = `import { Tokenizer } from "${new URL("pairloom/index.js", location.href)}";
            postMessage((await Tokenizer.train("low lower lowest newest", 9)).encode("lowest"));`;
        const code = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
        const worker = new Worker(code, { type: "module" });
        const ids = await new Promise((done) => worker.addEventListener("message", ({ data }) => done(data)));
        worker.terminate();
        return Array.from(ids).join() === Array.from(tokenizer.encode("lowest")).join();
    }""")  # fmt: skip
    assert found


def test_it_says_where_webassembly_is_off(chromium: Any, site: str) -> None:
    page = chromium.new_context().new_page()
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto(site)
    page.wait_for_selector("#pairloom-playground[data-ready=failed]")
    assert "WebAssembly is turned off" in page.locator("[role=alert]").inner_text()
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
