"""Findings of axe-core on a page."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest


def violations(page: Any) -> list[tuple[str, str, int, str]]:
    """Returns (rule, impact, count, first element) for each finding, including contrast; skips without axe-core."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("no browser for tests: axe_playwright_python is not installed")
    page.evaluate(Path(spec.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return [(v["id"], v["impact"], len(v["nodes"]), v["nodes"][0]["html"]) for v in result["violations"]]
