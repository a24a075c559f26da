"""URLs: no secret is shown, and errors of store libraries become OSErrors that name the URL."""

import errno
import traceback

import pytest

from pairloom import CorpusError
from pairloom._internal.urls import errors_of_store, public_url, without_secrets

SECRET_URLS = {
    "http://me:PASSWORD@host/a.txt?sig=TOKEN": "http://host/a.txt",
    "https://TOKEN@host:8080/a.txt#TOKEN": "https://host:8080/a.txt",
    "HTTPS://host?sig=TOKEN": "HTTPS://host",
    # As people write them, unescaped.
    "http://me:PASS@WORD@host/a.txt": "http://host/a.txt",
    "http://me:PASS/WORD@host/a.txt": "http://host/a.txt",
    "http://me:PASS?WORD@host/a.txt": "http://host/a.txt",
    "ftp://me:PASSWORD@host/a": "ftp://host/a",
    "s3://KEY:PASSWORD@bucket/a.txt": "s3://bucket/a.txt",
    "s3://bucket/a.txt?versionId=1&sig=TOKEN": "s3://bucket/a.txt",
    "zip://a.txt::http://me:PASSWORD@host/x.zip?sig=TOKEN": "zip://a.txt::http://host/x.zip",
    "simplecache::s3://KEY:PASSWORD@bucket/a": "simplecache::s3://bucket/a",
    "http://[::1]:80/a?sig=TOKEN": "http://[::1]:80/a",
}
PUBLIC_URLS = [
    "http://host:8080/a@b.txt",
    "s3://bucket/wh?t*.txt",
    "s3://bucket/a#1@2.txt",
    "abfs://container@account.dfs.core.windows.net/a",
    "hf://gpt2@main/a.txt",
    "hf://datasets/me/data@v1/a.txt",
    "memory://bucket/a",
    "a plain path?#@",
]


@pytest.mark.parametrize(("url", "public"), SECRET_URLS.items())
def test_a_public_url_holds_no_user_password_or_query(url: str, public: str) -> None:
    assert public_url(url) == public
    assert without_secrets(f"cannot open '{url}' now") == f"cannot open '{public}' now"
    assert (
        without_secrets(f"{url}: gone; copy {url}; see ({url}).") == f"{public}: gone; copy {public}; see ({public})."
    )


@pytest.mark.parametrize("url", PUBLIC_URLS)
def test_a_url_without_secrets_stays_as_it_is(url: str) -> None:
    assert public_url(url) == url


class _Answer(Exception):
    """An error as aiohttp raises it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status}, url='http://me:PASSWORD@host/a?sig=TOKEN'")
        self.status = status


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (_Answer(403), PermissionError, "the server answered 403 Forbidden"),
        (_Answer(500), OSError, "the server answered 500 Internal Server Error"),
        (_Answer(404), FileNotFoundError, "the server answered 404 Not Found"),
        (FileNotFoundError("http://me:PASSWORD@host/a?sig=TOKEN"), FileNotFoundError, "No such file"),
        (OSError(errno.EIO, "x http://h/a?sig=TOKEN\ny"), OSError, r"OSError: x http://h/a y"),
        (RuntimeError("Could not connect to http://me:PASSWORD@h"), OSError, "RuntimeError: Could not connect"),
    ],
)
def test_errors_of_a_store_name_the_url_without_secrets(raised: Exception, kind: type[OSError], message: str) -> None:
    for error in (raised, FileNotFoundError("http://host/a?sig=TOKEN")):
        if error is not raised:
            # As the HTTP file system raises it for any answer.
            error.__cause__ = raised
        with pytest.raises(kind, match=message) as caught, errors_of_store("http://host/a"):
            raise error
        assert caught.value.filename == "http://host/a"
        shown = "".join(traceback.format_exception(caught.value))
        assert "PASSWORD" not in shown and "TOKEN" not in shown


@pytest.mark.parametrize("error", [CorpusError("bad"), MemoryError(), OSError(errno.ENOSPC, "full", "/tmp/a")])
def test_errors_that_are_not_of_the_store_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, errors_of_store("http://host/a"):
        raise error
    assert caught.value is error
