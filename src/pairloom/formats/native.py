"""The native file: schema 1 if it can express the model, else schema 2. docs/formats.md specifies both.

Equal models give equal bytes.
"""

from __future__ import annotations

from pathlib import Path

from pairloom import _core
from pairloom._internal.arguments import as_text
from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import model_of
from pairloom.model import Model

__all__ = ["read", "sniff", "write"]

_BPETITE = '{"profile":"bpetite"}'


def sniff(head: bytes, path: Path) -> bool:
    """Whether a file may be a native one: a JSON object (the other formats in JSON are asked first)."""
    return head.lstrip(b" \t\r\n").startswith(b"{")


def is_as_saved(head: bytes) -> bool:
    """Whether a file begins as `write` makes it: then it is no file of another format."""
    return head.startswith((b'{"decode_errors":"', b'{"mergeable_vocab_size":'))


def read(data: bytes, name: str = "model file") -> Model:
    """The Model that the file holds; `name` is what messages call the file.

    Raises MissingKeyError for a missing key, FormatError for every other defect.
    """
    fields = _core.read_model(data, as_text(name))
    with model_of(name):
        model = Model.from_columns(**fields)
    if model.training not in (None, _BPETITE):
        from pairloom.training.config import TrainingConfig

        try:
            TrainingConfig.of_record(model.training)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{name}: training: {error}") from None
    return model


def write(model: Model) -> bytes:
    """The canonical file."""
    # Reading needs neither.
    from pairloom.formats import schema1, schema2

    return schema1.write(model) if schema1.expresses(model) else schema2.write(model)
