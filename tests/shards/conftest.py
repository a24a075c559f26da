"""A store of objects over HTTP on loopback."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    # What it holds outlives the server.
    urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("corpus")
    try:
        yield files
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()
