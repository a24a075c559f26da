"""Pages of tests: served on loopback, and what axe-core finds in them."""

import functools
import http.server
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import serving


def violations(page: Any) -> list[tuple[str, str, int, str]]:
    """Returns (rule, impact, count, first element) for each finding, including contrast; skips without axe-core."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("no browser for tests: axe_playwright_python is not installed")
    page.evaluate(Path(spec.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return [(v["id"], v["impact"], len(v["nodes"]), v["nodes"][0]["html"]) for v in result["violations"]]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves `folder` on loopback, because browsers do not let pages from disk fetch files, and yields its URL."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/"
