"""gigabpe's adapter: training from a file in which each line is a text, with HuggingFace's merges."""

from __future__ import annotations

import gigabpe
from protocol import Job, Result, byte_of_character, peak_bytes, serve, timed, write_tokens


def train(job: Job) -> Result:
    """A file to vocabulary and merges."""
    given = {"vocab_size": job["vocab_size"], "pretokenizer": "bytelevel", "threads": job.get("threads") or None}
    seconds, (vocab, merges) = timed(lambda: gigabpe.train_bpe([job["path"]], **given))
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": len(vocab)}
    byte_of = byte_of_character()
    write_tokens(job, (bytes(byte_of[c] for c in left + right) for left, right in merges))
    return result


if __name__ == "__main__":
    serve({"train": train})
