"""Makes the shards that the loader tests read."""

import random
import re
from pathlib import Path

from pairloom import Tokenizer, tokenize_files
from tests.cases import ROOT
from tests.corpus.files import json_lines


class Killed(BaseException):
    """Stands for a kill: no cleanup may run after it."""


def random_lines(folder: Path, seed: int, n: int = 40) -> Path:
    """Returns JSON lines with texts of very different lengths, some of them empty."""
    rng = random.Random(seed)
    texts = ["".join(rng.choices(["ab", " the", " cat", "x", "é"], k=rng.choice([0, 1, 5, 30, 90]))) for _ in range(n)]
    (folder / "text.jsonl").write_text(json_lines(texts), encoding="utf-8")
    return folder / "text.jsonl"


def text_shards(folder: Path, format: str = "npy") -> Path:
    """Writes several shards next to their text, with an empty document and a very long one."""
    texts = ["the cat sat", "", "the hat of the cat " * 30, "ab ab"] * 20
    (folder / "text.txt").write_text("\n\n".join(texts))
    tokenizer, out = Tokenizer.train(texts, 270), folder / "out"
    tokenize_files(tokenizer, folder / "text.txt", out, separator="\n\n", shard_tokens=700, format=format)
    return out


def page_code(part: str) -> str:
    """Returns the Python snippet of docs/shards.md that contains `part`."""
    text = (ROOT / "docs" / "shards.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"```python(?: notest)?\n(.*?)```", text, re.S) if part in code)
    return str(code)
