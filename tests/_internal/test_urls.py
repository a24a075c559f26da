"""URLs: no secret is shown, and errors of store libraries become OSErrors that name the URL."""

import errno
import traceback

import pytest

from pairloom import CorpusError
from pairloom._internal.urls import errors_of_store, public_url, without_secrets
from tests.cases import INPUTS


@pytest.mark.parametrize(("url", "public"), INPUTS["secret_urls"])
def test_a_public_url_holds_no_user_password_or_query(url: str, public: str) -> None:
    assert public_url(url) == public
    assert without_secrets(f"cannot open '{url}' now") == f"cannot open '{public}' now"
    assert (
        without_secrets(f"{url}: gone; copy {url}; see ({url}).") == f"{public}: gone; copy {public}; see ({public})."
    )


@pytest.mark.parametrize("url", INPUTS["public_urls"])
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
