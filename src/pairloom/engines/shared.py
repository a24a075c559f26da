"""Helpers that the modules of the engines share."""

from typing import Any

from pairloom._internal.arguments import check_choice
from pairloom.errors import CorpusError

_TEXT_TYPES = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null")

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
    """Returns a column of an Arrow table or record batch; CorpusError if it is missing or not text."""
    if not hasattr(table, "schema"):
        raise TypeError(f'a batch must be an Arrow table, not {type(table).__name__}; pass batch_format="pyarrow"')
    names = table.schema.names
    if text_field not in names:
        raise CorpusError(f"no column {text_field!r}; the columns are {names}; choose one with text_field")
    kind = table.schema.field(text_field).type
    if str(getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind) not in _TEXT_TYPES:
        raise CorpusError(f"column {text_field!r} is {kind}, not string or binary; choose another with text_field")
    return table.column(text_field)


def kept_names(names: list[str], text_field: str, column: str, keep: bool) -> list[str]:
    """Returns the columns to keep beside `column`, the text only if `keep`; ValueError if `column` is one of them."""
    kept = [name for name in names if keep or name != text_field]
    if column in kept:
        raise ValueError(f"there is already a column {column!r}; pass another name with column")
    return kept


def check_counting_options(options: dict[str, Any], call: str, reading: bool = False) -> None:
    """Raises TypeError for an option that counting lacks. reading: whether options of `Corpus` go into a dict."""
    for name in options:
        if name not in ("special_tokens", "corpus_specials"):
            remedy = f"; options of Corpus are passed as reading={{{name!r}: ...}}" if reading else ""
            raise TypeError(f"{call} got an unexpected keyword argument {name!r}{remedy}")


def check_method(name: str, value: Any, method: str, kind: str) -> None:
    """Raises TypeError for a value that lacks this method, so is not an object of the engine."""
    if not hasattr(value, method):
        raise TypeError(f"{name} must be {kind}, not {type(value).__name__}")


_FLAGS, _NUMBERS = ("skip_bad", "takeover"), ("shard_tokens", "threads")
_JOB_OPTIONS = sorted(("bos", "eot", "format", "input_errors", "specials", "text_field", *_FLAGS, *_NUMBERS))


def job_options(texts: dict[str, str]) -> dict[str, Any]:
    """Parses options of `ShardJob` from the strings that an engine passes on; ValueError names a wrong one."""
    options: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in _JOB_OPTIONS:
            raise ValueError(f"no option {name!r}; the options are {', '.join(_JOB_OPTIONS)}")
        options[name] = text
        if name in _NUMBERS:
            if not text.isdecimal():
                raise ValueError(f"option {name!r} must be a number, not {text!r}")
            options[name] = int(text)
        elif name in _FLAGS or (name in ("eot", "bos") and text in ("true", "false")):
            if text not in ("true", "false"):
                raise ValueError(f"option {name!r} must be 'true' or 'false', not {text!r}")
            options[name] = text == "true"
    return options
