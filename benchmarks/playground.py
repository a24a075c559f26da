"""Times the playground of the built site in a headless Chromium: `make playground-figures`.

Each turn opens the page anew. Text: 1 MB of the sources of the standard library. Prints medians of all turns.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import statistics
import sysconfig
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from tests.browser.serving import served

SITE = Path(__file__).resolve().parents[1] / "site"
MODULE = SITE / "playground" / "pairloom.wasm"
N_BYTES = 1_000_000
N_MERGES = 1000

# Types the text, and waits until the browser has drawn its tokens.
TYPE = """async (text) => {
    const input = document.getElementById("pl-text");
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await drawn();
    const began = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    await drawn();
    return [Number(document.getElementById("pairloom-playground").dataset.encodeMs), performance.now() - began];
}"""
TRAIN = """async ([text, nMerges]) => {
    const { Core } = await import("./playground/core.js");
    const core = await Core.load("playground/pairloom.wasm");
    const began = performance.now();
    core.train(text, "gpt2", nMerges);
    return performance.now() - began;
}"""


def library_text() -> str:
    """The first megabyte of the standard library's sources."""
    parts: list[str] = []
    n = 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        part = path.read_text(encoding="utf-8").replace("\r", "")
        parts.append(part)
        n += len(part.encode())
        if n >= N_BYTES:
            break
    return "".join(parts).encode()[:N_BYTES].decode(errors="ignore")


def turn(browser: Any, url: str, text: str) -> dict[str, float]:
    """Milliseconds of each step of one visit."""
    page = browser.new_page()
    page.goto(url + "playground.html")
    page.wait_for_selector("#pairloom-playground[data-ready=yes]")
    data = page.evaluate("({...document.getElementById('pairloom-playground').dataset})")
    page.locator("#pl-file").scroll_into_view_if_needed()
    encoded, drawn = page.evaluate(TYPE, text)
    trained = page.evaluate(TRAIN, [text, N_MERGES])
    page.close()
    return {
        "load the engine (fetch and compile)": float(data["loadMs"]),
        "encode the first text": float(data["firstMs"]),
        "encode 1 MB": encoded,
        "encode 1 MB, and draw its tokens": drawn,
        f"train {N_MERGES:,} merges on 1 MB": trained,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    args = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("google-chrome")
    text = library_text()
    with sync_playwright() as playwright, served(SITE) as url:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        turns = [turn(browser, url, text) for _ in range(args.turns)]
        version = browser.version
        browser.close()
    data = MODULE.read_bytes()
    print(f"Chromium {version}, headless; medians of {args.turns} visits\n")
    print("| step | ms |\n|---|---:|")
    for step in turns[0]:
        print(f"| {step} | {statistics.median(each[step] for each in turns):.1f} |")
    print(f"\nThe engine: {len(data):,} bytes, {len(gzip.compress(data, 9)):,} by gzip.")


if __name__ == "__main__":
    main()
