"""Counts the lines of the core's product code: `python scripts/count_product_lines.py [COMMIT]`.

Product code is every Rust file under crates/core/src but for tests and generated tables: files and folders called
tests, modules behind `#[cfg(test)]` and unicode_tables.rs are left out. "Code" leaves out blank lines and lines that
hold only a comment, so that explanation costs nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_CORE = "crates/core/src"
_GENERATED = "unicode_tables.rs"


def main() -> None:
    """Prints lines and lines of code of each folder, and in all."""
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    lines: dict[str, int] = {}
    code: dict[str, int] = {}
    for name, text in _files(commit):
        folder = name.removeprefix(f"{_CORE}/").rpartition("/")[0].partition("/")[0] or "."
        product = without_tests(text.splitlines())
        lines[folder] = lines.get(folder, 0) + len(product)
        code[folder] = code.get(folder, 0) + sum(map(_is_code, product))
    for folder in sorted(lines):
        print(f"{folder:14} {lines[folder]:7,} lines {code[folder]:7,} of code")
    print(f"{'in all':14} {sum(lines.values()):7,} lines {sum(code.values()):7,} of code")


def _files(commit: str | None) -> Iterator[tuple[str, str]]:
    """(path, text) of each product file, of the working tree or of a commit."""
    if commit is None:
        names = [str(path.relative_to(_ROOT)) for path in sorted((_ROOT / _CORE).rglob("*.rs"))]
    else:
        names = _git("ls-tree", "-r", "--name-only", commit, _CORE).split()
    for name in names:
        parts = Path(name).parts
        if name.endswith(".rs") and parts[-1] not in (_GENERATED, "tests.rs") and "tests" not in parts:
            text = (_ROOT / name).read_text(encoding="utf-8") if commit is None else _git("show", f"{commit}:{name}")
            yield name, text


def without_tests(lines: list[str]) -> list[str]:
    """The lines of a file without its items behind `#[cfg(test)]`, as rustfmt indents them."""
    kept: list[str] = []
    end = None
    for line in lines:
        if end is not None:
            if line == end or (end.strip() == "}" and line.endswith(";") and kept_indent(line) == len(end) - 1):
                end = None
            continue
        if re.fullmatch(r"\s*#\[cfg\(test\)\]", line):
            end = line[: kept_indent(line)] + "}"
            continue
        kept.append(line)
    return kept


def kept_indent(line: str) -> int:
    """The number of spaces before the first character."""
    return len(line) - len(line.lstrip(" "))


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("//")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
