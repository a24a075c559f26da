"""The picture of a record has a panel for what was measured, and none for what was not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = {
    "title": "training to 32,000",
    "rows": [["English, 80 MB", 80.0, "pairloom", 2.0], ["English, 80 MB", 80.0, "b", 9.0]],
}
LISTS = {
    "title": "documents to lists: MB/s",
    "rows": [["English, 80 MB", 1, "pairloom", 1, 300.0], ["English, 80 MB", 1, "b", 1, 3.0]],
}
FAMILIES = {
    "title": "a family's documents to arrays",
    "rows": [["o200k", 1, 90.0, 300.0, 9.0, 150.0, 3.0], ["odd", 1, 90.0, 300.0, "-", "-", "-"]],
}
TITLES = {
    "train": "training to 32,000 tokens",
    "encode": "documents to lists of ids, warm",
    "families": "families of tokenizers, one thread, warm",
}


def record_of(*sections: str) -> dict[str, Any]:
    tables = {"train": TRAIN, "encode": LISTS, "families": FAMILIES}
    return {
        "machine": {"cpu": "any", "cores": 2},
        "date": "2026-01-01",
        "sections": [{"name": name, "tables": [tables[name]]} for name in sections],
    }


@pytest.mark.parametrize("sections", [("train", "encode"), ("encode", "families"), ("train",), ()])
def test_a_panel_for_each_section_that_was_measured(tmp_path: Path, sections: tuple[str, ...]) -> None:
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    record, picture = tmp_path / "record.json", tmp_path / "picture.svg"
    record.write_text(json.dumps(record_of(*sections)), encoding="utf-8")
    script = ROOT / "benchmarks" / "report" / "plot.py"
    subprocess.run([sys.executable, script, record, picture], check=True, capture_output=True)
    shown = picture.read_text(encoding="utf-8")
    assert len(re.findall(r'<g id="axes_\d+">', shown)) == len(sections)
    for name, title in TITLES.items():
        assert (f"<!-- {title} -->" in shown) == (name in sections)
    assert "prefers-color-scheme: dark" in shown


def test_the_picture_of_the_readme_has_no_empty_panel() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\]\((benchmarks/record/[^)]*\.svg)\)", readme)
    assert found
    panels = (ROOT / found[1]).read_text(encoding="utf-8").split('<g id="axes_')[1:]
    assert panels
    assert all("clip-path" in panel for panel in panels), "a panel without bars or lines"
