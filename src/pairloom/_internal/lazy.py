"""Modules that are imported when they are first used, so that `import pairloom` and short commands stay fast.

NumPy takes longer to import than everything here; encoding a text to a list and loading a file do not need it. typing,
pathlib and json take as long as everything else that is imported then. So these modules import them lazily, or under
`TYPE_CHECKING = False`: type checkers know that name, and it saves the import of typing.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModule", "json", "numpy", "pathlib"]


class LazyModule:
    """Stands for a module; looking an attribute up imports it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

    def __repr__(self) -> str:
        return f"<{self._name}, imported when it is used>"


json = LazyModule("json")
numpy = LazyModule("numpy")
pathlib = LazyModule("pathlib")
