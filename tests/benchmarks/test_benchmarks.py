"""Benchmarks: libraries take turns, absent vocabularies are a note, a picture has panels only for what was measured."""

import re
import subprocess
import sys

from tests.cases import ROOT

TURNS = """
import peer_process
from pathlib import Path
from report.section import Setup

ran = []
peer_process.run = lambda peer, job, older: ran.append(peer + "+" * job["ready_memory"]) or {"of": peer}
setup = Setup(False, 2, 1, [], [], [], Path("."), ["portable"])
calls = {name: (name, {"task": "none"}) for name in "abc"}
for first_calls in (False, True):
    found = peer_process.turns(calls, setup, once=["b"], first_calls=first_calls)
    print("".join(ran), *("".join(result["of"] for result in found[name]) for name in "abc"))
    ran.clear()
"""
FAMILIES = """
from pathlib import Path
from report.section import Setup
from suites import families

families.FAMILIES = Path("nowhere")
print(families.measure(Setup(True, 1, 1, [], [], [], Path("."), ["portable"])).text())
"""


def printed(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True).stdout


def test_turns_go_forth_and_back() -> None:
    assert printed(TURNS).splitlines() == ["abcca aa b cc", "a+b+c+c+a+a+c+ aaa b ccc"]


def test_families_that_are_absent_are_a_note() -> None:
    assert printed(FAMILIES) == "== families ==\nnote: nowhere is not there: nothing was measured\n"


def test_the_picture_of_the_readme_has_no_empty_panel() -> None:
    found = re.search(r"\]\((benchmarks/record/[^)]*\.svg)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found
    panels = (ROOT / found[1]).read_text(encoding="utf-8").split('<g id="axes_')[1:]
    assert panels and all("clip-path" in panel for panel in panels), "a panel without bars or lines"
