"""Superwords from a second stage, compared with words: bytes per token, time, memory, encoding, tiktoken's encoding.

    python benchmarks/superwords.py FILE... [--megabytes 100] [--stage-one 20000] [--vocab-size 32000] [--runs]

Words are trained to the vocabulary's size. Superwords are trained on words to stage one, then continue on whole lines.
Encoding is measured on paragraphs of the first 20 MB, the first time a tokenizer sees them, on one thread; tiktoken has
the same vocabulary and pattern, and ids are compared. --runs counts the runs of pretokens that are one token each of
the words' vocabulary: what BoundlessBPE's second stage would have to count.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from pathlib import Path

import tiktoken

from pairloom import Tokenizer, pretokenize

CACHE_BYTES = 96 << 20
LINES = r"[^\n]*\n+|[^\n]+"


def encoding_speed(tokenizer: Tokenizer, documents: list[str]) -> tuple[float, list[list[int]]]:
    """Returns (MB of UTF-8 per processor second, the ids): the fastest of five, each with an empty cache."""
    seconds = math.inf
    ids: list[list[int]] = []
    for _ in range(5):
        fresh = tokenizer.with_cache_bytes(CACHE_BYTES)
        # Freeing lists takes time.
        ids = []
        began = time.process_time()
        ids = fresh.encode_batch(documents, threads=1)
        seconds = min(seconds, time.process_time() - began)
    return sum(len(document.encode()) for document in documents) / seconds / 1e6, ids


def print_runs(words: Tokenizer, text: str) -> None:
    """Counts the maximal runs of two or more pretokens that are tokens, and the distinct ones among them."""
    tokens = set(words.vocab.values())
    n_runs = n_pretokens = 0
    distinct: set[int] = set()
    n_bytes = 0
    for line in text.splitlines(keepends=True):
        run: list[bytes] = []
        for pretoken in [*pretokenize(line, words.pattern), b""]:
            if pretoken in tokens:
                run.append(pretoken)
                continue
            if len(run) > 1:
                n_runs += 1
                n_pretokens += len(run)
                if (mark := hash(tuple(run))) not in distinct:
                    distinct.add(mark)
                    n_bytes += sum(map(len, run))
            run = []
    size = len(text.encode())
    print(
        f"runs: {n_runs:,} of {n_pretokens / n_runs:.1f} pretokens, {len(distinct):,} distinct"
        f" ({len(distinct) / n_runs:.0%}), with {n_bytes / size:.0%} of the text's bytes"
    )


def main() -> None:
    """Prints a row for each stage and each encoder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--stage-one", type=int, default=20_000)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--runs", action="store_true")
    given = parser.parse_args()
    data = b"".join(Path(path).read_bytes() for path in given.files)[: given.megabytes * 1_000_000]
    text = data.decode(errors="ignore")
    documents = [paragraph + "\n\n" for paragraph in text[:20_000_000].split("\n\n")]
    n_bytes = sum(len(document.encode()) for document in documents)
    print(f"{len(data) / 1e6:.0f} MB to {given.vocab_size} tokens")
    started = time.perf_counter()
    words = Tokenizer.train(text, given.vocab_size, special_tokens=[])
    seconds = [time.perf_counter() - started]
    peaks = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]
    started = time.perf_counter()
    superwords = words.truncate_vocab(given.stage_one).extend(text, given.vocab_size, pattern=LINES)
    seconds.append(time.perf_counter() - started)
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    print("| | bytes per token | training, s | peak, GB | encoding, MB/s |\n|---|---|---|---|---|")
    for name, tokenizer, duration, peak in zip(("words", "superwords"), (words, superwords), seconds, peaks):
        speed, ids = encoding_speed(tokenizer, documents)
        per_token = n_bytes / sum(map(len, ids))
        print(f"| {name} | {per_token:.2f} | {duration:.1f} | {peak:.2f} | {speed:.1f} |")
    ranks = {token: token_id for token_id, token in superwords.vocab.items()}
    encoding = tiktoken.Encoding("superwords", pat_str=LINES, mergeable_ranks=ranks, special_tokens={})
    began = time.process_time()
    same = encoding.encode_ordinary_batch(documents, num_threads=1) == ids
    theirs = time.process_time() - began
    print(f"| tiktoken, superwords | | | | {n_bytes / theirs / 1e6:.1f} |\nsame ids: {same}")
    if given.runs:
        print_runs(words, text)


if __name__ == "__main__":
    main()
