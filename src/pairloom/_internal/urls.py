"""URLs of stores: what of one may be shown or recorded, and errors of a store's library as errors of the system.

A URL can carry a password before its host and a signature in its query. They are used to open it and for nothing else.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from pairloom.errors import PairloomError

# What comes before "@" is a user and a password, which people write with any sign in it; after a host comes a port.
_URL = re.compile(r"([A-Za-z][\w+.-]*)(://)([^/?#]*@|[^/?#:]*:\d*[^\d/?#][^@]*@)?(.*)", re.DOTALL)
_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"]*[^\s'\";:,.)]")
_NEXT_OF_CHAIN = re.compile(r"::(?=[A-Za-z][\w+.-]*://)")
# There the name before "@" is that of a container or of a repository.
_NAMES_BEFORE_AT = {"abfs", "abfss", "github", "hf", "wasb", "wasbs"}
_CODES = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_CODES_OF_TYPES = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (FileExistsError, errno.EEXIST))


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether it is a URL of fsspec."""
    return "://" in os.fspath(path)


def public_url(url: str) -> str:
    """The URL without what can be secret: the user, the password and the query.

    >>> public_url("https://me:password@example.com/a.jsonl?signature=1f2e")
    'https://example.com/a.jsonl'
    """
    return "::".join(map(_public_part, _NEXT_OF_CHAIN.split(url)))


def _public_part(url: str) -> str:
    found = _URL.fullmatch(url)
    if found is None:
        return url
    scheme, sign, user, rest = found.groups(default="")
    if scheme.lower() in _NAMES_BEFORE_AT:
        rest = user + rest
    # Keys of other stores may hold these signs.
    query = "[?#].*" if scheme.lower() in ("http", "https") else r"\?[^/]*=.*"
    return scheme + sign + re.sub(query, "", rest, flags=re.DOTALL)


def without_secrets(text: str) -> str:
    """A message in which each URL is the one of `public_url`."""
    return _IN_TEXT.sub(lambda found: public_url(found[0]), text)


@contextlib.contextmanager
def errors_of_store(url: str) -> Iterator[None]:
    """Raises what a store's library raises in the block as an OSError that names `url`, which is a public one.

    What it was made from is not shown: its text, and those of its causes, hold secrets.
    """
    try:
        yield
    except (MemoryError, ImportError, AttributeError, TypeError, PairloomError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None and not is_url(os.fsdecode(error.filename)):
            # Of a local file.
            raise
        raise _system_error(error, url) from None


def _system_error(error: Exception, url: str) -> OSError:
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        # The file system of HTTP raises it for any answer.
        error = error.__cause__
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400:
        # Here, because it takes long to import.
        from http.client import responses

        reason = responses.get(status, "")
        return OSError(_CODES.get(status, errno.EIO), f"the server answered {status} {reason}".rstrip(), url)
    code = next((code for kind, code in _CODES_OF_TYPES if isinstance(error, kind)), errno.EIO)
    if code == errno.ENOENT:
        return OSError(code, os.strerror(code), url)
    text = getattr(error, "strerror", None) or str(error)
    return OSError(code, f"{type(error).__name__}: {' '.join(without_secrets(str(text)).split())}", url)
