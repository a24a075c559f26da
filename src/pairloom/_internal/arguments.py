"""Validates arguments before any work starts.

Each check raises TypeError or ValueError with a message that names the argument, the value and the remedy. Values come
from callers and can be hostile: a `__len__` can lie, a `__repr__` can raise.
"""

import os
import sys
from collections.abc import Collection, Iterable, KeysView, Mapping, Set
from typing import Any

LONGEST_PATH = 4096
"""A str with more characters is not taken for a path."""

LARGEST_INT = 2**63 - 1
"""The largest integer that an argument can be: the maximum of a signed 64-bit integer."""

MAX_SPECIAL_TOKENS = 1 << 17
"""The limit on special tokens: twice as many as any published tokenizer has (16-bit speech codes)."""

# The thread limit is four per processor, but at least this.
_MIN_THREAD_LIMIT = 16
_MAX_SHOWN = 80
_MAX_BITS_SHOWN = 256
_MAX_NAMES = 8


def shown(value: Any) -> str:
    """Returns the repr of `value` for a message, cut to 80 characters; never raises.

    >>> shown("cl100k")
    "'cl100k'"
    >>> shown(1 << 10_000)
    'an int of 10001 bits'
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MAX_BITS_SHOWN:
        # repr raises ValueError for a very large int.
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, (str, bytes)) and len(value) > _MAX_SHOWN:
        return f"{value[:_MAX_SHOWN]!r}... ({len(value)} in all)"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= 2 * _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def as_text(name: str) -> str:
    r"""Makes a name or message safe for a terminal: escapes control characters and bytes that are not UTF-8.

    >>> as_text("a\udcff\x1b[2J.txt")
    'a\\udcff\\x1b[2J.txt'
    """
    if name.isprintable():
        return name
    return "".join([c if c.isprintable() else c.encode("unicode_escape").decode() for c in name])


def check_int(name: str, value: Any, *, least: int | None = None, most: int = LARGEST_INT) -> int:
    """Returns `value` if it is an int (not a bool) from `least` to `most`; else raises TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, not {shown(value)}")
    if value > most:
        raise ValueError(f"{name} is {shown(value)}; the largest is {most}")
    if value < -LARGEST_INT:
        raise ValueError(f"{name} is {shown(value)}; the least is {-LARGEST_INT}")
    return value


def check_bool(name: str, value: Any) -> bool:
    """Returns `value` if it is a bool; else raises TypeError."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {type(value).__name__}")
    return value


def check_str(name: str, value: Any) -> str:
    """Returns `value` if it is a str; else raises TypeError."""
    if not isinstance(value, str):
        remedy = "; decode it first" if isinstance(value, bytes) else ""
        raise TypeError(f"{name} must be a str, not {type(value).__name__}{remedy}")
    return value


def check_max_memory(max_memory: Any) -> int | None:
    """Returns `max_memory` (bytes, None for no limit) if it is valid; else raises TypeError or ValueError."""
    return None if max_memory is None else check_int("max_memory", max_memory, least=0)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raises ValueError unless `value` is one of `choices`."""
    # Compare only a str: an array would compare item by item.
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {shown(value)}")


def check_special_tokens(tokens: Any) -> tuple[str, ...]:
    """Returns the special tokens as a tuple of nonempty, distinct str.

    Raises TypeError for a bare str and for a set: ids follow the order, and the order of a set of str differs between
    processes.
    """
    if not _is_iterable_not_str(tokens):
        remedy = f": write [{shown(tokens)}]" if isinstance(tokens, str) else ""
        raise TypeError(f"special_tokens must be a list of str, not {type(tokens).__name__}{remedy}")
    if isinstance(tokens, Set) and not isinstance(tokens, KeysView):
        raise TypeError(
            f"special_tokens must be a list of str, not {type(tokens).__name__}: their order decides their ids, and "
            "the order of a set changes from run to run; pass a list, or sorted(...) of the set"
        )
    # Not tuple(tokens), which trusts the __len__ of a caller's object.
    checked = tuple([token for token in tokens])  # noqa: C416
    if len(checked) > MAX_SPECIAL_TOKENS:
        raise ValueError(
            f"there are {len(checked)} special tokens, but at most {MAX_SPECIAL_TOKENS} are allowed; add the others "
            "to the vocabulary"
        )
    seen: set[str] = set()
    for token in checked:
        if not isinstance(token, str):
            raise ValueError(f"a special token must be a str, not {type(token).__name__} ({shown(token)})")
        if not token:
            raise ValueError("a special token is empty; it needs at least one character")
        try:
            token.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"special token {shown(token)} contains a lone surrogate, which is not text") from error
        if token in seen:
            raise ValueError(f"special token {shown(token)} is listed twice; list it once")
        seen.add(token)
    return checked


def _is_iterable_not_str(values: Any) -> bool:
    """Whether `values` is iterable; a str or bytes counts as a single value."""
    is_iterable = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    # A zero-dimensional array has __iter__, but iterating it fails.
    return is_iterable and getattr(values, "ndim", 1) != 0


def check_iterable(name: str, what: str, values: Any) -> None:
    """Raises TypeError unless `values` is iterable; its items, which are not checked, should be `what`."""
    if not _is_iterable_not_str(values):
        raise TypeError(f"{name} must be an iterable of {what}, not {type(values).__name__}")


def check_texts(name: str, texts: Any, *, is_column: bool = False) -> None:
    """Raises TypeError for a single str, a value that is not iterable, and a mapping or table; says what to pass.

    is_column: whether `texts` is an Arrow column, which need not be iterable.
    """
    remedy = _remedy_for_table(name, texts)
    if remedy is None and not is_column and not _is_iterable_not_str(texts):
        remedy = "decode it first" if isinstance(texts, bytes) else "wrap a single text in a list"
    if remedy is not None:
        raise TypeError(f"{name} must be an iterable of str, not {type(texts).__name__}; {remedy}")


def _remedy_for_table(name: str, value: Any, call: str = "") -> str | None:
    """Returns what to pass instead of a mapping or a table, whose iteration yields keys; None for anything else.

    call: what takes a column of texts, if it is not where the table was passed.
    """
    if isinstance(value, Mapping):
        first = next(iter(value.values()), None)
        if isinstance(first, int):
            return "PretokenCounts.from_items takes counts"
        if isinstance(first, str):
            return f"pass its values: {name}.values()"
        names = list(value)
    else:
        # Looked up in the class, because a pandas table has an attribute for each of its columns.
        found = next((each for each in ("column_names", "columns") if hasattr(type(value), each)), None)
        if found is None:
            return None
        listed = getattr(value, found)
        names = list(listed) if isinstance(listed, Iterable) else []
    column = "text" if "text" in names or not names else names[0]
    columns = ", ".join(map(shown, names[:_MAX_NAMES])) + (", ..." if len(names) > _MAX_NAMES else "")
    place = f"{name}[{shown(column)}]"
    return f"pass one column, as {f'{call}({place})' if call else place}" + (f"; it has {columns}" if names else "")


def check_path(name: str, path: Any, *, may_be_url: bool = False) -> str:
    """Returns the path as a str; TypeError unless it is a str or os.PathLike, ValueError if it cannot name a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a str or os.PathLike, not {type(path).__name__}")
    plain = path if isinstance(path, str) else type(path).__fspath__(path)
    if not isinstance(plain, str):
        remedy = "; use os.fsdecode" if isinstance(plain, bytes) else ""
        raise TypeError(f"{name} must be a str, not {type(plain).__name__}{remedy}")
    if not plain:
        raise ValueError(f"{name} is empty; pass a file or a folder ('.' is the current folder)")
    if len(plain) > LONGEST_PATH:
        raise ValueError(f"{name} {shown(plain)} is too long for a file name; pass the path of the file, not its text")
    if "://" in plain and not may_be_url:
        from pairloom._internal.urls import public_url

        raise ValueError(f"{name} must be on this machine, not at the URL {public_url(plain)}; copy it first")
    return plain


_CORPUS_OF_TEXTS = "pairloom.Corpus.of_texts"


def check_paths(paths: Any) -> list[str]:
    """Returns the paths as a list of str; accepts a single path, and sorts a set."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    remedy = _remedy_for_table("paths", paths, _CORPUS_OF_TEXTS)
    if any(hasattr(paths, name) for name in ("__arrow_c_array__", "__arrow_c_stream__", "column_name")):
        # A column, also of a data set: its items would be taken for paths.
        remedy = remedy or f"for a column of texts, pass {_CORPUS_OF_TEXTS}(...)"
    if hasattr(paths, "read"):
        # Iterating an open file returns its lines, iterating a Corpus its texts.
        remedy = "pass the path of the file, not the open file"
        if not hasattr(paths, "readable"):
            remedy = "Tokenizer.train and PretokenCounts.from_texts take a Corpus"
    if remedy is not None or not _is_iterable_not_str(paths):
        more = f"; {remedy}" if remedy else ""
        raise TypeError(f"paths must be a path or a list of paths, not {type(paths).__name__}{more}")
    checked = [check_path("a path", path, may_be_url=True) for path in paths]
    return sorted(checked) if isinstance(paths, Set) and not isinstance(paths, KeysView) else checked


def resolve_threads(threads: Any) -> int:
    """Checks `threads`; 0 (all cores) becomes 1 inside a worker process, whose siblings use the other cores.

    The result is at most four per processor, or 16 if that is more: further threads would only cost memory.
    """
    check_int("threads", threads, least=0)
    if threads == 0:
        # A worker process has imported it already; importing it here would only take time.
        process = sys.modules.get("multiprocessing.process")
        return 1 if process is not None and process.parent_process() is not None else 0
    return min(int(threads), max(_MIN_THREAD_LIMIT, 4 * (os.cpu_count() or 1)))
