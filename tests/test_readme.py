"""The examples of README.md run."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from pairloom import Tokenizer
from tests.cli.commands import run

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_commands_and_examples_run_in_order_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make newcomer` runs the commands in a fresh clone."""
    (tmp_path / "my.txt").write_bytes((ROOT / "README.md").read_bytes())
    monkeypatch.chdir(tmp_path)
    readme_commands = runpy.run_path(str(ROOT / "scripts" / "newcomer.py"))["readme_commands"]
    commands = [shlex.split(command) for command in readme_commands() if command.startswith("pairloom ")]
    assert [command[1] for command in commands] == ["train", "view"]
    for command in commands:
        done = run(*(word for word in command[1:] if word != "--open"))
        assert done.status == 0, done.err
    assert "my.txt" in (tmp_path / "tokens.html").read_text(encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("low lower lowest newest widest\n" * 40, encoding="utf-8")
    Tokenizer.train("low lower", 258, decode_errors="replace").save("tokenizer.json", format="huggingface")
    for code in BLOCKS:
        exec(compile(code, "README.md", "exec"), {})


def test_every_file_that_architecture_names_exists() -> None:
    paths = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "crates", "scripts", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*")
    ]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+(?:\.(?:rs|py|pyi|json)|/))`", text))
    assert len(named) > 50
    assert not [name for name in named if not any(f"/{path}".endswith(f"/{name.rstrip('/')}") for path in paths)]


def test_every_linked_file_exists() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name} links {target}"
