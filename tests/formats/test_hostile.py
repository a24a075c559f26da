"""Damaged files of every kind: a typed error that names file and place, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pairloom import formats
from pairloom.errors import FormatError

HOSTILE = Path(__file__).parents[2] / "testdata/hostile"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (HOSTILE / "README.md").read_text().splitlines()
    if line.startswith("| `")
]
BIG = 100 * 1024 * 1024


def test_every_file_has_its_story() -> None:
    assert {row[0].strip("`") for row in ROWS} == {path.name for path in HOSTILE.iterdir()} - {"README.md"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_the_error_is_the_one_that_the_story_ends_with(row: tuple[str, ...]) -> None:
    name, _, error, words = row
    path = HOSTILE / name.strip("`")
    with pytest.raises(FormatError) as caught:
        formats.load(path, pattern="gpt2" if path.suffix == ".tiktoken" else None)
    assert isinstance(caught.value, KeyError) == (error == "KeyError")
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert words in message
    assert len(message) < 600 + len(str(path))


HUGE = {
    "zeros": "b'\\0' * n",
    "brackets": "b'[' * n",
    "nested key": "b'{\"merges\":' + b'[' * n",
    "nested model": "b'{\"model\":' + b'[' * n",
    "nested objects": "b'{\"model\":' * (n // 9)",
    "one string": "b'{\"model\":\"' + b'a' * n",
    "one number": "b'{\"merges\":[' + b'9' * n",
    "one number for tokenizers": "b'{\"model\":[' + b'9' * n",
    "no end of numbers": "b'{\"merges\":[' + b'0,' * (n // 2)",
    "one line": "b'AA== 0\\n' + b'A' * n",
    "spaces": "b' ' * n",
}


@pytest.mark.parametrize("kind", HUGE)
def test_huge_files_are_refused_within_bounds(kind: str, tmp_path: Path) -> None:
    # A process of its own, so that its peak memory and its death, if it dies, are its own.
    program = f"""
        import time
        n = {BIG if kind == "zeros" else BIG // 4}
        path = {str(tmp_path / "huge")!r}
        with open(path, "wb") as file:
            file.write({HUGE[kind]})
        from pairloom import formats
        for format in (None, *formats.READABLE):
            if format == "gpt2":
                continue
            start = time.perf_counter()
            try:
                formats.load(path, format=format, pattern="gpt2" if format == "tiktoken" else None)
            except ValueError as error:
                assert str(error).startswith(path) and len(str(error)) < 1000, str(error)[:1000]
            else:
                raise SystemExit("accepted")
            assert time.perf_counter() - start < 20, (format, time.perf_counter() - start)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )
    assert done.returncode == 0, done.stderr[-1500:]
