"""Superword training in two stages and encoding afterwards, beside tiktoken with the same vocabulary and pattern.

    python benchmarks/superwords.py FILE... [--megabytes 100] [--stage-one 20000] [--vocab-size 32000]

Stage one trains on words, stage two continues on whole lines. Encoding is measured on paragraphs of the first
20 MB, the first time a tokenizer sees them, on one thread; ids are compared.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import tiktoken

from pairloom import Tokenizer

LINES = r"[^\n]*\n+|[^\n]+"


def main() -> None:
    """Prints a row for each stage and each encoder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--stage-one", type=int, default=20_000)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    given = parser.parse_args()
    data = b"".join(Path(path).read_bytes() for path in given.files)[: given.megabytes * 1_000_000]
    text = data.decode(errors="ignore")
    print(f"{len(data) / 1e6:.0f} MB")
    started = time.perf_counter()
    words = Tokenizer.train(text, given.stage_one)
    print(f"stage one, {given.stage_one} tokens: {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    superwords = words.extend(text, given.vocab_size, pattern=LINES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"stage two, {given.vocab_size} tokens: {time.perf_counter() - started:.1f} s, peak {peak:.2f} GB")
    documents = [paragraph + "\n\n" for paragraph in text[:20_000_000].split("\n\n")]
    n_bytes = sum(len(document.encode()) for document in documents)
    specials = set(superwords.special_tokens.values())
    ranks = {token: token_id for token_id, token in superwords.vocab.items() if token_id not in specials}
    encoding = tiktoken.Encoding("superwords", pat_str=LINES, mergeable_ranks=ranks, special_tokens={})
    began = time.process_time()
    ids = superwords.encode_batch(documents, threads=1)
    own = time.process_time() - began
    began = time.process_time()
    same = encoding.encode_ordinary_batch(documents, num_threads=1) == ids
    theirs = time.process_time() - began
    print(f"pairloom {n_bytes / own / 1e6:.1f} MB/s of processor time, tiktoken {n_bytes / theirs / 1e6:.1f} MB/s")
    print(f"same ids: {same}")


if __name__ == "__main__":
    main()
