"""A headless Chromium for pages; tests skip where none is installed (`make browser` installs one)."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SHOTS = os.environ.get("PAIRLOOM_SCREENSHOTS")
"""A folder for screenshots; none are taken without it."""

VIEWPORTS = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no browser for tests: playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        # Debian's Chromium if playwright has not fetched its own.
        fetched = Path(playwright.chromium.executable_path)
        path = str(fetched) if fetched.is_file() else shutil.which("chromium") or shutil.which("google-chrome")
        if path is None:
            pytest.skip("no browser for tests: Chromium is not installed")
        # Containers run as root, where Chromium's own sandbox does not start.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """new_page(viewport="desktop", scheme="light", **context): an empty page; its errors and dialogs fail the test."""
    contexts: list[Any] = []
    problems: list[str] = []

    def dismissed(dialog: Any) -> None:
        problems.append("a dialog opened")
        dialog.dismiss()

    def new(viewport: str = "desktop", scheme: str = "light", **options: Any) -> Any:
        width, height = VIEWPORTS[viewport]
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", dismissed)
        return page

    yield new
    for context in contexts:
        context.close()
    assert not problems


@pytest.fixture
def open_page(new_page: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """open_page(html, viewport="desktop", scheme="light"): the page; errors of its console fail the test."""
    problems: list[str] = []

    def opened(html: str, viewport: str = "desktop", scheme: str = "light") -> Any:
        # No network at all: a page that requests anything fails.
        page = new_page(viewport, scheme, offline=True)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield opened
    assert not problems


@pytest.fixture
def screenshot() -> Callable[[Any, str], None]:
    def taken(page: Any, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))

    return taken
