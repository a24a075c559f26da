"""Pictures of the documentation that a script draws are up to date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_ladders_figures_are_those_of_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "ladder_figures.py"), str(tmp_path)], check=True)
    drawn = {figure.name: figure.read_bytes() for figure in tmp_path.iterdir()}
    assert len(drawn) == 4
    assert drawn == {name: (ROOT / "docs" / "pictures" / name).read_bytes() for name in drawn}
