"""File formats: each module translates one format to and from `Model`, with the same verbs.

`sniff(head, path)` says whether a file looks like the format, `read` gives its Model, `write` its bytes, raising
FormatError with the reason where the format cannot express the model exactly.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pairloom.errors import FormatError
from pairloom.formats import gpt2, huggingface, pairloom, ranks, tekken, tiktoken
from pairloom.formats.atomic import check_free, write_file, write_folder
from pairloom.model import Model, Pattern
from pairloom.patterns import pattern_text

__all__ = [
    "INCOMPLETE",
    "READABLE",
    "WRITABLE",
    "format_of",
    "gpt2",
    "huggingface",
    "load",
    "pairloom",
    "ranks",
    "save",
    "tekken",
    "tiktoken",
]

PathLike = str | os.PathLike[str]
Specials = Sequence[str] | Mapping[str, int]

READABLE = ("pairloom", "huggingface", "tiktoken", "gpt2", "tekken")
"""The names that `load` takes for `format`."""

WRITABLE = ("pairloom", "huggingface", "tiktoken", "gpt2")
"""The names that `save` takes for `format`."""

INCOMPLETE = ("tiktoken", "gpt2")
"""The formats whose files carry neither pattern nor special tokens, which `load` is given."""

_HEAD_BYTES = 4096
# The native file is any JSON object that is none of the others.
_SNIFFERS = (("gpt2", gpt2), ("tekken", tekken), ("huggingface", huggingface), ("tiktoken", tiktoken))


def load(
    path: PathLike,
    *,
    format: str | None = None,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
) -> Model:
    """Reads the file (a folder, for "gpt2") at `path`; the format is sniffed when None.

    `pattern` and `special_tokens` are for formats whose files do not carry them ("tiktoken", "gpt2"). Raises OSError,
    and FormatError naming the file, the place and the remedy.
    """
    file = Path(path)
    if format is None:
        format = format_of(file)
    elif format not in READABLE:
        raise ValueError(f"format must be one of {', '.join(map(repr, READABLE))}, not {format!r}")
    if pattern is not None:
        pattern = pattern_text(pattern)
    if format == "gpt2":
        return gpt2.read(file, pattern=pattern, special_tokens=special_tokens)
    if format == "tiktoken":
        return tiktoken.read(file.read_bytes(), str(file), pattern=pattern, special_tokens=special_tokens)
    for argument, value in (("pattern", pattern), ("special_tokens", special_tokens)):
        if value is not None:
            raise ValueError(f"{file}: a file of format {format!r} carries its own {argument}; leave {argument}=None")
    readers = {"pairloom": pairloom.read, "huggingface": huggingface.read, "tekken": tekken.read}
    return readers[format](file.read_bytes(), str(file))


def save(model: Model, path: PathLike, *, overwrite: bool = False, format: str = "pairloom") -> None:
    """Writes the model atomically: the whole file (for "gpt2" a folder) appears, or nothing.

    Raises FileExistsError unless `overwrite`, FileNotFoundError where the parent directory does not exist, FormatError
    where the format cannot express the model exactly.
    """
    if format not in WRITABLE:
        raise ValueError(f"format must be one of {', '.join(map(repr, WRITABLE))}, not {format!r}")
    target = Path(path)
    if format == "gpt2":
        write_folder(target, gpt2.write(model), overwrite)
        return
    # What stands in the way is said before the work of translating starts.
    check_free(target, overwrite)
    writers = {"pairloom": pairloom.write, "huggingface": huggingface.write, "tiktoken": tiktoken.write}
    write_file(target, writers[format](model), overwrite)


def format_of(path: Path) -> str:
    """The name of the format of a file or folder, by its begin; FormatError where there is none."""
    head = b""
    if not path.is_dir():
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    for name, module in _SNIFFERS:
        if module.sniff(head, path):
            return name
    if pairloom.sniff(head, path):
        return "pairloom"
    raise FormatError(
        f"{path}: not a tokenizer file that pairloom knows (it begins with {head[:16]!r}); name its format with"
        f" format=, one of {', '.join(map(repr, READABLE))}"
    )
