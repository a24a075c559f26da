"""An exclusive lock on a folder, so that two runs never write into it at the same time.

It is `flock` on the folder itself: it leaves no file behind, and the system releases it when the process ends, however
it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from pairloom._internal.warnings import warn

__all__ = ["locked_folder"]

_TAKEN = {errno.EAGAIN, errno.EACCES}
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Holds the lock on an existing folder for the length of the block.

    Raises FileExistsError immediately if another run holds it, in this process or another. If the file system has no
    locks, warns and continues without one.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    owner = os.getpid()
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                message = "another run is writing here; wait until it ends, or name another folder"
                raise FileExistsError(errno.EEXIST, message, str(folder)) from error
            if error.errno not in _UNSUPPORTED:
                raise
            warn(f"{folder}: the file system has no locks; see to it that no other run writes into this folder")
        yield
    finally:
        if os.getpid() == owner:
            # A child that was forked meanwhile has the handle too, and would keep the lock by it.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
