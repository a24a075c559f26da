"""Writes tiktoken's file (each line a token in base64 and its rank), and converts objects of the library `tiktoken`.

The file stores neither pattern nor special tokens, so the caller passes them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats import ranks
from pairloom.formats.reader import Specials, model_of, named
from pairloom.formats.shared.post_processor import check_none
from pairloom.formats.shared.tiktoken_pattern import for_tiktoken, left_out, named_of
from pairloom.model import Model, Pattern

if TYPE_CHECKING:
    import tiktoken


def from_ranks(
    found: Mapping[bytes, int], pattern: Pattern, special_tokens: Specials | None, name: str = "mergeable_ranks"
) -> Model:
    """Makes the Model of a map token -> rank; messages call it `name`."""
    columns = ranks.columns_of(found, name)
    return model_of(_core.model_of_ranks(columns, name, pattern, named(special_tokens)), name)


def write(model: Model) -> bytes:
    """Returns the file's bytes, by ascending rank. FormatError if ranks do not encode every text as the model does.

    Does not store the pattern, special tokens and decode_errors.
    """
    check_none(model, "a .tiktoken file")
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.write(model).items())


def to_tiktoken(model: Model, name: str = "pairloom") -> tiktoken.Encoding:
    """Returns a tiktoken.Encoding with the same ids. FormatError if there is none, ImportError without the library."""
    library = import_optional("tiktoken", "to_tiktoken")
    check_none(model, "a tiktoken.Encoding")
    pattern = for_tiktoken(model.pattern)
    for shorter, longer in pairwise(sorted(model.special_tokens)):
        if longer.startswith(shorter):
            raise FormatError(
                f"the special token {shown(longer)} starts with {shown(shorter)}: tiktoken finds one or the other at "
                "random; use as_tiktoken, which finds the longer one"
            )
    made: tiktoken.Encoding = library.Encoding(
        name,
        pat_str=pattern,
        mergeable_ranks=ranks.write(model),
        special_tokens=dict(model.special_tokens),
    )
    return made


def from_tiktoken(encoding: Any) -> Model:
    """Makes the Model of a tiktoken.Encoding."""
    try:
        found, specials, pattern = encoding._mergeable_ranks, encoding._special_tokens, encoding._pat_str
    except AttributeError as error:
        raise TypeError(f"encoding must be a tiktoken.Encoding, not {type(encoding).__name__}") from error
    model = from_ranks(found, named_of(pattern), specials, f"tiktoken encoding {encoding.name!r}")
    _core.check_run_as_written(pattern)
    if (lost := left_out(pattern)) is not None:
        warn(
            f"tiktoken drops what the pattern {shown(pattern)} does not match, such as {shown(lost)}; pairloom keeps "
            "it as separate pretokens"
        )
    return model
