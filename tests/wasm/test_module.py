"""The core as a WebAssembly module, run by node: the merges, pretokens and ids of the core that Python calls.

The module is built here if rustc has the target, or is taken from PAIRLOOM_WASM.
"""

import base64
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
from pairloom.formats import gpt2, huggingface, tiktoken
from pairloom.patterns import PATTERNS
from pairloom.view.payload import merge_trees
from tests.cases import Case, applied, damaged_cases
from tests.formats.test_hostile import SOUND
from tests.formats.test_tiktoken import tekken_file

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
    job = {"pattern": "", "texts": [], "trees": [], **job}
    for key in job.keys() & {"file", "merges"}:
        job[key] = base64.b64encode(job[key]).decode()
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _texts(n: int = 200) -> list[str]:
    rng = random.Random(5)
    alphabets = ("abcde \n", "the cat's 123 ", "äöü ß é ", "日本語 中文 ", "😀👍 a", "\t \r\n.,;!?", "абв где ")
    texts = ["", " ", "a", "\0"]
    while len(texts) < n:
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


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_file_of_each_named_pattern_gives_equal_ids(module: Path, pattern: str) -> None:
    """The scanners run here without vector instructions, and on 32 bits."""
    tokenizer = Tokenizer.train(_texts(), 400, pattern=pattern)
    texts = [*_texts(), "one<|endoftext|>two", " <|endoftext|><|endoftext|>", "<|endoftext|"]
    found = _run(module, {"file": huggingface.write(tokenizer.model), "texts": texts})
    assert [result["ids"] for result in found["texts"]] == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("case", damaged_cases("tokenizer", "tekken"), ids=str)
def test_a_changed_file_is_refused_by_name(module: Path, case: Case) -> None:
    file = applied(case, SOUND[case.base][1])
    error = _run(module, {"file": json.dumps(file).encode(), "texts": ["a"]}).get("error", "it was read")
    case.error.check(ValueError(error))


def test_the_merges_of_each_token_are_those_of_the_view(module: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(_texts(), 500, special_tokens=())
    tokenizer.save(tmp_path / "model.json")
    (tmp_path / "model.tiktoken").write_bytes(tiktoken.write(tokenizer.model))
    for name in ("model.json", "model.tiktoken"):
        ids = list(range(500))
        file, pattern = (tmp_path / name).read_bytes(), "gpt2" * name.endswith(".tiktoken")
        found = _run(module, {"file": file, "pattern": pattern, "trees": ids})["trees"]
        expected = merge_trees(tokenizer.model, set(ids) & tokenizer.model.tokens().keys())
        for token_id, flat in zip(ids, found, strict=True):
            rows = [tuple(flat[at : at + 4]) for at in range(0, len(flat), 4)]
            assert (rows[-1][3] == token_id) if rows else token_id not in expected
            for rank, left, right, merged in rows:
                assert expected[merged][1:] == (left, right)
                assert name == "model.tiktoken" or expected[merged][0] == rank


def test_vocab_json_and_merges_txt_give_the_same_ids(module: Path) -> None:
    tokenizer = Tokenizer.train(_texts(), 400, special_tokens=())
    files = gpt2.write(tokenizer.model)
    job = {"file": files["vocab.json"], "merges": files["merges.txt"], "texts": _texts()}
    assert [result["ids"] for result in _run(module, job)["texts"]] == [tokenizer.encode(text) for text in _texts()]
    other = Tokenizer.from_model(tokenizer.model.replaced(pattern=PATTERNS["o200k"]))
    found = _run(module, {**job, "pattern": "o200k"})["texts"]
    assert [result["ids"] for result in found] == [other.encode(text) for text in _texts()]
    damaged = {"file": files["vocab.json"], "merges": files["merges.txt"] + b"no such\n"}
    assert "merges.txt: line 146" in _run(module, damaged)["error"]


def test_what_cannot_be_read_is_a_message(module: Path) -> None:
    ranks = tiktoken.write(Tokenizer.train(_texts(), 400, special_tokens=()).model)
    for job, message in (
        ({"file": b'{"schema_version": 2}'}, "the file"),
        ({"file": b"{}"}, "the file"),
        ({"file": ranks + b"YQ== 0\n", "pattern": "o200k"}, "two tokens have rank 0"),
        (
            {"file": json.dumps(tekken_file()).encode(), "pattern": "gpt2"},
            "a file of format 'tekken' contains its own pattern; leave out pattern=",
        ),
    ):
        assert message in _run(module, job)["error"]
