"""sentencepiece's adapter: batches of texts to lists."""

from __future__ import annotations

import sentencepiece
from protocol import Job, Result, documents_digest, repeated, serve, texts_of


def encode_batch(job: Job) -> Result:
    """Documents to lists."""
    processor = sentencepiece.SentencePieceProcessor(model_file=job["file"])
    texts = texts_of(job)
    times, ids = repeated(lambda: processor.encode(texts, num_threads=job["threads"]), job["repeats"])
    result: Result = {"times": times}
    if job.get("verify"):
        result["digest"] = documents_digest(ids)
    return result


if __name__ == "__main__":
    serve({"encode_batch": encode_batch})
