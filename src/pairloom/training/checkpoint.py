"""Checkpoint: a folder that stores the counts of a training run, so that repeating the call need not count again.

It contains one counts file (`pairloom.counts.file`, which ends with its own digest). The file is named by a digest of
the corpus and the counting options. It is written atomically, so a process killed at any moment can be resumed.

Merges are not stored. Learning them again takes no longer than replaying stored ones (docs/decisions/merges.md).
"""

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
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.errors import CheckpointError, CountsError
from pairloom.training.config import TrainingConfig

_PREFIX = "counts-"
_REMEDY = "delete the folder to count again, or pass another checkpoint path"


@contextlib.contextmanager
def counts_kept_in(
    path: str | os.PathLike[str],
    config: TrainingConfig,
    corpus: dict[str, Any],
    count: Callable[[], PretokenCounts],
) -> Iterator[PretokenCounts]:
    """Yields the counts stored at `path`; if there are none, calls `count` and stores the result. Locks the folder.

    corpus: a fingerprint (`pairloom.corpus.fingerprint`). The folder is created if it does not exist, and removed again
    if counting fails. Raises FileExistsError if another run uses the folder, CheckpointError if it contains counts that
    are damaged or of another corpus or other options, or other files.
    """
    folder = Path(check_path("checkpoint", path))
    how = [config.pattern, config.special_tokens, config.corpus_specials, config.input_errors, _core.UNICODE_VERSION]
    identity = json.dumps([how, corpus], sort_keys=True).encode()
    file = folder / (_PREFIX + hashlib.sha256(identity).hexdigest()[:32])
    with locked_new_folder(folder):
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith(f".{_PREFIX}") or (entry == file and entry.is_symlink()):
                # A partial file of a killed run, or a symlink that someone planted.
                entry.unlink()
            elif entry.name.startswith(_PREFIX) and entry != file:
                raise CheckpointError(
                    f"{folder}: the checkpoint is from another corpus, the corpus has changed, or it was counted with "
                    f"another pattern, input_errors or special tokens; {_REMEDY}"
                )
            elif not entry.name.startswith(".") and entry != file:
                raise CheckpointError(
                    f"{folder}: contains {entry.name!r}, which is not a checkpoint; pass another path"
                )
        if file.exists():
            try:
                counts = PretokenCounts.load(file)
            except CountsError as error:
                raise CheckpointError(f"{error}; {_REMEDY}") from error
        else:
            counts = count()
            counts.save(file)
        yield counts
