"""Reads a tokenizer file with the core's reader for its format, and makes a `Model` of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import as_text
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError, PairloomError, PatternError
from pairloom.model import KEPT_TOKENIZER_JSON, Model, Pattern, assign_special_ids, config_of

if TYPE_CHECKING:
    from pairloom.formats.pretrained import Companions

Specials = Sequence[str] | Mapping[str, int]

_BPETITE = '{"profile":"bpetite"}'


def read(
    format: str,
    data: bytes,
    name: str = "the file",
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
    beside: Companions | None = None,
    are_ordinary: bool = False,
) -> Model:
    """Reads a file of any format in `formats.READABLE` except "gpt2"; messages call it `name`.

    pattern: for "tiktoken" and "gguf". special_tokens: for "tiktoken". beside: the other files in a tokenizer.json's
    folder (`pretrained`).
    are_ordinary: the special tokens of a tokenizer.json stay text (`special_rules`).
    Raises MissingKeyError for a missing key, ValueError if a pattern is needed, PatternError for a
    pattern that does not compile, FormatError for other defects.
    """
    from pairloom.formats.pretrained import identity_of

    said = identity_of(beside) if beside else None
    name = as_text(name)
    try:
        fields = _core.read_model(format, data, name, pattern, named(special_tokens), said, are_ordinary)
    except PatternError as error:
        raise PatternError(f"{name}: {error}") from None
    model = model_of(fields, name)
    kept = config_of(model).get(KEPT_TOKENIZER_JSON, {}) if format == "huggingface" else {}
    if set_there := [key for key in ("padding", "truncation") if key in kept]:
        warn(
            f"{name} sets {' and '.join(set_there)}: pairloom keeps this for the next tokenizer.json, and only "
            "as_huggingface() applies it"
        )
    return model


def named(special_tokens: Specials | None) -> list[tuple[str, int | None]]:
    """Returns the special tokens in the core's format; those without an id get the next ones in their order."""
    ids = assign_special_ids({}, special_tokens or {})
    return [(text, id if isinstance(special_tokens, Mapping) else None) for text, id in ids.items()]


def model_of(fields: dict[str, Any], name: str) -> Model:
    """Makes the Model from the fields that the core read from the file `name`."""
    try:
        model = Model(**fields)
        if model.training not in (None, _BPETITE):
            from pairloom.training.config import TrainingConfig

            try:
                TrainingConfig.of_record(model.training)
            except (TypeError, ValueError) as error:
                raise FormatError(f"{name}: training: {error}") from None
    except PairloomError:
        raise
    except ValueError as error:
        raise FormatError(f"{name}: {error}") from None
    return model
