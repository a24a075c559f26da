"""Locks a folder exclusively, so that two runs never write into it at the same time.

The lock is a `flock` on the folder itself: it leaves no file behind, and the system releases it however the process
ends. On NFS and Lustre a folder's flock is not sent to the server, so other machines do not see it. Without `flock`, as
on Windows, filelock locks the file `.NAME.lock` beside the folder instead.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from pairloom._internal.optional_deps import import_optional
from pairloom._internal.warnings import warn

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    fcntl = None

_LOCKED_ERRNOS = {errno.EAGAIN, errno.EACCES}
_UNSUPPORTED_ERRNOS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Holds the lock on an existing folder during the block.

    Raises FileExistsError immediately if another run holds it, in this process or another. If the file system does not
    support locks, warns and continues without one.
    """
    if fcntl is None:
        beside = folder.resolve(strict=True)
        with locked_file(beside.with_name(f".{beside.name}.lock"), wait=False) as is_free:
            if not is_free:
                raise _folder_in_use(folder)
            yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with _file_locked(handle, wait=False) as is_held:
        if is_held is False or (is_held and not _is_same_folder(folder, handle)):
            raise _folder_in_use(folder)
        if is_held is None:
            warn(f"{folder}: the file system does not support locks; make sure that no other run writes to this folder")
        yield


@contextlib.contextmanager
def locked_new_folder(folder: Path, *, parents: bool = False) -> Iterator[None]:
    """Like `locked_folder`, but creates a missing folder, and removes it again if it is empty at the end.

    It is removed before the lock is released: after that, another run could have locked it without writing yet.
    """
    try:
        folder.mkdir(parents=parents)
        is_new = True
    except FileExistsError:
        is_new = False
    with locked_folder(folder):
        try:
            yield
        finally:
            if is_new:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _is_same_folder(folder: Path, handle: int) -> bool:
    """Whether `folder` is still what was opened as `handle`, and was not removed or replaced before the lock."""
    try:
        return os.path.samestat(folder.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def locked_file(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Holds the lock on a file, which is created and stays; without `wait`, yields False if another holds it."""
    if fcntl is None:
        filelock = import_optional("filelock", "locking a file without fcntl")
        lock = filelock.FileLock(path)
        try:
            lock.acquire(blocking=wait)
        except filelock.Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
        return
    with _file_locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), wait) as is_held:
        yield is_held is not False


@contextlib.contextmanager
def _file_locked(handle: int, wait: bool) -> Iterator[bool | None]:
    """Locks an open file or folder, and closes it at the end.

    Yields True; False if another holds the lock; None if the file system does not support locks.
    """
    assert fcntl is not None
    owner = os.getpid()
    try:
        is_held: bool | None = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            if error.errno not in _LOCKED_ERRNOS | _UNSUPPORTED_ERRNOS:
                raise
            is_held = False if error.errno in _LOCKED_ERRNOS else None
        yield is_held
    finally:
        if os.getpid() == owner:
            # Unlock explicitly: a child forked meanwhile has a copy of the handle, which would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _folder_in_use(folder: Path) -> FileExistsError:
    message = "another run is writing here; wait until it ends, or pass another folder"
    return FileExistsError(errno.EEXIST, message, str(folder))
