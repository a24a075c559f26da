"""The files of a folder of shards: their formats and names, and how they are opened, created and cleared away.

Whatever is written gets a hidden, random name first and must be new, so that a link planted under a name is never
followed; what is read must be a regular file. `clear` recognises the names that a run writes and no others.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from pairloom.errors import FormatError, PairloomError
from pairloom.shards.writers import bin, megatron, npy, parquet

MODULES: Final[dict[str, Any]] = {"npy": npy, "bin": bin, "parquet": parquet, "megatron": megatron}

FORMATS = tuple(MODULES)
"""The formats that shards can be written in."""

MANIFESTS: Final = ("_manifest.parquet", "manifest.json")
"""The names that a manifest may have."""

HIDDEN_FOLDER: Final = re.compile(r"\.pairloom-new-[0-9a-f]{16}")
"""The names of hidden folders in which a run writes what will replace other files."""

_SHARD = r"(?:shard-\d{5,}\.(?:npy|offsets\.npy|bin|idx|parquet)|\.?shard-\d{5,}\.provenance\.parquet)"
_RUN_FILE = re.compile(
    rf"{_SHARD}|\.{_SHARD}\.[0-9a-f]{{16}}\.partial|\.(?:{'|'.join(map(re.escape, MANIFESTS))})\.[0-9a-f]{{16}}"
    rf"|{HIDDEN_FOLDER.pattern}"
)


def dtype_of(format: str, n_vocab: int) -> np.dtype[Any]:
    """The dtype of the ids in the files."""
    dtype: np.dtype[Any] = MODULES[format].dtype(n_vocab)
    return dtype


def file_names(format: str, number: int) -> list[str]:
    """The names of the files of a shard, the ids first."""
    return [f"shard-{number:05d}{suffix}" for suffix in MODULES[format].SUFFIXES]


def partial_path(path: Path) -> Path:
    """A new name for a file that will be renamed to `path` when it is whole."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")


@contextlib.contextmanager
def hidden_folder(folder: Path) -> Iterator[Path]:
    """A new hidden folder in `folder`, which is removed if the block raises."""
    new = folder / f".pairloom-new-{secrets.token_hex(8)}"
    new.mkdir()
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def is_run_file(name: str) -> bool:
    """Whether the name is one that a run writes."""
    return bool(_RUN_FILE.fullmatch(name)) or name in MANIFESTS


def clear(folder: Path, kept: Collection[str] = ()) -> None:
    """Removes what runs wrote to `folder`, but for the manifest and the names in `kept`."""
    for path in folder.iterdir():
        if _RUN_FILE.fullmatch(path.name) and path.name not in kept:
            remove_any(path) if HIDDEN_FOLDER.fullmatch(path.name) else path.unlink()


def remove_any(path: Path) -> None:
    """Removes a folder with what is in it, or a file, or a link, but not what that leads to."""
    # rmtree opens what it is given, and would wait for the writer of a pipe.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def unlinked(folder: Path) -> Path:
    """The folder; FormatError for a link."""
    if folder.is_symlink():
        raise FormatError(f"{folder}: is a link; put the folder itself there")
    return folder


@contextlib.contextmanager
def damage_reported(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Raises anything that libraries raise for a damaged file as a FormatError, and what the system says as it is."""
    try:
        yield
    except (MemoryError, ImportError, PairloomError):
        raise
    except Exception as error:
        # pyarrow has errors of files without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FormatError(f"{path}: {what}: {error!r}; {remedy}") from error


def check_is_folder(folder: Path) -> None:
    """Raises FileExistsError for what exists and is no folder."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "is not a folder; name a new one, or an empty one", str(folder))


def not_empty(folder: str | os.PathLike[str], name: str) -> FileExistsError:
    """The error for a folder that holds `name`, which a run must not remove."""
    return FileExistsError(errno.EEXIST, f"is not empty: it holds {name}; name a new folder", str(folder))
