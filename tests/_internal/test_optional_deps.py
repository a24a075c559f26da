"""A missing optional dependency raises an ImportError that names the package."""

import importlib
import sys

import pytest

import pairloom.reference


def test_the_reference_without_regex_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(ImportError, match=r"^pairloom.reference needs regex: pip install regex$"):
        importlib.reload(pairloom.reference)
