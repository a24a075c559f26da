"""The native file: schema 1 wherever it can express the model, else schema 2. docs/formats.md states both.

Enters: the bytes of a file, or a Model. Leaves: a Model that has been checked through and through, or the canonical
bytes. Equal models give equal bytes.
"""

from __future__ import annotations

from pathlib import Path

from pairloom import _core
from pairloom.formats import schema1, schema2
from pairloom.model import Model

__all__ = ["read", "sniff", "write"]


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file may be a native one: a JSON object (the other formats in JSON are asked first)."""
    return head.lstrip(b" \t\r\n").startswith(b"{")


def read(data: bytes, name: str = "model file") -> Model:
    """The Model that the file holds; `name` is what messages call the file.

    Raises MissingKeyError for a key that is not there, FormatError for every other defect.
    """
    return Model(**_core.read_model(data, name))


def write(model: Model) -> bytes:
    """The canonical file."""
    return schema1.write(model) if schema1.expresses(model) else schema2.write(model)
