"""tokenizers' adapter: batches through encode_batch_fast, training from an iterator of documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from protocol import (
    Job,
    Result,
    byte_of_character,
    documents,
    documents_digest,
    ids_digest,
    latency,
    peak_bytes,
    repeated,
    repeated_on_processor,
    serve,
    texts_of,
    timed,
    write_tokens,
)
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def byte_level(model: Any) -> Any:
    tokenizer: Any = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def tokenizer_of(job: Job) -> Any:
    """A tokenizer from a tokenizer.json where the job names a file, else from GPT-2's two files."""
    if "file" in job:
        return Tokenizer.from_file(job["file"])
    return byte_level(models.BPE.from_file(job["encoder_json"], job["merges_txt"]))


def train(job: Job) -> Result:
    """Documents of a file to a tokenizer, the whole byte alphabet first."""
    tokenizer = byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=job["vocab_size"],
        show_progress=False,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    seconds, _ = timed(lambda: tokenizer.train_from_iterator(documents(job["path"], job.get("limit")), trainer))
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": tokenizer.get_vocab_size()}
    if job.get("answer"):
        byte_of = byte_of_character()
        tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])[256:]
        write_tokens(job, (bytes(byte_of[c] for c in token) for token, _ in tokens))
    return result


def encode_batch(job: Job) -> Result:
    """Documents to lists."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if job["threads"] == 1 else "true"
    tokenizer = tokenizer_of(job)
    texts = texts_of(job)
    times, ids = repeated(
        lambda: [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)], job["repeats"]
    )
    result: Result = {"times": times, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["digest"] = documents_digest(ids)
    return result


def by_pre_tokenizer(job: Job) -> Result:
    """The ids of the texts by each pre_tokenizer of a list, in a tokenizer.json."""
    file, texts = json.loads(Path(job["file"]).read_text(encoding="utf-8")), texts_of(job)
    digests = []
    for node in job["nodes"]:
        tokenizer = Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": node}))
        ids = (encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        digests.append(documents_digest(ids))
    return {"digests": digests}


def latencies(job: Job) -> Result:
    """One text to a list."""
    encode = tokenizer_of(job).encode
    return latency(job, lambda text: encode(text).ids)


def script(job: Job) -> Result:
    """The usual script: a file through the loaders of datasets, batch by batch to one array, saved."""
    import datasets
    import numpy as np

    os.environ["TOKENIZERS_PARALLELISM"] = "false" if job["threads"] == 1 else "true"
    tokenizer = tokenizer_of(job)

    def run() -> Any:
        rows = datasets.load_dataset(job["loader"], data_files=job["path"], split="train", streaming=True)
        parts = [
            np.array(encoding.ids, np.uint16)
            for batch in rows.iter(batch_size=1000)
            for encoding in tokenizer.encode_batch_fast(batch["text"])
        ]
        ids = np.concatenate(parts)
        np.save(f"{job['folder']}/script.npy", ids)
        return ids

    seconds, ids = timed(run)
    return {"seconds": seconds, "digest": ids_digest(ids), "peak_bytes": peak_bytes()}


def load_file(job: Job) -> Result:
    """A tokenizer.json, or a folder of vocab.json and merges.txt, to a tokenizer."""
    path = Path(job["file"])

    def read() -> Tokenizer:
        if path.is_dir():
            return Tokenizer(models.BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt")))
        return Tokenizer.from_file(str(path))

    return {"times": repeated_on_processor(read, job["repeats"])}


if __name__ == "__main__":
    serve(
        {
            "train": train,
            "encode_batch": encode_batch,
            "pre_tokenizers": by_pre_tokenizer,
            "latency": latencies,
            "script": script,
            "load_file": load_file,
        }
    )
