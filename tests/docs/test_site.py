"""The built site: links and anchors exist, no page loads from the network; pictures of a script are up to date."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pairloom import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
# Links that are not to pages: the source of the page, and links for search engines only.
NOT_LOADED = {"canonical", "prev", "next", "edit"}


class Page(HTMLParser):
    """Collects what a page links to, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in LOADING and given.get("rel") not in NOT_LOADED:
                self.loads.append(value)


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the documentation is not built: make docs")
    return {path: Page(path) for path in SITE.rglob("*.html")}


def test_every_internal_link_and_anchor_exists(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, because any path can be missing
            continue
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids | {"__search"}):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert not broken


def test_every_page_names_a_picture_that_exists(pages: dict[Path, Page]) -> None:
    for path in pages:
        if path.name != "404.html":
            shown = re.search(r'<meta property="og:image" content="([^"]+)"', path.read_text(encoding="utf-8"))
            assert shown and (SITE / shown[1]).is_file(), path


def test_every_block_of_code_is_one(pages: dict[Path, Page]) -> None:
    for path in pages:
        assert "```" not in path.read_text(encoding="utf-8"), f"{path}: a fence that the generator does not know"


def test_every_source_page_is_built(pages: dict[Path, Page]) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        assert (SITE / source.relative_to(ROOT / "docs")).with_suffix(".html") in pages


def test_reference_documents_every_method_of_a_tokenizer(pages: dict[Path, Page]) -> None:
    anchors = {name.rpartition(".")[2] for name in pages[SITE / "reference/api.html"].ids if "tokenizer" in name}
    assert {name for name in dir(Tokenizer) if name[0] != "_"} <= anchors


def test_no_id_stands_twice_in_a_page(pages: dict[Path, Page]) -> None:
    for path in pages:
        ids = re.findall(r'<(?!svg)[^<>]*\sid="([^"]+)"', path.read_text(encoding="utf-8"))
        # The theme uses these ids for its own switches, some of them twice.
        twice = {each for each in ids if ids.count(each) > 1 and not each.startswith("__")}
        assert not twice, f"{path.relative_to(SITE)}: {twice}"


def test_the_ladders_figures_are_those_of_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "ladder_figures.py"), str(tmp_path)], check=True)
    drawn = {figure.name: figure.read_bytes() for figure in tmp_path.iterdir()}
    assert len(drawn) == 4
    assert drawn == {name: (ROOT / "docs" / "pictures" / name).read_bytes() for name in drawn}
