"""The built documentation in a real browser: nothing of weight that axe-core finds, nothing asked of another host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.serving import served

SITE = Path(__file__).resolve().parents[2] / "site"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the documentation is not built: make docs")
    with served(SITE) as url:
        yield url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_asks_no_other_host(chromium: Any, site: str, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(site) else problems.append(request.url))
    for path in sorted(SITE.rglob("*.html")):
        page.goto(site + path.relative_to(SITE).as_posix())
        page.wait_for_load_state("networkidle")
        # The corner of a table may be empty.
        problems += [f"{path.name}: {found}" for found in violations(page) if found[1] != "minor"]
    context.close()
    assert not problems


def test_the_search_finds_a_page(chromium: Any, site: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(site)
    page.locator("input.md-search__input").first.click()
    page.keyboard.type("tie rule")
    page.wait_for_selector(".md-search-result__item a", timeout=20_000)
    assert page.locator(".md-search-result__item").count() > 0
    context.close()
