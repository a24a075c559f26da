"""Fingerprints: a checkpoint recognises by them the files it was counted from, and shards the texts in memory.

Files: the name and size of each, and its modification time or, if the files hold at most 64 MiB together, the SHA-256
of its content. Texts in memory: the SHA-256 of the first ones, up to four million characters, since an iterator can be
read only once. A data set can have a fingerprint of its own.
"""

import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import _core
from pairloom.corpus import Corpus, is_dataset
from pairloom.corpus.sources import resolve
from pairloom.corpus.text_batches import BATCH_CHARACTERS, batches_of
from pairloom.errors import CheckpointError

_MAX_DIGESTED_BYTES = 64 << 20


def of_files(paths: list[str]) -> dict[str, Any]:
    """Returns the fingerprint of the files that training on `paths` reads; OSError for one that does not exist.

    A URL is identified by its name, and by its size and modification time if its store reports them. Raises
    CheckpointError for standard input and pipes, since their content cannot be identified.
    """
    sources = resolve(paths, warns=False)
    is_digested = sum(source.n_bytes or 0 for source in sources) <= _MAX_DIGESTED_BYTES
    files: list[dict[str, Any]] = []
    for source in sources:
        known: dict[str, Any] = {"path": source.name, "bytes": source.n_bytes, "modified_ns": source.mtime_ns}
        if source.n_bytes is None and not source.is_remote:
            raise CheckpointError(
                f"{source.shown}: a checkpoint cannot check that a pipe sends the same text again; train on a file, "
                "or without a checkpoint"
            )
        if is_digested and not source.is_remote:
            with Path(source.name).open("rb") as opened:
                known["sha256"] = hashlib.file_digest(opened, "sha256").hexdigest()
            del known["modified_ns"]
        files.append(known)
    return {"files": files}


def of_first_texts(corpus: Corpus) -> tuple[str | None, Corpus]:
    """Returns (the SHA-256 of the first texts in memory, up to four million characters, or None for files; a corpus).

    Use that corpus from then on: reading its first texts may have consumed those of the given one.
    """
    texts = corpus.sources[0].texts if corpus.sources else None
    if texts is None:
        return None, corpus
    if is_dataset(texts):
        known = getattr(texts, "_fingerprint", None)
        return known if isinstance(known, str) else _digest(next(batches_of(iter(corpus)), [])), corpus
    batches = batches_of(texts)
    first = next(batches, [])
    again = Corpus.of_texts(itertools.chain([first], batches), max_bytes=corpus.max_bytes, doc_cap=corpus.doc_cap)
    return _digest(first), again


def _digest(batch: list[str] | _core.Documents) -> str:
    """Returns the SHA-256 of the texts, up to four million characters of a column, and of their lengths."""
    if isinstance(batch, _core.Documents):
        batch = _core.ByteLimit(doc_cap=None, max_bytes=BATCH_CHARACTERS).apply(batch)
    texts = batch if isinstance(batch, list) else batch.texts()
    digest = hashlib.sha256(np.fromiter(map(len, texts), dtype="<u8", count=len(texts)).tobytes())
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
