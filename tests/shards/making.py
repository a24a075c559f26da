"""Makes the shards that the tests of loaders read."""

from __future__ import annotations

from pathlib import Path

from pairloom import Tokenizer, tokenize_files


def text_shards(folder: Path, format: str = "npy") -> Path:
    """Several shards, written beside their text: with an empty document, and one that is as long as many."""
    texts = ["the cat sat", "", "the hat of the cat " * 30, "ab ab"] * 20
    (folder / "text.txt").write_text("\n\n".join(texts))
    tokenizer, out = Tokenizer.train(texts, 270), folder / "out"
    tokenize_files(tokenizer, folder / "text.txt", out, separator="\n\n", shard_tokens=700, format=format)
    return out
