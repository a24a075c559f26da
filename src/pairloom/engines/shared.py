"""What the modules of the engines share."""

from __future__ import annotations

from typing import Any

from pairloom._internal.arguments import check_choice
from pairloom.errors import CorpusError

__all__ = ["column_of", "job_options", "specials_options"]

_OPTIONS: dict[str, dict[str, Any]] = {
    "recognise": {},
    "ordinary": {"allowed_special": ()},
    "error": {"allowed_special": (), "disallowed_special": "all"},
}


def specials_options(specials: str) -> dict[str, Any]:
    """The options of `encode` for what literals of special tokens in documents become, as in `tokenize_files`."""
    check_choice("specials", specials, tuple(_OPTIONS))
    return _OPTIONS[specials]


def column_of(table: Any, text_field: str) -> Any:
    """The column of an Arrow table or record batch; CorpusError where it is missing."""
    if not hasattr(table, "schema"):
        raise TypeError(f'a batch must be an Arrow table, not {type(table).__name__}; pass batch_format="pyarrow"')
    names = table.schema.names
    if text_field not in names:
        raise CorpusError(f"no column {text_field!r}; the columns are {names}; name one with text_field")
    return table.column(text_field)


def job_options(texts: dict[str, str]) -> dict[str, Any]:
    """Options of `ShardJob` out of the strings that an engine hands on."""
    options: dict[str, Any] = dict(texts)
    if "shard_tokens" in options:
        options["shard_tokens"] = int(options["shard_tokens"])
    for name in ("eot", "bos"):
        if options.get(name) in ("true", "false"):
            options[name] = options[name] == "true"
    return options
