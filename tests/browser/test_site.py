"""The built documentation in a real browser: no serious axe-core findings, and no requests to other hosts."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages import served, violations

SITE = Path(__file__).resolve().parents[2] / "site"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the documentation is not built: make docs")
    with served(SITE) as url:
        yield url


KINDS = ("index", "overview", "lecture", "handout", "ladder", "playground", "guides/cs336", "reference/errors", "404")
"""Pages of each kind: of the others' markup there is nothing that these do not have, and a look takes seconds."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_of_each_kind_is_accessible(new_page: Callable[..., Any], site: str, scheme: str) -> None:
    page, problems = new_page(scheme=scheme), []
    # The dark scheme differs only in colours, which the first pages show.
    for name in KINDS if scheme == "light" else KINDS[:3]:
        page.goto(f"{site}{name}.html")
        page.wait_for_load_state("networkidle")
        # The corner of a table may be empty.
        problems += [f"{name}: {found}" for found in violations(page) if found[1] != "minor"]
    assert not problems


def test_every_page_shows_all_code_and_asks_no_other_host(new_page: Callable[..., Any], site: str) -> None:
    page, problems = new_page(), []
    page.on("request", lambda request: None if request.url.startswith(site) else problems.append(request.url))
    for path in sorted(SITE.rglob("*.html")):
        page.goto(site + path.relative_to(SITE).as_posix())
        if cut := page.evaluate(
            "[...document.querySelectorAll('pre > code')].filter(e => e.scrollWidth > e.clientWidth).length"
        ):
            problems.append(f"{path.name}: {cut} blocks of code are cut off")
    assert not problems


@pytest.mark.parametrize("place", ["server", "disk"])
def test_the_search_finds_a_page(new_page: Callable[..., Any], site: str, place: str) -> None:
    page = new_page()
    page.goto(site if place == "server" else (SITE / "index.html").as_uri())
    page.locator("input.md-search__input").first.click()
    page.keyboard.type("tie rule")
    page.wait_for_selector(".md-search-result__item a", timeout=20_000)
    assert page.locator(".md-search-result__item").count() > 0


def test_the_handout_prints_on_one_page_that_the_site_links(chromium: Any, site: str, tmp_path: Path) -> None:
    script = runpy.run_path(str(SITE.parent / "scripts" / "handout.py"))
    n_pages = script["print_page"](SITE / "handout.html", tmp_path / "handout.pdf")
    if not n_pages:
        pytest.skip("no browser for tests: Chromium is not installed")
    assert n_pages == 1
    assert (SITE / "handout.pdf").is_file() and 'href="handout.pdf"' in (SITE / "handout.html").read_text(
        encoding="utf-8"
    )
