"""Vocabularies and merges that a caller holds as Python objects, such as the ones that students pickle.

A vocabulary maps ids to tokens or tokens to ids; a token is bytes, or a str in the GPT-2 byte alphabet. Merges are
pairs of tokens or of ids in rank order, or minbpe's dict (left id, right id) -> merged id. pairloom opens no pickle.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Set
from typing import Any

from pairloom._internal.arguments import check_several, shown
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import from_alphabet
from pairloom.formats.shared.json_text import take_id

__all__ = ["read"]


def read(vocab: Any, merges: Any) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """The vocabulary as id -> bytes and the merges as byte pairs in rank order; FormatError for anything else."""
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab must be a dict of ids and tokens, not {type(vocab).__name__}")
    tokens = {}
    for key, value in vocab.items():
        token_id, token = (key, value) if isinstance(key, int) else (value, key)
        take_id(token_id, f"vocab[{shown(key)}]")
        if token_id in tokens:
            raise FormatError(f"vocab gives id {token_id} to two tokens; ids are distinct")
        tokens[token_id] = _bytes(token, f"vocab[{shown(key)}]", literal=True)
    pairs: Iterable[Any] = merges
    if isinstance(merges, Set) and not isinstance(merges, KeysView):
        raise TypeError(
            "merges must be a list in the order of their ranks, not a set: its order changes from run to run"
        )
    if not isinstance(merges, Mapping):
        check_several("merges", "pairs of tokens", merges)
        return tokens, [_pair(pair, rank, tokens) for rank, pair in enumerate(pairs)]
    # minbpe: ids ascend with the rank.
    for pair, merged_id in merges.items():
        take_id(merged_id, f"merges[{shown(pair)}]")
    pairs = sorted(merges, key=lambda pair: merges[pair])
    found = [_pair(pair, rank, tokens) for rank, pair in enumerate(pairs)]
    for pair, (left, right) in zip(pairs, found, strict=True):
        merged_id = merges[pair]
        if tokens.get(merged_id) != left + right:
            holder = shown(tokens[merged_id]) if merged_id in tokens else "no token"
            raise FormatError(
                f"merges[{shown(pair)}] makes {shown(left + right)} with id {merged_id}, but the vocabulary gives that "
                f"id to {holder}"
            )
    return tokens, found


def _pair(pair: Any, rank: int, tokens: Mapping[int, bytes]) -> tuple[bytes, bytes]:
    where = f"merges[{rank}]"
    parts = pair.split(" ") if isinstance(pair, str) else pair
    if not isinstance(parts, (tuple, list)) or len(parts) != 2:
        raise FormatError(f"{where} must be two tokens or two ids, not {shown(pair)}")
    left, right = (_part(part, where, tokens) for part in parts)
    return left, right


def _part(part: Any, where: str, tokens: Mapping[int, bytes]) -> bytes:
    if type(part) is not int:
        return _bytes(part, where)
    if part not in tokens:
        raise FormatError(f"{where} holds id {part}, which the vocabulary lacks")
    return tokens[part]


def _bytes(token: Any, where: str, *, literal: bool = False) -> bytes:
    """The bytes of a token; with `literal`, a str that is not in the byte alphabet stands for its UTF-8."""
    if isinstance(token, (bytes, bytearray)):
        return bytes(token)
    if not isinstance(token, str):
        raise FormatError(f"{where} must be bytes, or a str in the GPT-2 byte alphabet, not {shown(token)}")
    found = from_alphabet(token)
    if found is None and literal:
        found = token.encode(errors="surrogatepass")
    if found is None:
        raise FormatError(f"{where}: {shown(token)} is not written in the GPT-2 byte alphabet")
    return found
