"""tiktoken's file: one token a line, in base64, with its rank; and the bridges to the library `tiktoken`.

The file stores neither pattern nor special tokens; the caller gives them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import check_special_tokens
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats import ranks
from pairloom.formats.shared.json_text import check_not_pickle, model_of, shown
from pairloom.formats.shared.pattern_aliases import named_of
from pairloom.formats.shared.post_processor import check_none
from pairloom.formats.shared.tiktoken_pattern import check_run_alike, for_tiktoken, left_out
from pairloom.model import LARGEST_ID, Model, Pattern, assign_special_ids
from pairloom.patterns import PATTERNS

if TYPE_CHECKING:
    import tiktoken

__all__ = ["from_ranks", "from_tiktoken", "read", "sniff", "to_tiktoken", "write"]

Specials = Sequence[str] | Mapping[str, int]

_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first line is base64, a space and a number."""
    return _LINE.match(head) is not None or (path.suffix == ".tiktoken" and not head)


def read(
    data: bytes,
    name: str = "tiktoken file",
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
) -> Model:
    """The Model of the file; ValueError that lists the named patterns when `pattern` is None."""
    if pattern is None:
        raise ValueError(
            f"{name}: a .tiktoken file does not say how text is split; pass pattern=, a regular expression or one of"
            f" {', '.join(map(repr, PATTERNS))}"
        )
    check_not_pickle(data, name)
    # Fast path: a file as it should be, with special tokens beside its tokens. Any other is read line by line.
    columns = _core.read_tiktoken(data)
    if columns is not None and (model := _beside(columns, pattern, special_tokens, name)) is not None:
        return model
    found = _line_by_line(data, name)
    if not found:
        raise FormatError(f"{name}: holds no token; the file is empty")
    return from_ranks(found, pattern, special_tokens, name)


def from_ranks(
    found: Mapping[bytes, int], pattern: Pattern, special_tokens: Specials | None, name: str = "mergeable_ranks"
) -> Model:
    """The Model of a map token -> rank; `name` is what messages call it."""
    by_id = {rank: token for token, rank in found.items()}
    specials = assign_special_ids(by_id, special_tokens or {})
    named = {by_id[token_id] for token_id in specials.values() if token_id in by_id}
    named.intersection_update(literal.encode() for literal in specials)
    # An entry that the caller names as a special token is that and no more, unless merging makes it of text, too.
    alone = named and ranks.unreachable(found) & named
    kept = {token: rank for token, rank in found.items() if token not in alone} if alone else found
    return ranks.read(kept, pattern=pattern, special_tokens=specials, name=name)


def _beside(columns: _core.ModelColumns, pattern: Pattern, special_tokens: Specials | None, name: str) -> Model | None:
    """The Model of these tokens and special tokens; None where a special token may be one of the tokens."""
    named = special_tokens or {}
    ids = named.values() if isinstance(named, Mapping) else ()
    sound = all(type(token_id) is int and 0 <= token_id <= LARGEST_ID for token_id in ids)
    if not sound or any(columns.token(token_id) is not None for token_id in ids):
        return None
    literals = list(check_special_tokens(named))
    if not isinstance(named, Mapping) and any(columns.id_of(literal.encode()) is not None for literal in literals):
        return None
    specials = assign_special_ids({columns.n_ids - 1: b""}, named)
    with model_of(name):
        model = Model.from_columns(
            columns, ignore_merges=True, special_tokens=specials, pattern=pattern, decode_errors="replace"
        )
    return model.one_form()


def _line_by_line(data: bytes, name: str) -> dict[bytes, int]:
    """The same, of any file, saying where it is damaged."""
    found: dict[bytes, int] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        where = f"{name}: line {number}"
        if len(fields) != 2:
            raise FormatError(f"{where} is {shown(line)}, not a token in base64, a space and a rank")
        try:
            token = binascii.a2b_base64(fields[0], strict_mode=True)
        except binascii.Error as error:
            raise FormatError(f"{where}: {shown(fields[0])} is not base64 ({error})") from None
        if not fields[1].isdigit() or len(fields[1]) > 10 or (rank := int(fields[1])) > LARGEST_ID:
            raise FormatError(f"{where}: rank {shown(fields[1])} is not a number of 0 to {LARGEST_ID}")
        if token in found:
            raise FormatError(f"{where}: token {shown(token)} stands on an earlier line with rank {found[token]}")
        found[token] = rank
    return found


def write(model: Model) -> bytes:
    """The file, ranks ascending; raises FormatError where ranks do not encode every text as the model does.

    Pattern, special tokens and decode_errors are not stored.
    """
    check_none(model, "a .tiktoken file")
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.write(model).items())


def to_tiktoken(model: Model, name: str = "pairloom") -> tiktoken.Encoding:
    """A tiktoken.Encoding that gives the same ids; raises FormatError where there is none, ImportError without it."""
    try:
        import tiktoken
    except ImportError as error:
        raise ImportError("this needs tiktoken: pip install pairloom[tiktoken]") from error
    check_none(model, "a tiktoken.Encoding")
    pattern = for_tiktoken(model.pattern)
    for shorter, longer in pairwise(sorted(model.special_tokens)):
        if longer.startswith(shorter):
            raise FormatError(
                f"the special token {shown(longer)} begins with {shown(shorter)}: tiktoken finds either, by chance; use"
                " as_tiktoken, which finds the longer one"
            )
    return tiktoken.Encoding(
        name,
        pat_str=pattern,
        mergeable_ranks=ranks.write(model),
        special_tokens=dict(model.special_tokens),
    )


def from_tiktoken(encoding: Any) -> Model:
    """The Model of a tiktoken.Encoding."""
    try:
        found, specials, pattern = encoding._mergeable_ranks, encoding._special_tokens, encoding._pat_str
    except AttributeError as error:
        raise TypeError(f"encoding must be a tiktoken.Encoding, not {type(encoding).__name__}") from error
    model = ranks.read(
        found, pattern=named_of(pattern), special_tokens=specials, name=f"tiktoken encoding {encoding.name!r}"
    )
    check_run_alike(pattern)
    if (lost := left_out(pattern)) is not None:
        warn(
            f"tiktoken leaves out what the pattern {shown(pattern, 200)} does not match, such as {shown(lost)};"
            " pairloom keeps it, as pretokens of their own"
        )
    return model
