"""HTTP servers on loopback; each test provides its own handler."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Server = TypeVar("Server", bound=ThreadingHTTPServer)
_NO_HEADERS: Mapping[str, str] = {}


class Handler(BaseHTTPRequestHandler):
    """Logs nothing and treats HEAD like GET; a subclass defines do_GET, which calls `answer`."""

    server: Any

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        raise NotImplementedError

    def answer(self, status: int, data: bytes, headers: Mapping[str, str] = _NO_HEADERS, *, n_sent: int = -1) -> None:
        """Sends an answer. With `n_sent`, sends only that many bytes of the data and closes the connection."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.close_connection |= n_sent >= 0
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data[:n_sent] if n_sent >= 0 else data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Runs the server in a thread for the duration of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
