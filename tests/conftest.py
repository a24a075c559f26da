"""What all tests share: the slow suite, and where the public fixtures are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import CS336


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--run-slow"):
        return
    slow = pytest.mark.skip(reason="takes minutes; `make test-slow` runs it")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(slow)


@pytest.fixture
def cs336() -> Path:
    """The public files of the CS336 assignment."""
    if not CS336.exists():
        pytest.skip(f"the CS336 fixtures are not at {CS336}")
    return CS336
