"""The files of a folder of shards: their formats and names, and how they are opened, created and removed.

Files are written under a hidden, random name that must be new, so that a link planted under a name is never followed.
Only regular files are read. `clear` recognises the names that a run writes, and no others.
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
    """Returns the dtype of the ids in the files."""
    dtype: np.dtype[Any] = MODULES[format].dtype(n_vocab)
    return dtype


def file_names(format: str, number: int) -> list[str]:
    """Returns the names of a shard's files, the ids first."""
    return [f"shard-{number:05d}{suffix}" for suffix in MODULES[format].SUFFIXES]


def partial_path(path: Path) -> Path:
    """Returns a new name for a file that will be renamed to `path` when it is complete."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")


@contextlib.contextmanager
def hidden_folder(folder: Path) -> Iterator[Path]:
    """Yields a new hidden folder in `folder`; removes it if the block raises."""
    new = folder / f".pairloom-new-{secrets.token_hex(8)}"
    new.mkdir()
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def is_run_file(name: str) -> bool:
    """Whether a run writes files of this name."""
    return bool(_RUN_FILE.fullmatch(name)) or name in MANIFESTS


def clear(folder: Path, kept: Collection[str] = ()) -> None:
    """Removes what runs wrote to `folder`, except the manifest and the names in `kept`."""
    for path in folder.iterdir():
        if _RUN_FILE.fullmatch(path.name) and path.name not in kept:
            remove_any(path) if HIDDEN_FOLDER.fullmatch(path.name) else path.unlink()


def remove_any(path: Path) -> None:
    """Removes a folder with its contents, a file, or a link, but not the target of the link."""
    # rmtree opens its argument, and would wait for the writer of a pipe.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def refuse_symlink(folder: Path) -> Path:
    """Returns the folder; FormatError if it is a link."""
    if folder.is_symlink():
        raise FormatError(f"{folder}: is a symbolic link; replace it by the folder itself")
    return folder


@contextlib.contextmanager
def damage_reported(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Converts errors that libraries raise for a damaged file to FormatError; system errors pass unchanged."""
    try:
        yield
    except (MemoryError, ImportError, PairloomError):
        raise
    except Exception as error:
        # pyarrow raises OSError without an errno for damaged files.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FormatError(f"{path}: {what}: {error!r}; {remedy}") from error


def check_is_folder(folder: Path) -> None:
    """Raises FileExistsError if the path exists and is not a folder."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(errno.EEXIST, "is not a folder; pass a new or an empty folder", str(folder))


def not_empty_error(folder: str | os.PathLike[str], name: str) -> FileExistsError:
    """Returns the error for a folder that holds `name`, which a run must not remove."""
    return FileExistsError(errno.EEXIST, f"is not empty: it contains {name}; pass a new folder", str(folder))
