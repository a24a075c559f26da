"""Serves a folder on loopback, because browsers do not let pages from disk fetch files."""

import functools
import http.server
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.loopback import serving


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves `folder` and yields its URL."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/"
