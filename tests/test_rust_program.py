"""A Rust program outside the workspace can use the crate: examples/rust_server builds and answers."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from pairloom import Tokenizer

ROOT = Path(__file__).resolve().parents[1]


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
