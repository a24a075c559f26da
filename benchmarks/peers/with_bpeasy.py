"""bpeasy's adapter: training from an iterator of documents."""

from __future__ import annotations

import bpeasy
from protocol import GPT2_PATTERN, Job, Result, documents, peak_bytes, serve, timed, write_tokens


def train(job: Job) -> Result:
    """Trains on the documents of a file; tokens can have any length."""
    seconds, vocab = timed(
        lambda: bpeasy.train_bpe(
            iter(documents(job["path"], job.get("limit"))), GPT2_PATTERN, 1 << 20, job["vocab_size"]
        )
    )
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": len(vocab)}
    ranks = sorted(vocab.items(), key=lambda item: item[1])[256:]
    write_tokens(job, (bytes(token) for token, _ in ranks))
    return result


if __name__ == "__main__":
    serve({"train": train})
