"""The corpora for the tests of all engines."""

import json
import random
from pathlib import Path

from pairloom import PretokenCounts, Tokenizer

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262, decode_errors="replace")
_RNG = random.Random(1)
_WORDS = ["ab", " the", " cat", "é", " 東京", " 12345", "\n\n", " <|endoftext|>", " it's"]
TEXTS = ["".join(_RNG.choices(_WORDS, k=_RNG.randrange(40))) for _ in range(300)]
IDS = TOKENIZER.encode_batch(TEXTS, allowed_special=())
COUNTS = PretokenCounts.from_texts(TEXTS, "cl100k")
MERGES = Tokenizer.train_from_counts(COUNTS, 280).merges


def write_parts(folder: Path, n_parts: int) -> list[str]:
    """Writes the texts as JSON lines in `n_parts` files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part in range(n_parts):
        start, stop = part * len(TEXTS) // n_parts, (part + 1) * len(TEXTS) // n_parts
        paths.append(folder / f"{part}.jsonl")
        lines = (json.dumps({"id": str(number), "text": TEXTS[number]}) + "\n" for number in range(start, stop))
        paths[-1].write_text("".join(lines), encoding="utf-8")
    return list(map(str, paths))


def same_counts(found: PretokenCounts) -> bool:
    """Returns whether these are the counts of a single process, and train to the same merges."""
    return (
        dict(found.items()) == dict(COUNTS.items())
        and found.metadata == COUNTS.metadata
        and Tokenizer.train_from_counts(found, 280).merges == MERGES
    )
