"""Checkpoint: a folder that keeps the counts of a training run, so that the same call need not count again.

It holds one counts file (`pairloom.counts.file`, which ends with its own digest), whose name is the digest of what was
counted and how. The file appears whole or not at all, so a kill at any moment leaves a folder that can be resumed.

Merges are not stored. Learning them again takes no longer than replaying stored ones (docs/decisions/merges.md).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import check_path
from pairloom._internal.folder_lock import locked_new_folder
from pairloom.corpus.sources import resolve
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.errors import CheckpointError, CountsError
from pairloom.training.config import TrainingConfig

__all__ = ["counts_kept_in", "fingerprint_of"]

_PREFIX = "counts-"
_MOST_DIGESTED_BYTES = 64 << 20
_REMEDY = "delete the folder to count again, or name another checkpoint path"


def fingerprint_of(paths: list[str]) -> dict[str, Any]:
    """What tells the files that training on `paths` reads from others; OSError for one that does not exist.

    It is name and size of each, and its modification time or, if they hold at most 64 MiB together, its SHA-256.

    A URL is known by its name, and by its size and modification time where its store says them. Raises CheckpointError
    for standard input and pipes, since what they bring cannot be told apart.
    """
    sources = resolve(paths, warns=False)
    is_digested = sum(source.n_bytes or 0 for source in sources) <= _MOST_DIGESTED_BYTES
    files: list[dict[str, Any]] = []
    for source in sources:
        known: dict[str, Any] = {"path": source.name, "bytes": source.n_bytes, "modified_ns": source.mtime_ns}
        if source.n_bytes is None and not source.is_remote:
            raise CheckpointError(
                f"{source.shown}: a checkpoint cannot tell whether a pipe brings the same text again; train on a file, "
                "or without a checkpoint"
            )
        if is_digested and not source.is_remote:
            with Path(source.name).open("rb") as opened:
                known["sha256"] = hashlib.file_digest(opened, "sha256").hexdigest()
            del known["modified_ns"]
        files.append(known)
    return {"files": files}


@contextlib.contextmanager
def counts_kept_in(
    path: str | os.PathLike[str],
    config: TrainingConfig,
    corpus: dict[str, Any],
    count: Callable[[], PretokenCounts],
) -> Iterator[PretokenCounts]:
    """The counts in the checkpoint at `path`, else what `count` returns, which is kept there; locked meanwhile.

    corpus: what `fingerprint_of` returns. The folder is created if it does not exist, and removed again
    if counting fails. Raises FileExistsError where another run uses the folder, CheckpointError where it holds the
    counts of another corpus or cut in another way, damaged ones, or other files.
    """
    folder = Path(check_path("checkpoint", path))
    how = [config.pattern, config.special_tokens, config.corpus_specials, config.input_errors, _core.UNICODE_VERSION]
    identity = json.dumps([how, corpus], sort_keys=True).encode()
    file = folder / (_PREFIX + hashlib.sha256(identity).hexdigest()[:32])
    with locked_new_folder(folder):
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith(f".{_PREFIX}") or (entry == file and entry.is_symlink()):
                # What a run that was killed was writing; a link that was planted.
                entry.unlink()
            elif entry.name.startswith(_PREFIX) and entry != file:
                raise CheckpointError(
                    f"{folder}: is the checkpoint of another corpus, or of one that has changed, or was counted with"
                    f" another pattern, input_errors or special tokens; {_REMEDY}"
                )
            elif not entry.name.startswith(".") and entry != file:
                raise CheckpointError(f"{folder}: holds {entry.name!r}, which is no checkpoint; name another path")
        if file.exists():
            try:
                counts = PretokenCounts.load(file)
            except CountsError as error:
                raise CheckpointError(f"{error}; {_REMEDY}") from error
        else:
            counts = count()
            counts.save(file)
        yield counts
