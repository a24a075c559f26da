"""Helpers that the modules of the engines share."""

from typing import Any

from pairloom._internal.arguments import check_choice
from pairloom.errors import CorpusError

_OPTIONS: dict[str, dict[str, Any]] = {
    "recognise": {},
    "ordinary": {"allowed_special": ()},
    "error": {"allowed_special": (), "disallowed_special": "all"},
}


def specials_options(specials: str) -> dict[str, Any]:
    """Returns the options of `encode` for literals of special tokens in documents, named as in `tokenize_files`."""
    check_choice("specials", specials, tuple(_OPTIONS))
    return _OPTIONS[specials]


def column_of(table: Any, text_field: str) -> Any:
    """Returns a column of an Arrow table or record batch; CorpusError if it is missing."""
    if not hasattr(table, "schema"):
        raise TypeError(f'a batch must be an Arrow table, not {type(table).__name__}; pass batch_format="pyarrow"')
    names = table.schema.names
    if text_field not in names:
        raise CorpusError(f"no column {text_field!r}; the columns are {names}; choose one with text_field")
    return table.column(text_field)


def kept_names(names: list[str], text_field: str, column: str, keep: bool) -> list[str]:
    """Returns the columns to keep beside `column`, the text only if `keep`; ValueError if `column` is one of them."""
    kept = [name for name in names if keep or name != text_field]
    if column in kept:
        raise ValueError(f"there is already a column {column!r}; pass another name with column")
    return kept
