"""Mistral's tekken.json, reading only: ranks in base64 under `vocab`, the pattern under `config`.

Special tokens come first, so an id is a rank plus the number of special tokens. Only the first `default_vocab_size` ids
are used. A file that lists no special tokens (up to version v7) has those that mistral-common defines; positions that
are not listed are `<SPECIAL_n>`.
"""

from __future__ import annotations

import binascii
from pathlib import Path
from typing import Any

from pairloom.errors import FormatError
from pairloom.formats import ranks
from pairloom.formats.shared.json_text import parse, shown, take, take_id
from pairloom.formats.shared.tiktoken_pattern import check_run_alike
from pairloom.model import Model

__all__ = ["FILE_NAME", "read", "sniff"]

FILE_NAME = "tekken.json"
"""The name by which the file goes in a folder."""

# What mistral-common takes for the first special tokens of a file that lists none.
_UNLISTED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_MOST_SPECIALS = 100_000


def sniff(head: bytes, path: Path) -> bool:
    """Whether the object begins with tekken's `config` or its type."""
    compact = b"".join(head[:200].split())
    return compact.startswith((b'{"config":{"pattern"', b'{"vocab":[{"rank"')) or b'"type":"Tekken"' in compact


def read(data: bytes, name: str = "tekken.json") -> Model:
    """The Model of the file; messages call it `name`."""
    file = parse(data, name)
    if type(file) is not dict:
        raise FormatError(f"{name}: a tekken.json is an object, not {shown(file)}")
    config = take(file, "config", dict, name)
    pattern = take(config, "pattern", str, f"{name}: config")
    n_ids = take(config, "default_vocab_size", int, f"{name}: config")
    n_specials = take(config, "default_num_special_tokens", int, f"{name}: config")
    vocab = take(file, "vocab", list, name)
    if not 0 <= n_specials <= min(n_ids, _MOST_SPECIALS) or n_ids - n_specials > len(vocab):
        raise FormatError(
            f"{name}: config asks for {shown(n_ids)} ids, {shown(n_specials)} of them special tokens, and vocab holds"
            f" {len(vocab)}; they do not fit together"
        )
    found: dict[bytes, int] = {}
    ranks_seen: set[int] = set()
    for index, entry in enumerate(vocab):
        where = f"{name}: vocab[{index}]"
        if type(entry) is not dict:
            raise FormatError(f"{where} must be an object, not {shown(entry)}")
        rank = take_id(take(entry, "rank", int, where), where)
        if rank >= n_ids - n_specials:
            continue
        token = _token(take(entry, "token_bytes", str, where), where)
        if token in found or rank in ranks_seen:
            raise FormatError(f"{where}: token {shown(token)} or rank {rank} stands before it already")
        ranks_seen.add(rank)
        found[token] = rank + n_specials
    n_missing = n_ids - n_specials - len(found)
    if n_missing:
        raise FormatError(f"{name}: vocab lacks {n_missing} of the ranks below {n_ids - n_specials}")
    check_run_alike(pattern)  # mistral-common runs it by tiktoken
    return ranks.read(
        found,
        pattern=pattern,
        special_tokens=_specials(file.get("special_tokens"), n_specials, name),
        name=name,
    )


def _token(text: str, where: str) -> bytes:
    try:
        return binascii.a2b_base64(text.encode("ascii", "replace"), strict_mode=True)
    except binascii.Error as error:
        raise FormatError(f"{where}: token_bytes {shown(text)} is not base64 ({error})") from None


def _specials(listed: Any, n: int, name: str) -> dict[str, int]:
    """All n special tokens, the unlisted ones by the names that mistral-common fills in."""
    literals = {index: f"<SPECIAL_{index}>" for index in range(n)}
    if listed is None:
        literals.update(enumerate(_UNLISTED[:n]))
    elif type(listed) is not list:
        raise FormatError(f"{name}: special_tokens must be a list, not {shown(listed)}")
    else:
        for index, entry in enumerate(listed):
            where = f"{name}: special_tokens[{index}]"
            if type(entry) is not dict:
                raise FormatError(f"{where} must be an object, not {shown(entry)}")
            rank = take_id(take(entry, "rank", int, where), where)
            literal = take(entry, "token_str", str, where)
            if rank >= n or not literal:
                raise FormatError(f"{where}: rank {rank} of {shown(literal)} is not below {n}, or it has no text")
            literals[rank] = literal
    ids: dict[str, int] = {}
    for token_id, literal in literals.items():
        if literal in ids:
            raise FormatError(f"{name}: special token {shown(literal)} has ids {ids[literal]} and {token_id}")
        ids[literal] = token_id
    return ids
