"""tiktoken's adapter: encode_ordinary and its batch form, the fastest it has."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import tiktoken
from protocol import (
    Job,
    Result,
    documents,
    documents_digest,
    ids_digest,
    latency,
    peak_bytes,
    repeated,
    repeated_on_processor,
    serve,
)


def ranks_of(job: Job) -> dict[bytes, int]:
    """The ranks of a .tiktoken file."""
    lines = Path(job["ranks"]).read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


def encoding_of(job: Job, ranks: dict[bytes, int]) -> Any:
    return tiktoken.Encoding(
        "bench", pat_str=job["pattern"], mergeable_ranks=ranks, special_tokens=job["special_tokens"]
    )


def encode_batch(job: Job) -> Result:
    """Documents to lists."""
    encoding = encoding_of(job, ranks_of(job))
    texts = documents(job["path"], job.get("limit"))
    times, ids = repeated(lambda: encoding.encode_ordinary_batch(texts, num_threads=job["threads"]), job["repeats"])
    result: Result = {"times": times, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["digest"] = documents_digest(ids)
        result["lengths"] = ids_digest([len(x) for x in ids])
    return result


def latencies(job: Job) -> Result:
    """One text to a list."""
    return latency(job, encoding_of(job, ranks_of(job)).encode_ordinary)


def decode(job: Job) -> Result:
    """A list of ids to text."""
    encoding = encoding_of(job, ranks_of(job))
    ids = [x for row in encoding.encode_ordinary_batch(documents(job["path"], job["limit"])) for x in row]
    times, text = repeated(lambda: encoding.decode(ids), job["repeats"])
    return {"times": times, "n_bytes": len(text.encode()), "digest": ids_digest(list(text.encode()))}


def load(job: Job) -> Result:
    """Ranks in memory to an Encoding."""
    ranks = ranks_of(job)
    times, encoding = repeated(lambda: encoding_of(job, ranks), job["repeats"])
    return {"times": times, "n_vocab": encoding.n_vocab}


def load_file(job: Job) -> Result:
    """A .tiktoken file to an Encoding, by tiktoken's own reader."""
    from tiktoken.load import load_tiktoken_bpe

    return {"times": repeated_on_processor(lambda: encoding_of(job, load_tiktoken_bpe(job["file"])), job["repeats"])}


if __name__ == "__main__":
    serve({"encode_batch": encode_batch, "latency": latencies, "decode": decode, "load": load, "load_file": load_file})
