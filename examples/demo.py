"""`make demo`: train on real text of this machine, save, load, encode, decode, prove it lossless, show it.

The corpus is the Python standard library's own sources, which every machine that runs this has.
"""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from pairloom import PretokenCounts, Tokenizer
from pairloom.analysis.render import coloured

VOCAB_SIZE = 8192
PARAGRAPH = (
    "A tokenizer turns text into the integers that a language model reads. pairloom learned these pieces from "
    "the sources of Python's standard library: def __init__(self), naïve café, 東京, 🙂.\n"
)


def standard_library() -> tuple[list[str], list[str]]:
    """Returns (text files, files that are not UTF-8) among the standard library's sources."""
    usable, skipped = [], []
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            if path.read_bytes().decode():
                usable.append(str(path))
        except UnicodeDecodeError:
            skipped.append(str(path))
    return usable, skipped


def stage(name: str, n_bytes: int, seconds: float) -> None:
    """Prints one line of the table: seconds and MB/s."""
    print(f"  {name:<28} {seconds:8.3f} s {n_bytes / 1e6 / max(seconds, 1e-9):10.1f} MB/s")


def main() -> int:
    """Runs the demo; returns 1 if decoding does not restore the corpus byte for byte."""
    began = time.perf_counter()
    files, skipped = standard_library()
    n_bytes = sum(Path(path).stat().st_size for path in files)
    print(f"corpus: {n_bytes / 1e6:.1f} MB in {len(files)} documents (the Python standard library)")

    start = time.perf_counter()
    counts = PretokenCounts.from_files(files)
    counted = time.perf_counter()
    tokenizer = Tokenizer.train_from_counts(counts, VOCAB_SIZE)
    trained = time.perf_counter()
    print(f"distinct pretokens: {len(counts)}; vocabulary: {tokenizer.n_vocab} tokens")
    stage("count pretokens", n_bytes, counted - start)
    stage(f"learn {len(tokenizer.merges)} merges", n_bytes, trained - counted)

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "demo.json"
        tokenizer.save(model)
        start = time.perf_counter()
        tokenizer = Tokenizer.load(model)
        print(f"  saved {model.stat().st_size} bytes, loaded in {(time.perf_counter() - start) * 1e3:.1f} ms")

    texts = [Path(path).read_bytes() for path in files]
    start = time.perf_counter()
    ids, offsets = tokenizer.encode_batch_to_numpy([text.decode() for text in texts])
    encoded = time.perf_counter()
    decoded = tokenizer.decode_bytes(ids)
    stage("encode", n_bytes, encoded - start)
    stage("decode", n_bytes, time.perf_counter() - encoded)
    assert len(offsets) == len(texts) + 1
    if decoded != b"".join(texts):
        print("decoding did NOT give the corpus back", file=sys.stderr)
        return 1
    print(f"lossless: {len(decoded)} bytes came back equal, from {len(ids)} ids")
    print(f"bytes per token: {n_bytes / len(ids):.2f}")
    longest = sorted(tokenizer.vocab.values(), key=lambda token: (-len(token), token))[:8]
    print("longest tokens:", ", ".join(repr(token.decode(errors="replace")) for token in longest))
    print()
    print(coloured(tokenizer, PARAGRAPH), end="")
    print(f"({len(PARAGRAPH.encode())} bytes, {tokenizer.count_tokens(PARAGRAPH)} tokens)")
    if skipped:
        print(
            f"\n{len(skipped)} files were skipped, because they are not UTF-8:",
            ", ".join(Path(path).name for path in skipped),
        )
    print(
        f"\nmake demo: done in {time.perf_counter() - began:.1f} s. pairloom is in .venv and compiled in target:"
        " try `.venv/bin/pairloom --help`, then `make test`."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
