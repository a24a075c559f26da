"""The first result of `make demo`: plain Python learns merges from a page of text, this project's README.

It uses the definition, `pairloom.reference`, which needs nothing compiled, so cargo can still be running.
"""

from __future__ import annotations

import time
from pathlib import Path

from pairloom.reference.naive import encode, train

PAGE = Path(__file__).resolve().parents[1] / "README.md"
N_MERGES = 200
SENTENCE = "This tokenizer is trained on a page of text."


def main() -> None:
    """Prints the first merges and a sentence as tokens."""
    began = time.perf_counter()
    page = PAGE.read_text(encoding="utf-8")
    model = train(page, 256 + N_MERGES)
    seconds = time.perf_counter() - began

    def token(token_id: int) -> str:
        return repr(model.vocab[token_id].decode(errors="replace"))

    print(f"plain Python learned {N_MERGES} merges from README.md ({len(page)} characters) in {seconds:.1f} s:")
    for number in (0, 1, 2, 3, 10, 50, 100, 150):
        left, right, merged = model.merges[number]
        print(f"  merge {number + 1:3}: {token(left)} + {token(right)} = {token(merged)}")
    print(f"  {len(SENTENCE)} characters as {len(encode(SENTENCE, model))} tokens:", end=" ")
    print("|".join(token(token_id)[1:-1] for token_id in encode(SENTENCE, model)))


if __name__ == "__main__":
    main()
