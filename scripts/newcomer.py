"""Times a newcomer's first steps: clones this repository, runs and counts the commands of the README's "Install".

The text is the README itself. No browser is opened; the script checks that the page contains the text's tokens.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def readme_commands() -> list[str]:
    """Returns the lines of the shell blocks in the section "Install"."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Install\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def main() -> None:
    """Prints a line for each command and their total; exits with 1 if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "pairloom"
        commands = [f"git clone --quiet {ROOT} {clone}", *readme_commands()]
        seconds = []
        # Each command runs in its own shell, so the activated environment is put first on the path.
        path = f"PATH={clone}/.venv/bin:$PATH; "
        for command in commands:
            began = time.perf_counter()
            run = command.removesuffix(" --open")
            done = subprocess.run(
                ["bash", "-c", path + run], cwd=clone if clone.exists() else folder, capture_output=True, text=True
            )
            seconds.append(time.perf_counter() - began)
            if done.returncode:
                sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr}")
            print(f"{seconds[-1]:7.1f} s  {command.replace(str(folder), '...').replace(str(ROOT), 'URL')}", flush=True)
            if clone.exists() and not (clone / "my.txt").exists():
                (clone / "my.txt").write_bytes((clone / "README.md").read_bytes())
        page = (clone / "tokens.html").read_text(encoding="utf-8")
        assert "my.txt" in page and '"ids"' in page
        print(f"{sum(seconds):7.1f} s  from clone to own text as tokens, {len(commands)} commands")


if __name__ == "__main__":
    main()
