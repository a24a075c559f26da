"""A store of objects over HTTP on loopback."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.shards.store import object_store


@pytest.fixture
def store() -> Iterator[Any]:
    with object_store() as files:
        yield files
