"""pairloom's adapter."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from protocol import (
    Job,
    Result,
    byte_of_character,
    counts_digest,
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

import pairloom.dropin.tokenizers as hf
from pairloom import FormatError, PretokenCounts, Tokenizer, formats, tokenize_files


def train(job: Job) -> Result:
    """A file to a tokenizer; under the profile whose ties a peer shares, so that answers can be compared."""
    profile, threads = job.get("profile", "huggingface"), job.get("threads", 0)
    fields = {"pattern": job["pattern"]} if "pattern" in job else {}
    if job.get("by_lines"):
        return train_by_lines(job)
    if job.get("by_documents"):
        seconds, tokenizer = timed(
            lambda: Tokenizer.train(
                documents(job["path"], job.get("limit")), job["vocab_size"], profile, threads=threads, **fields
            )
        )
    else:
        seconds, tokenizer = timed(
            lambda: Tokenizer.train_files([job["path"]], job["vocab_size"], profile, threads=threads, **fields)
        )
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": tokenizer.n_vocab}
    if job.get("answer"):
        write_tokens(job, (left + right for left, right in tokenizer.merges))
    if job.get("model"):
        tokenizer.save(job["model"], overwrite=True)
    return result


def train_by_lines(job: Job) -> Result:
    """As HuggingFace's trainer reads a file: each line is a text, and the alphabet is that of the file."""
    tokenizer = hf.Tokenizer(hf.models.BPE())
    tokenizer.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = hf.trainers.BpeTrainer(vocab_size=job["vocab_size"], show_progress=False)
    seconds, _ = timed(lambda: tokenizer.train([job["path"]], trainer))
    result: Result = {"seconds": seconds, "peak_bytes": peak_bytes(), "n_vocab": tokenizer.get_vocab_size()}
    if job.get("answer"):
        byte_of = byte_of_character()
        pairs = json.loads(tokenizer.to_str())["model"]["merges"]
        write_tokens(job, (bytes(byte_of[c] for c in left + right) for left, right in pairs))
    return result


def stages(job: Job) -> Result:
    """Training in its two stages."""
    counting, counts = timed(lambda: PretokenCounts.from_files([job["path"]], threads=job.get("threads", 0)))
    merging, _ = timed(
        lambda: Tokenizer.train_from_counts(counts, job["vocab_size"], "huggingface", threads=job.get("threads", 0))
    )
    return {"seconds": counting + merging, "counting": counting, "merging": merging, "distinct": len(counts)}


def count(job: Job) -> Result:
    """A file to pretoken counts."""
    times, counts = repeated(
        lambda: PretokenCounts.from_files([job["path"]], threads=job.get("threads", 0)), job["repeats"]
    )
    result: Result = {"seconds": min(times), "times": times, "distinct": len(counts), "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["counts"] = counts_digest(counts.items())
    return result


def encode_file(job: Job) -> Result:
    """A file to one array: the first call on a fresh tokenizer, then more."""
    tokenizer = Tokenizer.load(job["model"])
    times, ids = repeated(lambda: tokenizer.encode_file(job["path"], threads=job["threads"]), job["repeats"])
    result: Result = {"times": times, "ids": len(ids), "id_bytes": ids.nbytes, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        result["digest"] = ids_digest(ids)
    return result


def encode_batch(job: Job) -> Result:
    """Documents to arrays, to lists, or to numbers of tokens."""
    tokenizer = Tokenizer.load(job["model"], **job.get("load", {}))
    texts, threads = texts_of(job), job["threads"]
    calls: dict[str, Callable[[], Any]] = {
        "arrays": lambda: tokenizer.encode_batch_to_numpy(texts, threads=threads),
        "lists": lambda: tokenizer.encode_batch(texts, threads=threads),
        "counts": lambda: tokenizer.count_tokens_batch(texts, threads=threads),
    }
    times, value = repeated(calls[job["kind"]], job["repeats"])
    result: Result = {"times": times, "peak_bytes": peak_bytes()}
    if job.get("verify"):
        if job["kind"] == "counts":
            result["lengths"] = ids_digest(value)
        else:
            ids = value if job["kind"] == "lists" else np.split(value[0], value[1][1:-1])
            result["digest"] = documents_digest(ids)
            result["lengths"] = ids_digest([len(x) for x in ids])
    return result


def by_pre_tokenizer(job: Job) -> Result:
    """Documents to arrays by each pre_tokenizer of a list, in a tokenizer.json: seconds by threads, and ids of texts.

    None stands for a pre_tokenizer that is refused.
    """
    file, texts = json.loads(Path(job["file"]).read_text(encoding="utf-8")), texts_of(job)
    long = documents(job["path"], job["limit"])
    found: list[Result | None] = []
    for node in job["nodes"]:
        try:
            model = formats.read("huggingface", json.dumps({**file, "pre_tokenizer": node}).encode())
        except FormatError:
            found.append(None)
            continue
        tokenizer = Tokenizer.from_model(model)
        row: Result = {"engine": tokenizer.pattern_engine, "digest": documents_digest(tokenizer.encode_batch(texts))}
        for threads in job["threads"]:
            times, _ = repeated(lambda n=threads: tokenizer.encode_batch_to_numpy(long, threads=n), 4)  # type: ignore[misc] # noqa: B023
            row[str(threads)] = min(times[1:])
        found.append(row)
    return {"rows": found}


def arrow(job: Job) -> Result:
    """Documents to arrays, and a column of them to a column of ids, in turn; AssertionError if the ids differ."""
    import pyarrow as pa

    tokenizer = Tokenizer.load(job["model"])
    texts, threads = [text for path in job["paths"] for text in documents(path)], job["threads"]
    column = pa.array(texts, pa.large_string())
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, threads=threads)
    lists = tokenizer.encode_arrow(column, threads=threads)
    assert np.array_equal(lists.values, ids) and np.array_equal(lists.offsets, offsets), "the ids differ"
    del ids, offsets, lists
    arrays, columns = [], []
    for _ in range(job["repeats"]):
        arrays.append(timed(lambda: tokenizer.encode_batch_to_numpy(texts, threads=threads))[0])
        columns.append(timed(lambda: tokenizer.encode_arrow(column, threads=threads))[0])
    return {"arrays": arrays, "arrow": columns}


def latencies(job: Job) -> Result:
    """One text to a list without special tokens, or another call: `decode` takes the ids of the texts."""
    tokenizer = Tokenizer.load(job["model"])
    call = job.get("call", "encode_ordinary")
    if call == "decode":
        job["texts"] = {name: tokenizer.encode_batch(texts) for name, texts in job["texts"].items()}
    return latency(job, getattr(tokenizer, call))


def decode(job: Job) -> Result:
    """A list of ids, or an array, to text."""
    tokenizer = Tokenizer.load(job["model"])
    ids = tokenizer.encode_to_numpy("".join(documents(job["path"], job["limit"])))
    given = ids.tolist() if job["kind"] == "list" else ids
    times, text = repeated(lambda: tokenizer.decode(given), job["repeats"])
    return {"times": times, "n_bytes": len(text.encode()), "digest": ids_digest(list(text.encode()))}


def load(job: Job) -> Result:
    """A saved model to a tokenizer."""
    times, tokenizer = repeated(lambda: Tokenizer.load(job["model"]), job["repeats"])
    return {"times": times, "n_vocab": tokenizer.n_vocab}


def load_file(job: Job) -> Result:
    """Another library's file to a tokenizer."""
    pattern, specials = job.get("pattern"), job.get("special_tokens")
    return {
        "times": repeated_on_processor(
            lambda: Tokenizer.load(job["file"], pattern=pattern, special_tokens=specials),
            job["repeats"],
        )
    }


def lengths(job: Job) -> Result:
    """Beginnings of one text to arrays, each five times with a fresh tokenizer: the least processor time of each."""
    text = Path(job["path"]).read_text()
    best = []
    for part in job["parts"]:
        beginning = text[: len(text) // part]
        times = []
        for _ in range(5):
            tokenizer = Tokenizer.load(job["model"])
            began = time.process_time()
            tokenizer.encode_to_numpy(beginning)
            times.append(time.process_time() - began)
        best.append(min(times))
    return {"seconds": best}


def iterable(job: Job) -> Result:
    """A file line by line to ids one by one: what memory grew by, beyond the tokenizer."""
    tokenizer = Tokenizer.load(job["model"])
    tokenizer.encode("to begin with")
    before = peak_bytes()
    with open(job["path"], encoding="utf-8", newline="") as lines:
        seconds, n = timed(lambda: sum(1 for _ in tokenizer.encode_iterable(lines)))
    return {"seconds": seconds, "ids": n, "grown_bytes": peak_bytes() - before}


def file_memory(job: Job) -> Result:
    """A file to an array: what memory grew by, beyond the tokenizer and the array."""
    tokenizer = Tokenizer.load(job["model"])
    tokenizer.encode("to begin with")
    before = peak_bytes()
    seconds, ids = timed(lambda: tokenizer.encode_file(job["path"], threads=job["threads"]))
    return {"seconds": seconds, "ids": len(ids), "id_bytes": ids.nbytes, "grown_bytes": peak_bytes() - before}


def encode_and_write(job: Job) -> Result:
    """A file to an array, and the array to a file: what `tokenize_files` is held against."""
    tokenizer = Tokenizer.load(job["model"])
    # A new file, as those of `tokenize_files` are: one that is there is written over in half the time.
    with tempfile.TemporaryDirectory(dir=job["folder"]) as out:
        path = Path(out) / "whole.npy"
        seconds, _ = timed(lambda: np.save(path, tokenizer.encode_file(job["path"], threads=job["threads"])))
    return {"seconds": seconds}


def tokenized(job: Job) -> Result:
    """A corpus to shards."""
    tokenizer = Tokenizer.load(job["model"])
    separator = job.get("separator") if job["path"].endswith(".txt") else None
    with tempfile.TemporaryDirectory(dir=job["folder"]) as out:
        seconds, result = timed(
            lambda: tokenize_files(
                tokenizer, job["path"], out, separator=separator, threads=job["threads"], shard_tokens=10_000_000
            )
        )
        peak = peak_bytes()
        ids = np.concatenate([np.load(path) for path in result.files]) if job.get("separator") else np.zeros(0)
    return {"seconds": seconds, "digest": ids_digest(ids), "peak_bytes": peak}


def distinct_pretokens(job: Job) -> Result:
    """Ever new words through one tokenizer: how memory stands after each round of a million."""
    tokenizer = Tokenizer.load(job["model"])
    rng = np.random.default_rng(5)
    tokenizer.encode("to begin with")
    before, grown = peak_bytes(), []
    seconds = 0.0
    for _ in range(job["rounds"]):
        text = " ".join(map("w%x".__mod__, rng.integers(1 << 40, size=250_000).tolist()))
        for _ in range(4):
            taken, _ids = timed(lambda text=text: tokenizer.count_tokens(text))  # type: ignore[misc]
            seconds += taken
            text = text.translate(SHIFTED)
        grown.append(peak_bytes() - before)
    return {"seconds": seconds, "grown_bytes": grown}


# Other letters for the same words, so that each round holds a million distinct ones cheaply.
SHIFTED = str.maketrans("w0123456789abcdef", "x123456789abcdef0")


if __name__ == "__main__":
    serve(
        {
            "train": train,
            "stages": stages,
            "count": count,
            "encode_file": encode_file,
            "encode_batch": encode_batch,
            "pre_tokenizers": by_pre_tokenizer,
            "arrow": arrow,
            "latency": latencies,
            "decode": decode,
            "load": load,
            "load_file": load_file,
            "lengths": lengths,
            "iterable": iterable,
            "file_memory": file_memory,
            "encode_and_write": encode_and_write,
            "tokenize_files": tokenized,
            "distinct_pretokens": distinct_pretokens,
        }
    )
