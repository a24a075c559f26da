"""Promises of the sources: no import cycles in the package, the core and its Python module; what no compiler checks."""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pairloom
from tests.cases import ROOT

PACKAGE = Path(pairloom.__file__).parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_import_circles.py"))
circles, edges = SCRIPT["circles"], SCRIPT["edges"]


def modules_in(package: Path) -> dict[str, Path]:
    """Returns the dotted names of a package's modules, with their files."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Returns (module, name or None) for each import, also inside functions, but not under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from imports_of(ast.Module([other], []))
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: the package imports by absolute names"
            yield from ((node.module or "", alias.name) for alias in node.names)
        else:
            yield from imports_of(node)


def graph_of(package: Path, lazy_names: dict[str, str]) -> dict[str, set[str]]:
    """Returns the modules that each module imports. `lazy_names`: the names that the package's `__getattr__` imports.

    Importing `a.b` also runs `a/__init__.py`; that adds no edge, because it holds for every layout.
    """
    modules = modules_in(package)
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for module, imported in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            if module == package.name and imported in lazy_names:
                module, imported = f"{package.name}.{lazy_names[imported]}", None
            if f"{module}.{imported}" in modules:
                graph[name].add(f"{module}.{imported}")
            elif module in modules:
                graph[name].add(module)
    return graph


def test_import_graph_of_package_has_no_cycle() -> None:
    graph = graph_of(PACKAGE, pairloom._MODULES)
    assert graph["pairloom.tokenizer.training_methods"] > {"pairloom.training.extend", "pairloom.training.train"}
    assert "pairloom.tokenizer" in graph["pairloom.cli.encode"], "names that __getattr__ imports are followed"
    assert circles(graph) == []


def test_import_graph_of_folders_has_no_cycle() -> None:
    """Folders are layers: no folder imports itself indirectly. A module at the top is its own layer."""
    folders: dict[str, set[str]] = {}
    for module, imported in graph_of(PACKAGE, pairloom._MODULES).items():
        source, *targets = (".".join(name.split(".")[:2]) for name in (module, *imported))
        folders.setdefault(source, set()).update(target for target in targets if target != source)
    assert circles(folders) == []


def test_rust_modules_have_no_import_circle() -> None:
    for crate in ("core", "python"):
        assert circles(edges(ROOT / "crates" / crate / "src")) == []


def test_a_circle_of_rust_modules_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\n")
    (tmp_path / "a.rs").write_text("use crate::b::B;\npub struct A(B);\n")
    (tmp_path / "b.rs").write_text("pub struct B;\nimpl B { fn a(&self) -> super::a::A { todo!() } }\n")
    assert circles(edges(tmp_path)) == [["a", "b"]]


SEAM = ROOT / "crates" / "python" / "src"


def test_the_alignment_of_every_python_class_is_asserted() -> None:
    declared = set()
    for path in SEAM.rglob("*.rs"):
        for name in re.findall(r"#\[pyclass[^\]]*\][^;{(]*?struct (\w+)", path.read_text(encoding="utf-8")):
            declared.add(f"{path.stem}::{name}")
    text = (SEAM / "lib.rs").read_text(encoding="utf-8")
    asserted = set(re.findall(r"\w+::\w+", text.partition("assert_alignment!(\n")[2].partition(");")[0]))
    assert len(declared) > 5
    assert {name.rpartition("::")[2] for name in asserted} == {name.rpartition("::")[2] for name in declared}
