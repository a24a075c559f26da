"""Models of other libraries' files on disk, so that the next process need not translate the file again.

An entry is named by a digest of everything that its Model follows from: the bytes of the file, its format, the pattern
and the special tokens that were passed, the version of pairloom and the build of its readers. It holds the Model as a
native file behind the digest of that and of its own name, so that an entry that is damaged, cut short or renamed is
never used: it is written anew. Entries appear atomically; two processes that write the same one write the same bytes.
They are never removed here. Where none can be written (a read-only folder, a full disk), the file is read as without a
cache.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.atomic import open_regular, write_file
from pairloom.errors import FormatError
from pairloom.formats import native
from pairloom.model import Model, Pattern

__all__ = ["ModelCache"]

_DIGEST_BYTES = 32


class ModelCache:
    """The entries in a folder, which is made when the first one is written.

    Raises NotADirectoryError where `folder` is something else.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        if self._folder.exists() and not self._folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "the cache must be a folder", folder)

    def model(
        self,
        format: str,
        files: Sequence[bytes],
        pattern: Pattern | None,
        special_tokens: Any,
        read: Callable[[], Model],
    ) -> Model:
        """The Model that `read` makes of these files of `format` with these arguments."""
        options = _canonical(pattern, special_tokens)
        if options is None:
            return read()
        entry = self._folder / f"{_key(format, files, options)}.pairloom-model"
        found = _model_in(entry)
        if found is None:
            found = read()
            data = native.write(found)
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                write_file(entry, _digest(entry, data) + data, True, follows_link=False)
        return found


def _canonical(pattern: Pattern | None, special_tokens: Any) -> str | None:
    """The arguments as text, different for different ones; None for some that are refused, or read only once."""
    if isinstance(special_tokens, Mapping):
        special_tokens = {"ids": [[literal, special_tokens[literal]] for literal in special_tokens]}
    elif special_tokens is not None and not isinstance(special_tokens, (list, tuple)):
        return None
    try:
        return json.dumps([pattern, special_tokens])
    except (TypeError, ValueError, RecursionError):
        return None


def _key(format: str, files: Sequence[bytes], options: str) -> str:
    digest = hashlib.sha256()
    parts = [_core.__version__, _build(), format, options]
    for part in (*(part.encode() for part in parts), *files):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _build() -> str:
    """What tells this build's readers from those of another: sizes and times of their files, where they are files."""
    here = Path(__file__)
    readers = [*here.parent.glob("*.py"), *(here.parent / "shared").glob("*.py"), *here.parents[1].glob("*.py")]
    readers += [here.parents[1] / "named_patterns.json", Path(str(_core.__file__))]
    found = []
    for path in sorted(readers):
        with contextlib.suppress(OSError):
            status = os.stat(path)  # noqa: PTH116
            found.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)


def _digest(entry: Path, data: bytes) -> bytes:
    return hashlib.sha256(entry.name.encode() + data).digest()


def _model_in(entry: Path) -> Model | None:
    """The Model of an entry; None where there is none that is whole."""
    try:
        with open_regular(entry) as file:
            data = file.read()
    except (OSError, FormatError):
        return None
    digest, data = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if _digest(entry, data) != digest:
        return None
    try:
        return native.read(data, str(entry))
    except FormatError:
        return None
