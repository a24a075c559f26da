"""Promises of the sources: no import cycles in the package, the core and its Python module; what no compiler checks."""

import re
import runpy
from pathlib import Path

import pairloom
from tests.cases import ROOT

PACKAGE = Path(pairloom.__file__).parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_import_circles.py"))
circles, edges, graph_of = SCRIPT["circles"], SCRIPT["edges"], SCRIPT["graph_of"]


def test_import_graph_of_package_has_no_cycle() -> None:
    graph = graph_of(PACKAGE, pairloom._MODULES)
    assert graph["pairloom.tokenizer.training_methods"] > {"pairloom.training.extend", "pairloom.training.train"}
    assert "pairloom.tokenizer" in graph["pairloom.cli.models"], "names that __getattr__ imports are followed"
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
