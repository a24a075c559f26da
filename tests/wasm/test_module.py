"""The core as a WebAssembly module, run by node: the merges, pretokens and ids of the core that Python calls.

The module is built here where rustc has the target, or given by PAIRLOOM_WASM.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer, pretokenize

_ROOT = Path(__file__).parents[2]
_TARGET = "wasm32-unknown-unknown"


@pytest.fixture(scope="module")
def module() -> Path:
    if shutil.which("node") is None:
        pytest.skip("node is not installed, which runs WebAssembly")
    if given := os.environ.get("PAIRLOOM_WASM"):
        return Path(given)
    asked = ["rustc", "--print", "target-libdir", "--target", _TARGET]
    found = subprocess.run(asked, capture_output=True, text=True, check=False) if shutil.which("rustc") else None
    if found is None or found.returncode or not any(Path(found.stdout.strip()).glob("libstd-*")):
        pytest.skip(f"rustc lacks the target {_TARGET}")
    build = ["cargo", "build", "--quiet", "--profile", "wasm", "--target", _TARGET, "-p", "pairloom-wasm"]
    subprocess.run(build, cwd=_ROOT, check=True)
    return _ROOT / "target" / _TARGET / "wasm" / "pairloom_wasm.wasm"


def _run(module: Path, job: dict[str, Any]) -> dict[str, Any]:
    command = ["node", str(Path(__file__).with_name("run.mjs")), str(module)]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _texts() -> list[str]:
    rng = random.Random(5)
    alphabets = ("abcde \n", "the cat's 123 ", "äöü ß é ", "日本語 中文 ", "😀👍 a", "\t \r\n.,;!?", "абв где ")
    texts = ["", " ", "a", "\0"]
    while len(texts) < 200:
        letters = "".join(rng.choices(alphabets, k=2))
        texts.append("".join(rng.choices(letters, k=rng.randrange(1, 120))))
    return texts


@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
@pytest.mark.parametrize("tie_break", ["ids_least", "bytes_greatest"])
def test_a_trained_module_is_the_core(module: Path, pattern: str, tie_break: str) -> None:
    texts = _texts()
    corpus = " ".join(texts) + (_ROOT / "README.md").read_text()
    train = {"text": corpus, "pattern": pattern, "n_merges": 300, "bytes_greatest": tie_break == "bytes_greatest"}
    found = _run(module, {"train": train, "texts": texts})
    expected = Tokenizer.train([corpus], 556, pattern=pattern, tie_break=tie_break, special_tokens=())
    assert found["merges"] == expected.model.merges.ravel().tolist()
    for text, result in zip(texts, found["texts"], strict=True):
        assert result["ids"] == expected.encode(text), text
        assert result["pretokens"] == list(accumulate(len(pretoken) for pretoken in pretokenize(text, pattern)))
        assert result["returns"]


def test_a_saved_model_gives_the_same_ids(module: Path, tmp_path: Path) -> None:
    texts = [*_texts(), "one<|endoftext|>two"]
    tokenizer = Tokenizer.train(texts, 400, pattern="cl100k")
    tokenizer.save(tmp_path / "model.json")
    found = _run(module, {"file": (tmp_path / "model.json").read_text(), "texts": texts})
    assert [result["ids"] for result in found["texts"]] == [tokenizer.encode(text) for text in texts]
    assert all(result["returns"] for result in found["texts"])


def test_a_damaged_model_is_a_message(module: Path) -> None:
    assert "the file" in _run(module, {"file": '{"schema_version": 2}', "texts": []})["error"]
