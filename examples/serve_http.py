"""Encode, decode, count and sessions over HTTP: an example on Flask with limits, not a product.

    pip install pairloom flask
    python examples/serve_http.py model.json
    curl -H "Content-Type: application/json" -d '{"text": "Hello"}' http://127.0.0.1:8000/encode

Untrusted text is only text: special-token literals are not recognised.
"""

from __future__ import annotations

import secrets
import sys
from threading import Lock
from typing import Any

from flask import Flask, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from pairloom import Tokenizer, UnknownTokenIdError
from pairloom.sessions import Session

MAX_BODY = 1 << 20  # bytes of a request
MAX_SESSIONS = 8  # of a client
MAX_CHARS = 1 << 22  # of a session


def create_app(tokenizer: Tokenizer) -> Flask:
    """Returns the application; sessions live in its memory, so all requests of a client must reach one process."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    sessions: dict[str, dict[str, tuple[Lock, Session]]] = {}
    changing = Lock()

    def field(name: str, kind: type) -> Any:
        body = request.get_json()
        value = body.get(name) if isinstance(body, dict) else None
        if not isinstance(value, kind):
            abort(400, f"the body needs {name!r}, of type {kind.__name__}")
        return value

    def mine() -> dict[str, tuple[Lock, Session]]:
        return sessions.setdefault(request.remote_addr or "", {})

    @app.post("/encode")
    def encode() -> Any:
        return jsonify(ids=tokenizer.encode_ordinary(field("text", str)))

    @app.post("/decode")
    def decode() -> Any:
        return jsonify(text=tokenizer.decode(field("ids", list), errors="replace"))

    @app.post("/count")
    def count() -> Any:
        return jsonify(n_tokens=tokenizer.count_tokens(field("text", str), allowed_special=()))

    @app.post("/sessions")
    def start() -> Any:
        with changing:
            if len(mine()) >= MAX_SESSIONS:
                abort(429, f"a client has at most {MAX_SESSIONS} sessions; delete one")
            key = secrets.token_urlsafe(16)
            mine()[key] = (Lock(), tokenizer.session(allowed_special=()))
        return jsonify(session=key), 201

    @app.post("/sessions/<key>")
    def append(key: str) -> Any:
        text = field("text", str)
        lock, session = mine().get(key) or abort(404, "no such session")
        with lock:
            if session.n_chars + len(text) > MAX_CHARS:
                abort(413, f"a session holds at most {MAX_CHARS} characters")
            change = session.append(text)
        return jsonify(keep=change.keep, ids=change.ids.tolist())

    @app.delete("/sessions/<key>")
    def end(key: str) -> Any:
        with changing:
            mine().pop(key, None)
            if not mine():
                del sessions[request.remote_addr or ""]
        return "", 204

    @app.errorhandler(ValueError)
    @app.errorhandler(TypeError)
    @app.errorhandler(UnknownTokenIdError)
    def refused(error: Exception) -> Any:
        return jsonify(error=str(error)), 400

    @app.errorhandler(HTTPException)
    def described(error: HTTPException) -> Any:
        return jsonify(error=error.description), error.code

    return app


if __name__ == "__main__":
    create_app(Tokenizer.load(sys.argv[1])).run(port=8000)
