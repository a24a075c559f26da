"""Draws the four figures of docs/ladder.md in docs/pictures: `python scripts/ladder_figures.py [FOLDER]`.

The words and counts come from a small corpus, by the definition. Orange marks what one merge reads.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from pairloom.reference.naive import apply_merge, count_pairs

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WORDS = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]
PAIR = (ord("e"), ord("s"))
MERGED = 256
READ, KEPT, TABLE = "#ffd9a0", "#eeeff5", "#d8e6ff"


def text(x: float, y: float, words: str, anchor: str = "start", size: int = 15) -> str:
    """One line of text; its baseline is at y."""
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, words: str, fill: str, width: float = 30) -> str:
    """A rectangle with a word in it."""
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="28" rx="4" fill="{fill}" stroke="#666a80"/>'
    return shape + text(x + width / 2, y + 20, words, "middle")


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line with a head."""
    return f'<path d="M{x1} {y1} L{x2} {y2}" stroke="#444" stroke-width="1.5" marker-end="url(#head)"/>'


def spelled(symbols: list[int]) -> list[str]:
    """Returns each symbol as it is drawn."""
    return ["es" if symbol == MERGED else chr(symbol) for symbol in symbols]


def word_rows(reads: str) -> list[str]:
    """Draws the words as rows of symbols after the merge; those that the merge read are orange: "all" or "changed"."""
    parts = []
    for row, (word, count) in enumerate(WORDS):
        before = list(word.encode())
        after = apply_merge(before, PAIR, MERGED)
        fill = READ if reads == "all" or after != before else KEPT
        parts.append(text(60, 71 + 38 * row, f"{count} ×", "end"))
        parts += [box(72 + 34 * i, 51 + 38 * row, symbol, fill) for i, symbol in enumerate(spelled(after))]
    return parts


def pairs_beside() -> list[tuple[str, int, int]]:
    """Returns (pair, count before, count after) for each pair whose count the merge changes."""
    before = count_pairs([(list(word.encode()), count) for word, count in WORDS])
    after = count_pairs([(apply_merge(list(word.encode()), PAIR, MERGED), count) for word, count in WORDS])
    changed = sorted(pair for pair in before | after if before[pair] != after[pair])
    return [(" ".join(spelled(list(pair))), before[pair], after[pair]) for pair in changed]


def naive() -> list[str]:
    """Draws the naive trainer, which reads all words for each merge."""
    all_pairs = count_pairs([(list(word.encode()), count) for word, count in WORDS])
    parts = [text(20, 30, "Merge e s: every word is read, every pair is counted again"), *word_rows("all")]
    for i, (pair, count) in enumerate(sorted(all_pairs.items(), key=lambda item: (-item[1], item[0]))):
        parts.append(
            box(330 + 125 * (i % 3), 51 + 38 * (i // 3), f"{' '.join(spelled(list(pair)))}: {count}", READ, 110)
        )
    return parts


def incremental() -> list[str]:
    """Draws the incremental trainer: only words with the pair, and the pairs next to it, change."""
    parts = [text(20, 30, "Merge e s: two words hold it; only these counts change"), *word_rows("changed")]
    for i, (pair, before, after) in enumerate(pairs_beside()):
        parts.append(box(330 + 175 * (i % 2), 51 + 38 * (i // 2), f"{pair}: {before} → {after}", READ, 150))
    return parts


def native() -> list[str]:
    """Draws the native trainer: symbols in one array, positions of each pair, and a queue."""
    parts = [text(20, 30, "One array of symbols, positions of each pair, a queue by count")]
    symbols = [symbol for word, _ in WORDS for symbol in [*word, "·"]][:-1]
    starts = [i for i in range(len(symbols)) if "".join(symbols[i : i + 2]) == "es"]
    for i, symbol in enumerate(symbols):
        is_read = any(start <= i <= start + 1 for start in starts)
        parts.append(box(20 + 30 * i, 50, symbol, READ if is_read else KEPT, 27))
    parts += [
        box(20, 140, f"e s: positions {starts[0]}, {starts[1]}", READ, 220),
        box(20, 174, "o w: positions 1, 5", TABLE, 220),
    ]
    parts += [arrow(130, 138, 20 + 30 * start + 27, 82) for start in starts]
    for i, entry in enumerate(("9: e s", "9: s t", "8: w e")):
        parts.append(box(420, 106 + 34 * i, entry, TABLE if i else READ, 120))
    parts.append(text(552, 126, "next, in log n"))
    return parts


def parallel() -> list[str]:
    """Draws parallel counting: threads count parts of the text, and the counts are added."""
    parts = [text(20, 30, "Cut where no pretoken crosses, count on each thread, add")]
    for i, (part, counts) in enumerate(
        [
            ("the cat", "the 1   _cat 1"),
            ("_and the dog", "_and 1   _the 1   _dog 1"),
            ("_and the cat", "_and 1   _the 1   _cat 1"),
        ]
    ):
        x = 20 + 230 * i
        parts += [box(x, 50, part, KEPT, 215), arrow(x + 107, 80, x + 107, 104), box(x, 108, counts, READ, 215)]
        parts.append(arrow(x + 107, 138, 357, 178))
    parts.append(box(150, 182, "the 1   _and 2   _the 2   _cat 2   _dog 1", TABLE, 415))
    return parts


def drawing(parts: list[str], height: int = 225) -> str:
    """Returns the SVG of all parts."""
    tip = '<path d="M0 0 L8 4 L0 8 z" fill="#444"/>'
    size = 'markerWidth="8" markerHeight="8" refX="6" refY="4"'
    head = f'<defs><marker id="head" {size} orient="auto">{tip}</marker></defs>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" font-family="monospace" fill="#1c1e2b">'
        f'{head}<rect width="720" height="{height}" rx="6" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main(folder: Path) -> None:
    """Writes the figures."""
    for figure in (naive, incremental, native, parallel):
        (folder / f"ladder-{figure.__name__}.svg").write_text(drawing(figure()), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
