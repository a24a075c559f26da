"""rustbpe's adapter: training from an iterator of documents."""

from __future__ import annotations

import rustbpe
from protocol import GPT2_PATTERN, Job, Result, documents, peak_bytes, serve, timed, write_tokens


def train(job: Job) -> Result:
    """Documents of a file to ranks."""
    tokenizer = rustbpe.Tokenizer()
    seconds, _ = timed(
        lambda: tokenizer.train_from_iterator(
            iter(documents(job["path"], job.get("limit"))), vocab_size=job["vocab_size"], pattern=GPT2_PATTERN
        )
    )
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": tokenizer.vocab_size}
    ranks = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])[256:]
    write_tokens(job, (bytes(token) for token, _ in ranks))
    return result


if __name__ == "__main__":
    serve({"train": train})
