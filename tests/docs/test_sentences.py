"""Pages are readable: at most three sentences have more than 30 words, and a guide starts with its purpose."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "long_sentences.py"
LONG = "Word " + " ".join(["word"] * 30)


def listed(*pages: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, pages)], capture_output=True, text=True)


def test_no_page_has_more_than_three_long_sentences() -> None:
    done = listed()
    assert done.returncode == 0, done.stdout


def test_a_fourth_long_sentence_of_a_page_fails(tmp_path: Path) -> None:
    (page := tmp_path / "page.md").write_text(f"A short one. {LONG}. Short.\n\n{LONG}!\n- {LONG}.\n- [{LONG}](a.md).\n")
    done = listed(page)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [f"{page}: 4", f"  31: {LONG}."]


def test_every_guide_says_first_for_whom_and_how_long() -> None:
    silent = []
    for guide in (SCRIPT.parents[1] / "docs" / "guides").glob("*.md"):
        first = guide.read_text(encoding="utf-8").split("\n\n")[1]
        if "For " not in first or " minutes" not in first:
            silent.append(guide.name)
    assert set(silent) <= {"a-year.md"}
