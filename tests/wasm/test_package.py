"""The JavaScript package, packed and used outside the tree: ids of the core, refusals, handles, traps."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer
from pairloom.formats import huggingface, tiktoken
from tests.formats.test_tiktoken import tekken_file
from tests.wasm.test_module import _texts
from tests.wasm.test_module import module as module

_HERE = Path(__file__).parent
_PACK = _HERE.parents[1] / "scripts/pack_javascript.py"


def _packed(module: Path, folder: Path) -> Path:
    done = subprocess.run([sys.executable, _PACK, module, folder], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def project(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate project in which the package is installed."""
    folder = tmp_path_factory.mktemp("project")
    with tarfile.open(_packed(module, folder)) as archive:
        archive.extractall(folder / "node_modules", filter="data")
    (folder / "node_modules/package").rename(folder / "node_modules/pairloom")
    for name in ("package.mjs", "checks.mjs"):
        shutil.copy(_HERE / name, folder)
    return folder


def _node(project: Path, *args: str, job: Any = None) -> str:
    done = subprocess.run(
        ["node", *args], cwd=project, input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _files(folder: Path) -> dict[str, Tokenizer]:
    corpus = "".join(_texts())
    gpt2 = Tokenizer.train([corpus], 500, pattern="gpt2")
    o200k = Tokenizer.train([corpus], 500, pattern="o200k", special_tokens=())
    gpt2.save(folder / "model.json")
    (folder / "tokenizer.json").write_bytes(huggingface.write(gpt2.model))
    (folder / "o200k.tiktoken").write_bytes(tiktoken.write(o200k.model))
    (folder / "tekken.json").write_text(json.dumps(tekken_file()), encoding="utf-8")
    tekken = Tokenizer.load(folder / "tekken.json")
    return {"model.json": gpt2, "tokenizer.json": gpt2, "o200k.tiktoken": o200k, "tekken.json": tekken}


@pytest.mark.parametrize(
    ("name", "n"), [("tokenizer.json", 500), ("model.json", 60), ("o200k.tiktoken", 60), ("tekken.json", 60)]
)
def test_package_encodes_500_texts_as_the_core(project: Path, tmp_path: Path, name: str, n: int) -> None:
    tokenizer = _files(tmp_path)[name]
    texts = [*_texts(n), "one<|endoftext|>two", " <s>", "\ufeffa", "low " * 3000, "x" * 5000]
    job = {"file": str(tmp_path / name), "pattern": "o200k" * name.endswith(".tiktoken"), "texts": texts}
    found = json.loads(_node(project, "package.mjs", job=job))
    assert found["vocabSize"] == tokenizer.n_vocab
    for text, result in zip(texts, found["texts"], strict=True):
        ids = tokenizer.encode(text)
        assert [result[key] for key in ("ids", "streamed", "typed")] == [ids] * 3, text
        assert result["count"] == len(ids)
        assert result["decoded"] == [text] * 3


def test_wrong_arguments_freed_handles_and_traps_are_errors(project: Path) -> None:
    assert _node(project, "--expose-gc", "checks.mjs") == "passed\n"


def test_typescript_takes_right_uses_and_refuses_wrong_ones(project: Path) -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("typescript is not installed")
    shutil.copy(_HERE / "types.mts", project)
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "node16", "--moduleResolution", "node16"]
    done = subprocess.run([compiler, *options, "types.mts"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_packed_package_is_the_same_bytes_each_time(module: Path, project: Path, tmp_path: Path) -> None:
    again = _packed(module, tmp_path)
    assert again.read_bytes() == (project / again.name).read_bytes()
    with tarfile.open(again) as archive:
        names = {Path(name).name for name in archive.getnames()}
    assert names == {"package.json", "README.md", "LICENSE", "index.js", "index.d.ts", "node.js", "pairloom.wasm"}
