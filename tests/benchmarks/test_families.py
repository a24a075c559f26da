"""The benchmark of families prints one line and ends if there are no vocabularies to measure."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from pathlib import Path
from report.section import Setup
from suites import families

families.FAMILIES = Path("nowhere")
print(families.measure(Setup(True, 1, 1, [], [], [], Path("."), ["portable"])).text())
"""


def test_families_that_are_absent_are_a_note() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert done.stdout == "== families ==\nnote: nowhere is not there: nothing was measured\n"
