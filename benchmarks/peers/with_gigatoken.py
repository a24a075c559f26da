"""gigatoken's adapter: its own interface, which its documentation calls the fastest; ids stay in its arrays.

`parallel=False` encodes on the calling thread; RAYON_NUM_THREADS bounds its pool otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gigatoken
import numpy as np
from gigatoken.gigatoken_rs import TextFileSource, pretokenized_counts
from protocol import (
    Job,
    Result,
    counts_digest,
    documents,
    documents_digest,
    ids_digest,
    latency,
    peak_bytes,
    repeated,
    serve,
    texts_of,
    timed,
    write_tokens,
)


def tokenizer_of(job: Job) -> Any:
    """A tokenizer from a .tiktoken file; from a SentencePiece model or a tokenizer.json where the job names a file."""
    if file := job.get("file"):
        if file.endswith(".json"):
            return gigatoken.Tokenizer.from_json(Path(file).read_bytes())
        return gigatoken.Tokenizer.from_sentencepiece(file)
    return gigatoken.Tokenizer.from_tiktoken(job["ranks"], job.get("scheme", "gpt2"), job["special_tokens"])


def flat(ids: Any) -> Any:
    """All ids of an awkward array, without a copy."""
    return np.asarray(ids.layout.content.data)


def train(job: Job) -> Result:
    """A file to vocabulary and merges, with its fastest source and the ties that it breaks fastest."""
    source = TextFileSource([job["path"]])
    seconds, (vocab, merges) = timed(
        lambda: gigatoken.train_bpe(source, job["vocab_size"], [], tie_breaking="raw_token_ids")
    )
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": len(vocab)}
    write_tokens(job, (left + right for left, right in merges))
    return result


def count(job: Job) -> Result:
    """A file, in memory before the clock starts, to pretoken counts."""
    data = Path(job["path"]).read_bytes()
    times, counts = repeated(lambda: pretokenized_counts(data), job["repeats"])
    result: Result = {"seconds": min(times), "times": times, "distinct": len(counts), "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["counts"] = counts_digest(counts)
    return result


def encode_file(job: Job) -> Result:
    """A file to one array: the first call on a fresh tokenizer, then more."""
    tokenizer = tokenizer_of(job)
    parallel = job["threads"] != 1
    times, ids = repeated(lambda: flat(tokenizer.encode_files(job["path"], parallel=parallel)), job["repeats"])
    result: Result = {"times": times, "ids": len(ids), "id_bytes": ids.nbytes, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["digest"] = ids_digest(ids)
    return result


def encode_batch(job: Job) -> Result:
    """Documents to its arrays or to lists; it cannot count without ids, so "counts" takes the lengths of its arrays."""
    tokenizer = tokenizer_of(job)
    texts, parallel = texts_of(job), job["threads"] != 1
    calls = {
        "arrays": lambda: tokenizer.encode_batch(texts, parallel=parallel),
        "lists": lambda: tokenizer.encode_batch_list(texts, parallel=parallel),
        "counts": lambda: np.diff(np.asarray(tokenizer.encode_batch(texts, parallel=parallel).layout.offsets.data)),
    }
    times, value = repeated(calls[job["kind"]], job["repeats"])
    result: Result = {"times": times, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        if job["kind"] == "counts":
            result["lengths"] = ids_digest(value)
        else:
            result["digest"] = documents_digest(value if job["kind"] == "lists" else (np.asarray(row) for row in value))
    return result


def latencies(job: Job) -> Result:
    """One text to an array, its own way."""
    return latency(job, tokenizer_of(job).encode)


def latencies_as_lists(job: Job) -> Result:
    """One text to a list."""
    encode = tokenizer_of(job).encode
    return latency(job, lambda text: encode(text).tolist())


def decode(job: Job) -> Result:
    """A list of ids, or an array, to text; its decode gives bytes, so decoding UTF-8 is added."""
    tokenizer = tokenizer_of(job)
    ids = np.asarray(tokenizer.encode("".join(documents(job["path"], job["limit"]))))
    given = ids.tolist() if job["kind"] == "list" else ids
    times, text = repeated(lambda: tokenizer.decode(given).decode(), job["repeats"])
    return {"times": times, "n_bytes": len(text.encode()), "digest": ids_digest(list(text.encode()))}


def load(job: Job) -> Result:
    """A .tiktoken file to a tokenizer."""
    times, tokenizer = repeated(lambda: tokenizer_of(job), job["repeats"])
    return {"times": times, "n_vocab": tokenizer.vocab_size}


if __name__ == "__main__":
    serve(
        {
            "train": train,
            "count": count,
            "encode_file": encode_file,
            "encode_batch": encode_batch,
            "latency": latencies,
            "latency_lists": latencies_as_lists,
            "decode": decode,
            "load": load,
        }
    )
