"""The plot of a record has panels only for what was measured."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_of_the_readme_has_no_empty_panel() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\]\((benchmarks/record/[^)]*\.svg)\)", readme)
    assert found
    panels = (ROOT / found[1]).read_text(encoding="utf-8").split('<g id="axes_')[1:]
    assert panels
    assert all("clip-path" in panel for panel in panels), "a panel without bars or lines"
