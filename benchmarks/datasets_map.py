"""Compares `datasets.map` with transformers, with pairloom.dropin.transformers, and with pairloom in the Arrow format.

    python benchmarks/datasets_map.py FILE

FILE is a text of some megabytes, split into rows of 1,500 characters. All return the same ids.
Needs datasets and transformers.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from transformers import PreTrainedTokenizerFast

from pairloom import Tokenizer
from pairloom.dropin.transformers import fast

ROW = 1500


def main() -> None:
    """Prints the best of three runs of each, in seconds, and its speedup over the first."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    dataset = datasets.Dataset.from_dict({"text": [text[at : at + ROW] for at in range(0, len(text), ROW)]})
    datasets.disable_caching()
    datasets.disable_progress_bars()
    tokenizer = Tokenizer.train(text[:4_000_000], 32_000, special_tokens=())
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder, "tokenizer.json"), format="huggingface")
        theirs = PreTrainedTokenizerFast(tokenizer_file=str(Path(folder, "tokenizer.json")))
    ours = fast(tokenizer)

    def by_call(call: Callable[..., Any]) -> Any:
        return dataset.map(lambda batch: call(batch["text"]), batched=True, remove_columns="text")

    def encoded(table: pa.Table) -> pa.Table:
        return pa.table({"input_ids": tokenizer.encode_arrow(table["text"], type=pa.list_(pa.int32()))})

    def in_arrow() -> Any:
        rows = dataset.with_format("arrow").map(encoded, batched=True, remove_columns="text")
        return rows.with_format(None)

    calls = {
        "transformers": lambda: by_call(theirs),
        "pairloom.dropin.transformers": lambda: by_call(ours),
        "pairloom, Arrow format": in_arrow,
    }
    ids = [call()["input_ids"][:] for call in calls.values()]
    assert all(each == ids[0] for each in ids), "the ids differ"
    first = 0.0
    for name, call in calls.items():
        times = []
        for _ in range(3):
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
        first = first or min(times)
        print(f"{name}: {min(times):.2f} s, {first / min(times):.1f} times")


if __name__ == "__main__":
    main()
