"""Where a job's folder is: a local path, or a URL of fsspec."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from pairloom._internal.arguments import check_path
from pairloom._internal.atomic import sync_directory
from pairloom._internal.folder_lock import locked_folder, locked_new_folder
from pairloom._internal.optional_deps import import_optional
from pairloom.shards.files import check_is_folder
from pairloom.shards.manifest import Manifest

__all__ = ["Storage", "is_url", "local_folder", "storage_of"]


class Storage(Protocol):
    """What a job does with its folder; names are relative to it."""

    url: str

    @property
    def local(self) -> Path | None:
        """The folder, where it is a local one."""

    def claimed(self) -> AbstractContextManager[None]:
        """Makes the folder unless it is there, and holds its lock; a local one that it made is removed if empty."""

    def remove_if_empty(self) -> None:
        """Removes a local folder that is empty, unless another job has its lock."""

    def names(self) -> list[str]:
        """What is directly in it."""

    def create(self, name: str, data: bytes) -> None:
        """Writes a new file; FileExistsError if it is there."""

    def staged(self, run: str, attempt: str, local: Path, /) -> Path:
        """The local folder where an attempt writes its files."""

    def upload(self, path: Path, name: str) -> None:
        """Brings a staged file to its place."""

    def move(self, name: str, to: str) -> None:
        """Renames a file; ResumeError's cause is FileNotFoundError."""

    def remove(self, name: str) -> None:
        """Removes a file."""

    def remove_folder(self, name: str) -> None:
        """Removes a folder and what is in it."""

    def write_manifest(self, manifest: Manifest) -> None:
        """Makes the manifest appear, whole."""


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Whether it is a URL of fsspec."""
    return "://" in os.fspath(folder)


def local_folder(name: str, folder: str | os.PathLike[str]) -> Path:
    """The path of a folder that may not be a URL, nor a file."""
    path = Path(check_path(name, folder))
    if is_url(folder):
        raise ValueError(f"{name} must be a local folder, not the URL {folder}; copy the folder there when it is whole")
    check_is_folder(path)
    return path


def storage_of(folder: str) -> Storage:
    """The storage of a path or URL."""
    return _Remote(folder) if is_url(folder) else _Local(folder)


class _Local:
    def __init__(self, folder: str) -> None:
        self.local: Path | None = Path(folder).absolute()
        self._folder = self.local
        self.url = str(self._folder)

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        check_is_folder(self._folder)
        # The lock ends with the process, so that a job whose driver died is known to be dead.
        with locked_new_folder(self._folder, parents=True):
            yield

    def remove_if_empty(self) -> None:
        with contextlib.suppress(OSError), locked_folder(self._folder):
            self._folder.rmdir()

    def names(self) -> list[str]:
        return [path.name for path in self._folder.iterdir()]

    def create(self, name: str, data: bytes) -> None:
        with (self._folder / name).open("xb") as file:
            file.write(data)

    def staged(self, run: str, attempt: str, local: Path, /) -> Path:
        place = self._folder / run / attempt
        place.mkdir(parents=True)
        return place

    def upload(self, path: Path, name: str) -> None:
        """It is there."""

    def move(self, name: str, to: str) -> None:
        (self._folder / name).rename(self._folder / to)

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, name: str) -> None:
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def write_manifest(self, manifest: Manifest) -> None:
        sync_directory(self._folder)
        manifest.save(self._folder)


class _Remote:
    local: Path | None = None

    def __init__(self, url: str) -> None:
        fsspec = import_optional("fsspec", "writing to URLs")
        self._fs, self._root = fsspec.core.url_to_fs(url)
        self.url = url

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        self._fs.makedirs(self._root, exist_ok=True)
        yield

    def remove_if_empty(self) -> None:
        """It stays: some file systems of fsspec remove a folder with what is in it."""

    def names(self) -> list[str]:
        self._fs.invalidate_cache()
        try:
            found = self._fs.ls(self._root, detail=False)
        except FileNotFoundError:
            # Stores of objects have no empty folders.
            return []
        return [name for path in found if (name := path.rstrip("/").rpartition("/")[2])]

    def create(self, name: str, data: bytes) -> None:
        if self._fs.exists(self._path(name)):
            raise FileExistsError(errno.EEXIST, "another job writes here", self.url)
        self._fs.pipe_file(self._path(name), data)

    def staged(self, run: str, attempt: str, local: Path, /) -> Path:
        return local

    def upload(self, path: Path, name: str) -> None:
        self._fs.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
        self._fs.put_file(str(path), self._path(name))
        path.unlink()

    def move(self, name: str, to: str) -> None:
        self._fs.mv(self._path(name), self._path(to))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(name), recursive=True)

    def write_manifest(self, manifest: Manifest) -> None:
        name, data = manifest.file()
        self._fs.pipe_file(self._path(name), data)
