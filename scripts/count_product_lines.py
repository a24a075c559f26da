"""Counts the lines of product code: `python scripts/count_product_lines.py [COMMIT]`.

Product code is the core, the seam (crates/python), the WebAssembly module and the Python package, without tests,
generated tables and type stubs: files and folders called tests, `#[cfg(test)]` modules and unicode_tables.rs are
skipped. "Code" excludes blank lines, comments and docstrings, so that explanations cost nothing.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PARTS = {"core": "crates/core/src", "seam": "crates/python/src", "wasm": "crates/wasm/src", "python": "src/pairloom"}
_GENERATED = "unicode_tables.rs"


def main() -> None:
    """Prints lines and lines of code for each folder, each part, and in total."""
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    sums = [_count_part(part, folder, commit) for part, folder in _PARTS.items()]
    _print_row("in all", sum(lines for lines, _ in sums), sum(code for _, code in sums))


def _count_part(part: str, folder: str, commit: str | None) -> tuple[int, int]:
    """Prints the rows of a part and returns its lines and lines of code."""
    lines: dict[str, int] = {}
    code: dict[str, int] = {}
    for name, text in _files(folder, commit):
        inner = name.removeprefix(f"{folder}/").rpartition("/")[0].partition("/")[0] or "."
        is_rust = name.endswith(".rs")
        product = without_tests(text.splitlines()) if is_rust else text.splitlines()
        lines[inner] = lines.get(inner, 0) + len(product)
        code[inner] = code.get(inner, 0) + (sum(map(_is_code, product)) if is_rust else _python_code(text))
    for inner in sorted(lines) if len(lines) > 1 else ():
        _print_row(f"{part}/{inner}", lines[inner], code[inner])
    total = sum(lines.values()), sum(code.values())
    _print_row(part, *total)
    return total


def _print_row(name: str, lines: int, code: int) -> None:
    print(f"{name:18} {lines:7,} lines {code:7,} of code")


def _files(folder: str, commit: str | None) -> Iterator[tuple[str, str]]:
    """Returns (path, text) for each product file in a folder, in the working tree or in a commit."""
    if commit is None:
        names = [str(path.relative_to(_ROOT)) for path in sorted((_ROOT / folder).rglob("*"))]
    else:
        names = _git("ls-tree", "-r", "--name-only", commit, folder).split()
    for name in names:
        parts = Path(name).parts
        if name.endswith((".rs", ".py")) and parts[-1] not in (_GENERATED, "tests.rs") and "tests" not in parts:
            text = (_ROOT / name).read_text(encoding="utf-8") if commit is None else _git("show", f"{commit}:{name}")
            yield name, text


def without_tests(lines: list[str]) -> list[str]:
    """Returns the lines of a file without its `#[cfg(test)]` items; expects rustfmt's indentation."""
    kept: list[str] = []
    end = None
    for line in lines:
        if end is not None:
            if line == end or (end.strip() == "}" and line.endswith(";") and kept_indent(line) == len(end) - 1):
                end = None
            continue
        if re.fullmatch(r"\s*#\[cfg\((all\()?test\b.*\)\]", line):
            end = line[: kept_indent(line)] + "}"
            continue
        kept.append(line)
    return kept


def kept_indent(line: str) -> int:
    """Returns the number of leading spaces."""
    return len(line) - len(line.lstrip(" "))


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("//")


def _python_code(text: str) -> int:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        # A string on its own documents the definition or constant before it.
        for statement in node.body if isinstance(node, documented) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                prose.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.lstrip()[0] != "#" and number not in prose for number, line in lines)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
