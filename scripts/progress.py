"""Runs a command, reports its progress every few seconds, and shows its output only if it fails.

    python scripts/progress.py WHAT COMMAND...

For cargo it shows how many steps are done, and what is being compiled.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable

SECONDS_PER_LINE = 5
CARGO_SHOWS_PROGRESS = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "100"}


def main() -> int:
    """Runs the command and returns its exit status."""
    what, *command = sys.argv[1:]
    began = time.monotonic()
    lines: list[str] = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | CARGO_SHOWS_PROGRESS
    )
    assert process.stdout is not None
    # Text mode treats the carriage return before each of cargo's bars as a line end.
    reader = threading.Thread(target=_collect, args=(process.stdout, lines))
    reader.start()
    while True:
        reader.join(SECONDS_PER_LINE)
        if not reader.is_alive():
            break
        steps = re.findall(r"\] (\d+/\d+: .*)", "".join(lines))
        at = f", step {steps[-1].strip()}" if steps else ""
        print(f"  {what}: {time.monotonic() - began:.0f} s{at}", flush=True)
    if status := process.wait():
        print(*(line for line in lines if "Building [" not in line), sep="", file=sys.stderr)
        print(f"{what}: {' '.join(command)} failed with exit status {status}", file=sys.stderr)
    return status


def _collect(output: Iterable[str], lines: list[str]) -> None:
    for line in output:
        lines.append(line)


if __name__ == "__main__":
    sys.exit(main())
