"""Writes files and folders atomically: they appear complete or not at all. Also opens files that can be hostile.

Method: write a temporary file in the same directory and fsync it. Then hard-link it to its name, which fails if the
name exists by now, or rename it to overwrite. Then fsync the directory.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path

from pairloom.errors import FormatError


def check_free(path: Path, overwrite: bool) -> None:
    """Raises FileExistsError if `path` exists, unless `overwrite`; OSError unless its parent is a writable folder."""
    parent = path.parent
    if not parent.is_dir():
        if parent.exists():
            raise NotADirectoryError(errno.ENOTDIR, "the parent is not a directory", str(parent))
        raise FileNotFoundError(errno.ENOENT, "the parent directory does not exist; create it first", str(parent))
    if not overwrite and (path.exists() or path.is_symlink()):
        raise _exists(path)
    if not os.access(parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "the folder cannot be written to; pass another", str(parent))


def check_file(path: Path, overwrite: bool) -> None:
    """Raises the errors of `check_free`, IsADirectoryError for a folder, OSError for a pipe, a socket or a device.

    A pipe cannot be overwritten: a new file would replace it, and the pipe's reader would get nothing.
    """
    check_free(path, overwrite)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory; pass a file", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is a pipe, a socket or a device; pass a regular file", str(path))


def check_folder(path: Path, names: Iterable[str], overwrite: bool) -> None:
    """Raises NotADirectoryError if `path` is not a folder, and the errors of `check_file` for these files in it.

    A folder cannot replace a file, even with `overwrite`.
    """
    check_free(path, True)
    if path.is_dir():
        for name in names:
            check_file(path / name, overwrite)
    elif path.exists() or path.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder; pass a new one", str(path))


def write_file(path: Path, data: bytes, overwrite: bool, *, follows_link: bool = True) -> None:
    """Writes `data` to `path` atomically.

    follows_link: whether overwriting a link replaces its target, as users mean if they name the link. It must be False
    in a folder that others can write to, where a planted link could lead to any file.
    """
    check_file(path, overwrite)
    if follows_link:
        path = Path(os.path.realpath(path))
    temporary = _temporary_name(path)
    try:
        # Not tempfile.mkstemp, whose files only their owner can read.
        with naming(path), temporary.open("xb") as file:
            if overwrite:
                # Use the open file if the system supports it: its name can belong to another file by now.
                _copy_access(path, file.fileno() if os.chmod in os.supports_fd else temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            temporary.replace(path)
        else:
            _rename_to_free(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_folder(path: Path, files: Mapping[str, bytes], overwrite: bool) -> None:
    """Writes the files into the folder `path`, which is created if it does not exist.

    A new folder is filled under a temporary name first, so that it appears complete. In an existing folder, each file
    is written atomically, and only files with the same names conflict.
    """
    check_folder(path, files, overwrite)
    if path.is_dir():
        for name, data in files.items():
            write_file(path / name, data, overwrite, follows_link=False)
        return
    path = Path(os.path.realpath(path))
    temporary = _temporary_name(path)
    temporary.mkdir()
    try:
        for name, data in files.items():
            write_file(temporary / name, data, False)
        # If something has appeared there meanwhile, this succeeds only for an empty folder.
        temporary.rename(path)
    except BaseException:
        for name in files:
            (temporary / name).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            temporary.rmdir()
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Adds the path to an OSError of the block that has none; errors of reading, writing and syncing have none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def open_regular(path: Path) -> BufferedReader:
    """Opens a file for reading; FormatError for a link, a pipe, a device or a folder, OSError."""
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    try:
        descriptor = os.open(path, os.O_RDONLY | flags)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
    except OSError as error:
        # A link (ELOOP, EMLINK) or a socket (ENXIO).
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise
    raise FormatError(f"{path}: is a link, a pipe, a device or a folder; replace it by a regular file")


def _copy_access(path: Path, new: int | Path) -> None:
    """Copies owner and permissions of the file to be replaced, if it exists, to the new file, which is still empty."""
    try:
        old = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(old.st_mode):
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(new, old.st_uid, old.st_gid)
    os.chmod(new, stat.S_IMODE(old.st_mode))  # noqa: PTH101


def _rename_to_free(temporary: Path, path: Path) -> None:
    """Renames; FileExistsError if `path` has appeared meanwhile."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        # A file system without hard links: check directly before the rename, which leaves a small race.
        check_free(path, False)
        temporary.replace(path)
    else:
        temporary.unlink()


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "already exists; pass overwrite=True to replace it", str(path))


def _temporary_name(path: Path) -> Path:
    """Returns a name in the same directory, so that a rename never copies; 64 random bits avoid collisions."""
    return path.with_name(f".{path.name[:60]}.{os.urandom(8).hex()}")


def sync_directory(path: Path) -> None:
    """Makes a rename durable, if the system supports it; Windows cannot open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
