"""URLs of stores: removes their secrets before they are shown or recorded, and converts errors of store libraries.

A URL can carry a password before its host and a signature in its query. They are used to open it and for nothing else.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from pairloom.errors import PairloomError

# Before "@" are user and password, which people write with any character in them; after a host and ":" comes a port.
_URL = re.compile(r"([A-Za-z][\w+.-]*)(://)([^/?#]*@|[^/?#:]*:\d*[^\d/?#][^@]*@)?(.*)", re.DOTALL)
_URL_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"]*[^\s'\";:,.)]")
_CHAIN_SEPARATOR = re.compile(r"::(?=[A-Za-z][\w+.-]*://)")
# In these schemes, the name before "@" is a container or a repository, not a user.
_SCHEMES_WITH_NAME_BEFORE_AT = {"abfs", "abfss", "github", "hf", "wasb", "wasbs"}
_ERRNO_OF_STATUS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_ERRNO_OF_TYPE = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (FileExistsError, errno.EEXIST))


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether the path is an fsspec URL."""
    return "://" in os.fspath(path)


def public_url(url: str) -> str:
    """Returns the URL without the parts that can be secret: user, password and query.

    >>> public_url("https://me:password@example.com/a.jsonl?signature=1f2e")
    'https://example.com/a.jsonl'
    """
    return "::".join(map(_public_part, _CHAIN_SEPARATOR.split(url)))


def _public_part(url: str) -> str:
    found = _URL.fullmatch(url)
    if found is None:
        return url
    scheme, sign, user, rest = found.groups(default="")
    if scheme.lower() in _SCHEMES_WITH_NAME_BEFORE_AT:
        rest = user + rest
    # Keys of other stores can contain "?" and "#".
    query = "[?#].*" if scheme.lower() in ("http", "https") else r"\?[^/]*=.*"
    return scheme + sign + re.sub(query, "", rest, flags=re.DOTALL)


def without_secrets(text: str) -> str:
    """Returns a message with `public_url` applied to each URL in it."""
    return _URL_IN_TEXT.sub(lambda found: public_url(found[0]), text)


@contextlib.contextmanager
def errors_of_store(url: str) -> Iterator[None]:
    """Converts errors that a store's library raises in the block to an OSError that names `url`, a public URL.

    The original error is not chained: its message, and those of its causes, can contain secrets.
    """
    try:
        yield
    except (MemoryError, ImportError, AttributeError, TypeError, PairloomError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None and not is_url(os.fsdecode(error.filename)):
            # An error about a local file.
            raise
        raise _system_error(error, url) from None


def _system_error(error: Exception, url: str) -> OSError:
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        # fsspec's HTTP file system raises it for any error status.
        error = error.__cause__
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400:
        # Imported here because it is slow.
        from http.client import responses

        reason = responses.get(status, "")
        return OSError(_ERRNO_OF_STATUS.get(status, errno.EIO), f"the server answered {status} {reason}".rstrip(), url)
    code = next((code for kind, code in _ERRNO_OF_TYPE if isinstance(error, kind)), errno.EIO)
    if code == errno.ENOENT:
        return OSError(code, os.strerror(code), url)
    text = getattr(error, "strerror", None) or str(error)
    return OSError(code, f"{type(error).__name__}: {' '.join(without_secrets(str(text)).split())}", url)
