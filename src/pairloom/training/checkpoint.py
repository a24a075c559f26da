"""Checkpoint: a folder that keeps the counts of a training run, so that the same call need not count again.

The folder holds two files. `training.json` identifies the training run and holds the SHA-256 of the counts; `counts` is
in the native format of `pairloom.counts.file`. Each is written atomically, and counts are used only if `training.json`
holds their digest, so a kill at any moment leaves a folder that can be resumed.

Merges are not stored. Learning them again takes no longer than replaying stored ones (docs/decisions/merges.md), and a
damaged or forged file cannot introduce a merge that training would not choose.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import check_path
from pairloom._internal.atomic import write_file
from pairloom._internal.folder_lock import locked_new_folder
from pairloom.corpus.fingerprint import difference
from pairloom.counts import file as counts_file
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.errors import CheckpointError, CountsError
from pairloom.training.config import TrainingConfig

__all__ = ["Checkpoint", "open_checkpoint"]

FORMAT = 2

_TRAINING, _COUNTS = "training.json", "counts"
_DIGEST_BYTES = 32
_REMEDY = "delete the folder to count again, or name another checkpoint path"


class Checkpoint:
    """The checkpoint of one training in `folder`, which the caller has locked; made by `open_checkpoint`."""

    def __init__(self, folder: Path, config: TrainingConfig, corpus: dict[str, Any]) -> None:
        self.folder = folder
        self._config = config
        described = dataclasses.asdict(config) | {"unicode_version": _core.UNICODE_VERSION}
        # By way of JSON, so that tuples become the lists that are read back.
        self._training: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "config": described}))
        self._training |= {"corpus": corpus, "counts_sha256": None}
        file = folder / _TRAINING
        if file.exists():
            self._resume(file.read_bytes())
        else:
            strangers = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
            if strangers:
                raise CheckpointError(f"{folder}: holds {strangers[0]!r}, which is no checkpoint; name another path")
            self._write()

    @property
    def has_counts(self) -> bool:
        """Whether counting was finished."""
        return self._training["counts_sha256"] is not None

    def counts(self) -> PretokenCounts | None:
        """The counts, where counting was finished; CheckpointError where they are damaged or are not this corpus's."""
        if not self.has_counts:
            return None
        file = self.folder / _COUNTS
        try:
            columns = counts_file.load(file)
            if _digest(file) != self._training["counts_sha256"]:
                raise CountsError(f"{file}: not the counts that {_TRAINING} names")
            self._check_totals(file, columns)
            return PretokenCounts._of_file_columns(columns)
        except FileNotFoundError as error:
            raise CheckpointError(f"{self.folder}: the file {_COUNTS!r} is missing; {_REMEDY}") from error
        except CountsError as error:
            raise CheckpointError(f"{error}; {_REMEDY}") from error

    def keep_counts(self, counts: PretokenCounts) -> None:
        """Writes the counts, whole or not at all."""
        file = self.folder / _COUNTS
        if file.is_symlink():
            file.unlink()
        counts.save(file, overwrite=True)
        self._training["counts_sha256"] = _digest(file)
        self._write()

    def _write(self) -> None:
        written = json.dumps(self._training, sort_keys=True, indent=1).encode()
        write_file(self.folder / _TRAINING, written, overwrite=True, follows_link=False)

    def _resume(self, data: bytes) -> None:
        """Takes over what an earlier run wrote; CheckpointError names what differs."""
        wanted = self._training
        try:
            found = json.loads(data)
            if not isinstance(found, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.folder / _TRAINING}: is damaged ({error}); {_REMEDY}") from error
        if found.get("format") != FORMAT:
            raise CheckpointError(f"{self.folder}: was made by another version of pairloom; {_REMEDY}")
        theirs = found.get("config")
        if not isinstance(theirs, dict) or found.keys() != wanted.keys() or not _is_digest(found["counts_sha256"]):
            raise CheckpointError(f"{self.folder / _TRAINING}: is damaged; {_REMEDY}")
        for name, value in wanted["config"].items():
            if theirs.get(name) != value:
                raise CheckpointError(
                    f"{self.folder}: is the checkpoint of a training with another {name} ({theirs.get(name)!r}); "
                    "name another checkpoint path"
                )
        if differs := difference(found["corpus"], wanted["corpus"]):
            raise CheckpointError(f"{self.folder}: is the checkpoint of another corpus: {differs}; {_REMEDY}")
        self._training["counts_sha256"] = found["counts_sha256"]

    def _check_totals(self, file: Path, columns: counts_file.CountsColumns) -> None:
        """Raises CountsError where the counts do not add up to the bytes of the corpus."""
        how = self._training["corpus"].get("options", {})
        if "replace" in (self._config.input_errors, how.get("input_errors")):
            return
        lengths = np.diff(columns.ends, prepend=np.zeros(1, dtype=np.uint64))
        n_bytes = sum(int(part) for part in _products(lengths, columns.counts))
        # Special tokens at which the corpus was split are in none of the pretokens.
        is_split = self._config.corpus_specials == "split"
        n_removed = columns.metadata["n_special_literals"] if is_split else 0
        sizes = [len(token.encode()) for token in self._config.special_tokens] or [0]
        total = columns.metadata["n_bytes"]
        if not n_bytes + n_removed * min(sizes) <= total <= n_bytes + n_removed * max(sizes):
            raise CountsError(f"{file}: the pretokens make {n_bytes} bytes of a corpus of {total}; the file is damaged")


@contextlib.contextmanager
def open_checkpoint(
    path: str | os.PathLike[str], config: TrainingConfig, corpus: dict[str, Any]
) -> Iterator[Checkpoint]:
    """The checkpoint at `path` for this configuration and corpus, locked for the length of the block.

    corpus: a fingerprint (`pairloom.corpus.fingerprint`). The folder is created if it does not exist, and removed again
    if the block fails before there is anything to keep. Raises FileExistsError where another run uses the folder,
    CheckpointError where it holds the checkpoint of another training, or other files.
    """
    folder = Path(check_path("checkpoint", path))
    with locked_new_folder(folder):
        for leftover in folder.glob(".*"):
            # Temporary files of a run that was killed while it wrote.
            if leftover.name.startswith((f".{_TRAINING}.", f".{_COUNTS}.")):
                leftover.unlink()
        kept = None
        try:
            kept = Checkpoint(folder, config, corpus)
            yield kept
        except BaseException:
            if kept is not None and not kept.has_counts:
                (folder / _TRAINING).unlink(missing_ok=True)
            raise


def _products(lengths: Any, counts: Any) -> Iterator[int]:
    """Partial sums of lengths times counts, none of which overflows: counts are taken in halves of 32 bits."""
    for start in range(0, len(counts), 1 << 16):
        part, of_length = counts[start : start + (1 << 16)], lengths[start : start + (1 << 16)]
        if int(of_length.max(initial=0)) >> 15:
            yield from (int(length) * int(count) for length, count in zip(of_length, part, strict=True))
        else:
            yield int(np.dot(of_length, part & np.uint64(0xFFFFFFFF)))
            yield int(np.dot(of_length, part >> np.uint64(32))) << 32


def _digest(counts: Path) -> str:
    """The SHA-256 at the end of a counts file."""
    with counts.open("rb") as file:
        file.seek(-_DIGEST_BYTES, os.SEEK_END)
        return file.read(_DIGEST_BYTES).hex()


def _is_digest(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) == 2 * _DIGEST_BYTES)
