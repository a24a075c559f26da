"""Prints the built site's handout as a PDF with a headless Chromium; `make docs` and `make handout` run it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "site" / "handout.html"


def print_page(html: Path, output: Path) -> int:
    """Writes a page as a PDF and returns its number of sheets; 0 if no Chromium can print it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    output.unlink(missing_ok=True)
    if browser is None:
        return 0
    with tempfile.TemporaryDirectory() as profile:
        # Containers run as root, where Chromium's own sandbox does not start.
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
        ]
        subprocess.run(
            [browser, *options, f"--print-to-pdf={output}", html.as_uri()],
            capture_output=True,
            timeout=120,
            check=False,
        )
    return len(re.findall(rb"/Type\s*/Page\b", output.read_bytes())) if output.is_file() else 0


def main(output: Path) -> int:
    """Prints the handout; returns 1 if it is not a single page."""
    n_pages = print_page(PAGE, output)
    print(f"{output}: {n_pages} page{'s' * (n_pages != 1)}" if n_pages else "no Chromium was found that prints pages")
    return int(n_pages != 1)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "handout.pdf")))
