"""A store of objects over HTTP on loopback that answers like S3."""

import os
import urllib.request
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest


@pytest.fixture
def store() -> Iterator[Any]:
    """The s3fs file system with the empty bucket "corpus"; processes started meanwhile can use it too."""
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    names = {"ENDPOINT_URL": f"http://{host}:{port}", "DEFAULT_REGION": "us-east-1"}
    names |= {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    try:
        with mock.patch.dict(os.environ, {f"AWS_{name}": value for name, value in names.items()}):
            # Its objects outlive the server.
            urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
            s3fs.S3FileSystem.clear_instance_cache()
            files = s3fs.S3FileSystem()
            files.mkdir("corpus")
            yield files
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()
