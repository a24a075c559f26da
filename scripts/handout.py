"""Prints the handout of the built site as a PDF of one page: `make handout`, or `python scripts/handout.py [OUTPUT]`.

Needs playwright and a Chromium, as `make browser` does.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "site" / "handout.html"


def print_page(browser: Any, html: Path, output: Path) -> int:
    """Writes a page as a PDF of A4 sheets, and returns how many there are."""
    page = browser.new_page()
    page.goto(html.as_uri())
    page.pdf(path=str(output), format="A4", prefer_css_page_size=False)
    page.close()
    return len(re.findall(rb"/Type\s*/Page\b", output.read_bytes()))


def main(output: Path) -> int:
    """Prints the handout; 1 if it is not one page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        n_pages = print_page(browser, PAGE, output)
        browser.close()
    print(f"{output}: {n_pages} page{'s' * (n_pages != 1)}")
    return int(n_pages != 1)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "handout.pdf")))
