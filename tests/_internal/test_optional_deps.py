"""A missing optional dependency raises an ImportError that names the package."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(("module", "missing"), [("pairloom.reference", "regex"), ("pairloom.shards.torch", "torch")])
def test_a_module_without_its_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=f"^{module} needs {missing}: pip install {missing}$"):
        importlib.import_module(module)
