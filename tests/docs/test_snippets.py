"""Every snippet of the documentation runs: Python blocks of a page share names, all its blocks a folder."""

import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

import pairloom
from tests.cli.commands import run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Tested by the tests that write the shards they read.
ELSEWHERE = {"shards.md": "tests/shards/making.py"}
# "notest" marks blocks that fetch from the network.
NOT_RUN = {"", "text", "mermaid", "sh notest"}

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def blocks_of(page: str) -> list[tuple[int, str, str]]:
    """Returns (line, language, code) for each fenced block."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2]) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("README.md", "ARCHITECTURE.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said: list[str] = []
    for line, language, code in blocks_of(page):
        if language == "python":
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                exec(compile("\n" * line + code, str(DOCS / page), "exec"), names)
            said += [str(warning.message) for warning in caught]
        elif language == "sh":
            for command in code.replace("\\\n", " ").splitlines():
                words = shlex.split(command, comments=True)
                if words:
                    assert words[0] == "pairloom", f"{page}: only pairloom's commands can be tested: {command}"
                    done = run(*words[1:])
                    assert done.status == 0, f"{page}: {command}: {done.err}"
                    said.append(done.err)
        else:
            assert language in NOT_RUN, f"{page}: line {line}: a block of {language!r} is run by no test"
    if "fsspec.implementations.memory" in sys.modules:
        # Files that a page wrote to memory:// must not reach other tests.
        sys.modules["fsspec.implementations.memory"].MemoryFileSystem.store.clear()
    # A reader's first command must not print anything that looks like an error.
    assert not [words for words in said if "literals of" in words or "instead of the requested" in words]


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    assert [page for page in PAGES if not re.search(rf"[ :]{re.escape(page)}$", navigation, re.MULTILINE)] == []


def test_the_reference_names_everything_that_is_exported() -> None:
    reference = "".join((DOCS / "reference" / name).read_text(encoding="utf-8") for name in ("api.md", "errors.md"))
    missing = [name for name in pairloom.__all__ if not re.search(rf"(?<!\w){name}(?!\w)", reference)]
    assert not missing


def test_pages_tested_elsewhere_are_tested() -> None:
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8")
