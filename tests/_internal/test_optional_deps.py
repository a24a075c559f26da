"""An optional dependency that is missing is an ImportError that names its extra."""

from __future__ import annotations

import importlib
import sys

import pytest

import pairloom.reference
from pairloom._internal.optional_deps import import_optional


def test_the_reference_without_regex_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(ImportError, match=r"^pairloom.reference needs regex: pip install 'pairloom\[reference\]'$"):
        importlib.reload(pairloom.reference)


def test_a_module_without_an_extra_is_named() -> None:
    with pytest.raises(ImportError, match=r"^this needs no_such_module: install no_such_module$"):
        import_optional("no_such_module.part", "this")
