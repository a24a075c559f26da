"""What the sources of the seam promise, where no compiler says it."""

from __future__ import annotations

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
