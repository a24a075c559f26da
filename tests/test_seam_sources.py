"""Promises of the seam's sources that no compiler checks."""

import re

from tests.cases import ROOT

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


def test_what_cpython_3_14_lacks_is_compiled_for_older_only() -> None:
    # `make python-api` compiles the seam for 3.14; this checks the same in a moment.
    n_found = 0
    for path in SEAM.rglob("*.rs"):
        for item in path.read_text(encoding="utf-8").split("\n\n"):
            if re.search(r"PyUnicode_(IS_ASCII|IS_COMPACT|IS_COMPACT_ASCII)\b|_PyUnicode_COMPACT_DATA", item):
                assert "#[cfg(not(Py_3_14))]" in item, f"{path.name}: {item[:200]}"
                n_found += 1
    assert n_found
