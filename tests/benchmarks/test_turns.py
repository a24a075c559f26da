"""A benchmark's libraries alternate in order, forward and back, and each result has its library's name."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
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


def test_turns_go_forth_and_back() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["abcca aa b cc", "a+b+c+c+a+a+c+ aaa b ccc"]
