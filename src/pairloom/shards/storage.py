"""The folder of a job: a local path, or an fsspec URL."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pairloom._internal.arguments import check_path
from pairloom._internal.atomic import open_regular, sync_directory, write_file
from pairloom._internal.folder_lock import locked_new_folder
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.urls import errors_of_store, is_url, public_url
from pairloom.shards.files import check_is_folder, remove_any

HIDDEN = ".pairloom-job-"
"""Prefix of everything that belongs to a job before it is committed: its folder, and its lock at a URL."""

_LOCK = ".lock"
_JOB_IS_RUNNING = "another job is writing here; wait until it ends, or pass takeover=True if its driver is dead"
_JOBS_BEGAN_TOGETHER = "another job started at the same moment; run one of them again"
_FOLDER_TAKEN_OVER = "another job has taken over the folder, so the output of this one is lost"


class Storage:
    """The operations of a job on its folder, here a local one; names are relative to it.

    url: the folder as messages show it. address: the folder as it is opened. local: its path, None for a URL.
    """

    def __init__(self, folder: str) -> None:
        self.local: Path | None = Path(folder).absolute()
        self._folder = self.local
        self.url = self.address = str(self._folder)

    @contextlib.contextmanager
    def claimed(self, run: str, takeover: bool) -> Iterator[None]:
        """Creates the folder unless it exists, and holds its lock; a local folder that it created is removed if empty.

        Raises FileExistsError if another job holds the lock. At a URL, the lock of a killed job remains until
        `takeover` removes it.
        """
        check_is_folder(self._folder)
        # The lock ends with the process, so a dead driver does not keep its folder.
        with locked_new_folder(self._folder, parents=True):
            yield

    def check_claim(self, run: str) -> None:
        """Raises FileExistsError if another job has taken over; the lock of a local folder is never taken away."""

    def names(self) -> list[str]:
        """Returns the names of what is directly in the folder."""
        return [path.name for path in self._folder.iterdir()] if self._folder.exists() else []

    def sizes(self, folder: str) -> dict[str, int]:
        """Returns the files in a folder of a job as {name: bytes}; {} if it is missing or a link."""
        place = self._folder / folder
        # A link could lead to someone else's files.
        if not place.exists() or os.path.realpath(place) != str(Path(os.path.realpath(self._folder), folder)):
            return {}
        with os.scandir(place) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file(follow_symlinks=False)}

    def write(self, name: str, data: bytes) -> None:
        """Writes a whole file."""
        # If no task wrote anything, the job's hidden folder does not exist yet.
        (self._folder / name).parent.mkdir(exist_ok=True)
        write_file(self._folder / name, data, False)

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""
        with open_regular(self._folder / name) as file:
            return file.read()

    def staged(self, run: str, attempt: str, local: Path, /) -> Path:
        """Returns the local folder in which an attempt writes its files."""
        place = self._folder / run / attempt
        place.mkdir(parents=True)
        return place

    def upload(self, path: Path, name: str) -> None:
        """Moves a staged file to its place; in a local folder it is already there."""

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        """Renames files, replacing any that have those names; the last rename waits until the others are on disk.

        Skips renames that an earlier call has made.
        """
        for group in (moves[:-1], moves[-1:]):
            for name, to in group:
                try:
                    (self._folder / name).replace(self._folder / to)
                except FileNotFoundError:
                    if not (self._folder / to).exists():
                        raise
            sync_directory(self._folder)

    def remove(self, name: str) -> None:
        """Removes a file."""
        (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, name: str) -> None:
        """Removes a folder and its contents."""
        with contextlib.suppress(OSError):
            remove_any(self._folder / name)


class _Remote(Storage):
    """A folder at an fsspec URL."""

    def __init__(self, url: str) -> None:
        self.local = None
        fsspec = import_optional("fsspec", "writing to URLs")
        self.url, self.address = public_url(url), url
        with errors_of_store(self.url):
            self._fs, self._root = fsspec.core.url_to_fs(url)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextlib.contextmanager
    def claimed(self, run: str, takeover: bool) -> Iterator[None]:
        # Each job's lock has its own name, and the job lists all locks after it has written its own. So of two jobs
        # that begin at once, at least one sees the other, even if the store cannot create a file exclusively.
        own = f"{HIDDEN}{run}{_LOCK}"
        found = self._locks()
        if found and not takeover:
            raise FileExistsError(errno.EEXIST, _JOB_IS_RUNNING, self.url)
        with errors_of_store(self.url):
            self._fs.makedirs(self._root, exist_ok=True)
        try:
            self.write(own, b"")
            for name in found:
                self.remove(name)
            if self._locks() != [own]:
                raise FileExistsError(errno.EEXIST, _JOBS_BEGAN_TOGETHER, self.url)
            yield
        finally:
            with contextlib.suppress(OSError):
                self.remove(own)

    def _locks(self) -> list[str]:
        return [name for name in self.names() if name.startswith(HIDDEN) and name.endswith(_LOCK)]

    def check_claim(self, run: str) -> None:
        if f"{HIDDEN}{run}{_LOCK}" not in self._locks():
            raise FileExistsError(errno.EEXIST, _FOLDER_TAKEN_OVER, self.url)

    def names(self) -> list[str]:
        return [name for name, _ in self._listed("")]

    def sizes(self, folder: str) -> dict[str, int]:
        return dict(self._listed(folder))

    def _listed(self, folder: str) -> list[tuple[str, int]]:
        with errors_of_store(self.url):
            self._fs.invalidate_cache()
            path = self._path(folder).rstrip("/")
            try:
                found = self._fs.ls(path, detail=True)
            except FileNotFoundError:
                # Object stores have no empty folders.
                return []
            # Some stores list an object that stands for the folder itself.
            paths = ((info["name"].rstrip("/"), info.get("size") or 0) for info in found)
            return [(name.rpartition("/")[2], size) for name, size in paths if name.strip("/") != path.strip("/")]

    def write(self, name: str, data: bytes) -> None:
        with errors_of_store(self.url):
            self._fs.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(self._path(name), data)

    def read(self, name: str) -> bytes:
        with errors_of_store(self.url):
            data: bytes = self._fs.cat_file(self._path(name))
            return data

    def staged(self, run: str, attempt: str, local: Path, /) -> Path:
        return local

    def upload(self, path: Path, name: str) -> None:
        with errors_of_store(self.url):
            self._fs.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), self._path(name))
            path.unlink()

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        with errors_of_store(self.url):
            for name, to in moves:
                try:
                    self._fs.mv(self._path(name), self._path(to))
                except FileNotFoundError:
                    self._fs.invalidate_cache()
                    if not self._fs.exists(self._path(to)):
                        raise

    def remove(self, name: str) -> None:
        with errors_of_store(self.url), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        with errors_of_store(self.url), contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(name), recursive=True)


def local_folder(name: str, folder: str | os.PathLike[str]) -> Path:
    """Returns the path of a folder; it must not be a URL or a file."""
    path = Path(check_path(name, folder))
    check_is_folder(path)
    return path


def storage_of(folder: str) -> Storage:
    """Returns the storage for a path or URL."""
    return _Remote(folder) if is_url(folder) else Storage(folder)
