"""Lists the documentation's sentences of more than 30 words: `python scripts/long_sentences.py [PAGE ...]`.

Code, tables, headings and link addresses do not count; a piece of inline code is one word. Exit status 1 if a
page has more than three; tests/docs runs it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 30
MAX_A_PAGE = 3

_NOT_PROSE = re.compile(r"^```.*?^```$|<!--.*?-->|^(?:#|\||!\[|    |<).*?$", re.DOTALL | re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_SENTENCE = re.compile(r"(?<=[.!?])[)*\"]* +(?=\W*[A-Z0-9`])")
_WORD = re.compile(r"`[^`]*`|[^\s`]*\w[^\s`]*")


def long_sentences(markdown: str) -> list[tuple[int, str]]:
    """Returns (words, sentence) for each sentence that is too long."""
    prose = re.sub(r"\]\([^)]*\)", "]", _NOT_PROSE.sub("\n", markdown))
    paragraphs = (" ".join(paragraph.split()) for paragraph in _PARAGRAPH.split(prose))
    sentences = [sentence for paragraph in paragraphs for sentence in _SENTENCE.split(paragraph)]
    counted = [(len(_WORD.findall(sentence)), sentence) for sentence in sentences]
    return [each for each in counted if each[0] > MAX_WORDS]


def pages() -> list[Path]:
    """Returns README.md and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(paths: list[Path]) -> int:
    """Prints the long sentences of each page; returns 1 if a page has too many."""
    too_many = False
    for path in paths:
        found = long_sentences(path.read_text(encoding="utf-8"))
        too_many |= len(found) > MAX_A_PAGE
        print(f"{path}: {len(found)}")
        for n_words, sentence in found:
            print(f"  {n_words}: {sentence}")
    return int(too_many)


if __name__ == "__main__":
    raise SystemExit(main([Path(name) for name in sys.argv[1:]] or pages()))
