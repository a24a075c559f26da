"""Finds import circles among the Rust modules of a crate: `python scripts/check_import_circles.py [FOLDER]`.

tests/test_sources.py also asks for those of the Python package (`graph_of`).

A module depends on the modules that its `use` lines and paths (`crate::a::b`, `super::c`, `d::Item` of a child) name.
`mod` lines and re-exports (`pub use child::Item`) are not dependencies; `#[cfg(test)]` modules are skipped. Exit
status 1 if there is a circle.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from count_product_lines import without_tests

_ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Prints the circles of the core and of the Python module."""
    folders = sys.argv[1:] or ["crates/core/src", "crates/python/src"]
    n_circles = 0
    for folder in folders:
        found = circles(edges(_ROOT / folder))
        n_circles += len(found)
        for circle in found:
            print(f"{folder}: {' <-> '.join(circle)}")
    print(f"{n_circles} import circles")
    return 1 if n_circles else 0


def edges(folder: Path) -> dict[str, set[str]]:
    """Returns the modules that each module depends on, as paths joined by `::`."""
    sources = {}
    for path in sorted(folder.rglob("*.rs")):
        parts = list(path.relative_to(folder).with_suffix("").parts)
        if parts[-1] in ("mod", "lib"):
            parts.pop()
        if "tests" not in parts:
            sources["::".join(parts)] = "\n".join(without_tests(path.read_text(encoding="utf-8").splitlines()))
    return {name: _dependencies(name, text, set(sources)) for name, text in sources.items()}


def _dependencies(module: str, text: str, modules: set[str]) -> set[str]:
    text = re.sub(r"//[^\n]*|pub\(in [^)]*\)", "", text)
    text = re.sub(r"^\s*pub(?:\([^)]*\))? use [^;]*;", "", text, flags=re.M)
    found = set()
    own = module.split("::") if module else []
    for use in re.findall(r"\buse ((?:crate|super|self)[^;]*|[a-z_]+::[^;]*);", text):
        for path in _flat(use.replace("\n", " ")):
            found.add(_resolved(path, own, modules))
    for path in re.findall(r"\b((?:crate|super)(?:::[a-z_]\w*)+)", text):
        found.add(_resolved(path, own, modules))
    return {name for name in found if name is not None and name != module}


def _flat(use: str) -> list[str]:
    """Returns the separate paths of a use tree."""
    use = use.strip()
    brace = use.find("{")
    if brace < 0:
        return [use.split(" as ")[0].strip()]
    head, inside = use[:brace], use[brace + 1 : use.rfind("}")]
    parts, depth, last = [], 0, 0
    for at, character in enumerate(inside + ","):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append(inside[last:at])
            last = at + 1
    return [path for part in parts if part.strip() for path in _flat(head + part.strip())]


def _resolved(path: str, own: list[str], modules: set[str]) -> str | None:
    """Returns the module that a path names, or that contains the item it names."""
    parts = path.split("::")
    if parts[0] == "crate":
        parts = parts[1:]
    elif parts[0] == "super":
        base = own
        while parts and parts[0] == "super":
            base, parts = base[:-1], parts[1:]
        parts = base + parts
    else:
        parts = own + parts
        if "::".join(parts[: len(own) + 1]) not in modules:
            return None
    for length in range(len(parts), 0, -1):
        if "::".join(parts[:length]) in modules:
            return "::".join(parts[:length])
    return "" if "" in modules and parts else None


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Returns the strongly connected components of more than one module (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = []
            while True:
                component.append(stack.pop())
                if component[-1] == name:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def _modules_in(package: Path) -> dict[str, Path]:
    """Returns the dotted names of a package's modules, with their files."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def _imports_of(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Returns (module, name or None) for each import, also inside functions, but not under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from _imports_of(ast.Module([other], []))
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: the package imports by absolute names"
            yield from ((node.module or "", alias.name) for alias in node.names)
        else:
            yield from _imports_of(node)


def graph_of(package: Path, lazy_names: dict[str, str]) -> dict[str, set[str]]:
    """Returns the modules that each module imports. `lazy_names`: the names that the package's `__getattr__` imports.

    Importing `a.b` also runs `a/__init__.py`; that adds no edge, because it holds for every layout.
    """
    modules = _modules_in(package)
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for module, imported in _imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            if module == package.name and imported in lazy_names:
                module, imported = f"{package.name}.{lazy_names[imported]}", None
            if f"{module}.{imported}" in modules:
                graph[name].add(f"{module}.{imported}")
            elif module in modules:
                graph[name].add(module)
    return graph


if __name__ == "__main__":
    sys.exit(main())
