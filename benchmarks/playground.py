"""Times the playground of the built site in a headless Chromium: `make playground-figures`.

Each turn opens the page anew. Text: 1 MB of the sources of the standard library. Prints medians of all turns. Where the
machine does other work, too, the processor time of the page's thread says more than the clock.
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
from tests.browser.pages import served

SITE = Path(__file__).resolve().parents[1] / "site"
MODULE = "playground/pairloom/pairloom.wasm"
N_BYTES = 1_000_000
N_MERGES = 1000

# Pastes the text, and waits until the browser has drawn its tokens.
PASTE = """async (text) => {
    const input = document.getElementById("pl-text");
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await drawn();
    const began = performance.now();
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData }));
    await drawn();
    return [Number(document.getElementById("pairloom-playground").dataset.encodeMs), performance.now() - began];
}"""
# Types a letter where the caret is, until the browser has drawn the tokens.
TYPE = """async () => {
    const input = document.getElementById("pl-text");
    const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    input.focus();
    const times = [];
    for (const letter of "the quick brown fox ") {
        await drawn();
        const began = performance.now();
        document.execCommand("insertText", false, letter);
        await drawn();
        times.push(performance.now() - began);
    }
    return times;
}"""
TRAIN = """async ([text, nMerges]) => {
    const { Tokenizer } = await import("./playground/pairloom/index.js");
    const began = performance.now();
    await Tokenizer.train(text, nMerges);
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


def thread_seconds(session: Any) -> float:
    """Processor time that the page's thread has used."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def turn(browser: Any, url: str, text: str) -> dict[str, float]:
    """Milliseconds of each step of one visit."""
    page = browser.new_page()
    page.goto(url + "playground.html")
    page.wait_for_selector("#pairloom-playground[data-ready=yes]")
    data = page.evaluate("({...document.getElementById('pairloom-playground').dataset})")
    page.locator("#pl-file").scroll_into_view_if_needed()
    page.locator("#pl-menu").select_option("code")
    page.wait_for_function("document.getElementById('pl-from').textContent.startsWith('Python')")
    encoded, drawn = page.evaluate(PASTE, text)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = thread_seconds(session)
    end = page.evaluate(TYPE)
    for _ in range(3):
        page.locator("#pl-earlier").click()
    middle = page.evaluate(TYPE)
    busy = 1000 * (thread_seconds(session) - before) / len(end + middle)
    trained = page.evaluate(TRAIN, [text, N_MERGES])
    page.close()
    return {
        "load the engine (fetch and compile)": float(data["loadMs"]),
        "encode the first text": float(data["firstMs"]),
        "encode 1 MB": encoded,
        "paste 1 MB, until its tokens are drawn": drawn,
        "a keystroke at the end of 1 MB, until its tokens are drawn": statistics.median(end),
        "a keystroke within 1 MB, until its tokens are drawn": statistics.median(middle),
        "the slowest of 40 keystrokes": max(end + middle),
        "processor time of the page's thread for a keystroke, drawing included": busy,
        f"train {N_MERGES:,} merges on 1 MB": trained,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--site", type=Path, default=SITE, help="the built site")
    args = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("google-chrome")
    text = library_text()
    with sync_playwright() as playwright, served(args.site) as url:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        turns = [turn(browser, url, text) for _ in range(args.turns)]
        version = browser.version
        browser.close()
    data = (args.site / MODULE).read_bytes()
    print(f"Chromium {version}, headless; medians of {args.turns} visits\n")
    print("| step | ms |\n|---|---:|")
    for step in turns[0]:
        print(f"| {step} | {statistics.median(each[step] for each in turns):.1f} |")
    print(f"\nThe engine: {len(data):,} bytes, {len(gzip.compress(data, 9)):,} by gzip.")


if __name__ == "__main__":
    main()
