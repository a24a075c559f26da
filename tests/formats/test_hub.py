"""Tokenizers from the HuggingFace hub, served on loopback."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from pairloom import Tokenizer
from pairloom.formats import huggingface
from tests import loopback

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = Tokenizer.train(["low lower lowest"] * 3, 270, special_tokens=()).model
FILES = {
    "tokenizer.json": huggingface.write(MODEL),
    "tokenizer_config.json": b'{"model_max_length": 7}',
    "model.safetensors": b"weights that nobody asked for",
}


class _Hub(loopback.Handler):
    """Answers what huggingface_hub requests: the files of a revision, then each wanted file."""

    asked: list[str]

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.asked.append(name)
        body = FILES.get(name, b"")
        if self.path.startswith("/api/models/owner/name/revision/"):
            body = json.dumps(
                {"id": "owner/name", "sha": COMMIT, "siblings": [{"rfilename": f} for f in FILES]}
            ).encode()
        elif self.path.startswith("/api/models/owner/name/tree/"):
            rows = [{"type": "file", "path": f, "size": len(data), "oid": "0" * 40} for f, data in FILES.items()]
            body = json.dumps(rows).encode()
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Repo-Commit": COMMIT}
        self.answer(200 if body else 404, body, headers)


@pytest.fixture
def endpoint() -> Iterator[str]:
    _Hub.asked = []
    with loopback.serving(ThreadingHTTPServer(("127.0.0.1", 0), _Hub)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def test_a_repository_is_fetched_without_its_weights(endpoint: str, tmp_path: Path) -> None:
    program = (
        "from pairloom import Tokenizer; t = Tokenizer.from_pretrained('owner/name', revision='main');"
        "print(t.encode('lowest lower'), t.tokenizer_config)"
    )
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = Tokenizer.from_model(MODEL).encode("lowest lower")
    assert done.stdout.strip() == f"{expected} {{'model_max_length': 7}}"
    assert "tokenizer.json" in _Hub.asked and "model.safetensors" not in _Hub.asked


def test_load_of_the_name_of_a_repository_says_what_fetches_it() -> None:
    with pytest.raises(FileNotFoundError, match=r"from_pretrained\('Qwen/Qwen3-8B'\) fetches it"):
        Tokenizer.load("Qwen/Qwen3-8B")
