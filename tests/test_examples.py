"""Examples: the HTTP server answers like the tokenizer, and its limits hold; a Rust program outside the workspace."""

import importlib
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from pairloom import Tokenizer
from tests.cases import REFUSED, ROOT

TOKENIZER = Tokenizer.train("low lower lowest " * 20, 270)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("flask", reason="flask is not installed")
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module("serve_http")


@pytest.fixture
def client(example: Any) -> Any:
    return example.create_app(TOKENIZER).test_client()


def test_http_encode_decode_and_count_are_the_tokenizers(client: Any) -> None:
    text = "low lower <|endoftext|> é"
    ids = client.post("/encode", json={"text": text}).json["ids"]
    assert ids == TOKENIZER.encode_ordinary(text)
    assert client.post("/decode", json={"ids": ids}).json == {"text": text}
    assert client.post("/count", json={"text": text}).json == {"n_tokens": len(ids)}


def test_http_session_appends_give_the_ids_of_the_whole(client: Any) -> None:
    key = client.post("/sessions").json["session"]
    ids: list[int] = []
    for part in ("lo", "wer ", "<|endof", "text|>", ""):
        change = client.post(f"/sessions/{key}", json={"text": part}).json
        ids[change["keep"] :] = change["ids"]
    assert ids == TOKENIZER.encode_ordinary("lower <|endoftext|>")
    assert client.delete(f"/sessions/{key}").status_code == 204
    assert client.post(f"/sessions/{key}", json={"text": ""}).status_code == 404


def test_http_limits_hold_for_bodies_and_sessions(example: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post("/encode", json={"text": "a" * example.MAX_BODY}).status_code == 413
    keys = [client.post("/sessions").json["session"] for _ in range(example.MAX_SESSIONS)]
    assert client.post("/sessions").status_code == 429
    other = {"REMOTE_ADDR": "127.0.0.2"}
    assert client.post("/sessions", environ_base=other).status_code == 201
    assert client.post(f"/sessions/{keys[0]}", json={"text": "a"}, environ_base=other).status_code == 404
    client.delete(f"/sessions/{keys[0]}")
    assert client.post("/sessions").status_code == 201
    monkeypatch.setattr(example, "MAX_CHARS", 3)
    assert client.post(f"/sessions/{keys[1]}", json={"text": "abcd"}).status_code == 413


@pytest.mark.parametrize(("path", "body"), REFUSED["http"])
def test_http_wrong_body_is_refused_with_status_400(client: Any, path: str, body: Any) -> None:
    answer = client.post(path, json=body)
    assert (answer.status_code, list(answer.json)) == (400, ["error"])


@pytest.mark.parametrize("crate", ["fancy-regex", "unicode-normalization"])
def test_other_programs_get_the_releases_that_ids_depend_on(crate: str) -> None:
    # A program that depends on the core has its own Cargo.lock, with the newest releases that are allowed.
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    version = next(each["version"] for each in locked if each["name"] == crate)
    manifest = tomllib.loads((ROOT / "crates/core/Cargo.toml").read_text(encoding="utf-8"))
    assert manifest["dependencies"][crate] == f"={version}"


@pytest.mark.long
def test_a_program_outside_the_workspace_counts_alike(tmp_path: Path) -> None:
    assert shutil.which("cargo"), "cargo, which built the compiled module, is not on the path"
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    manifest = ROOT / "examples/rust_server/Cargo.toml"
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_DEV_DEBUG": "false"}
    subprocess.run(["cargo", "build", "--quiet", "--manifest-path", manifest], env=environment, check=True)
    tokenizer = Tokenizer.train("low lower lowest " * 20, 270, special_tokens=["<|end|>"])
    tokenizer.save(tmp_path / "model.json")
    with subprocess.Popen(
        [target / "debug/rust-server", tmp_path / "model.json"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = f"http://{server.stdout.readline().strip()}/"
            for text in ("", "low lower <|end|> é", "lowest " * 1000):
                with urlopen(address, data=text.encode(), timeout=30) as answer:
                    assert int(answer.read()) == tokenizer.count_tokens(text)
            for body, status in ((b"\xff", 400), (b"a" * (1 << 21), 413)):
                with pytest.raises(HTTPError) as caught:
                    urlopen(address, data=body, timeout=30)
                assert caught.value.code == status
        finally:
            server.kill()
