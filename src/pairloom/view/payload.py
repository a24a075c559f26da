"""What the view page knows of tokenizers and texts, in terms of JSON.

A text is the ids of its tokens and the number of tokens in each pretoken. A tokenizer is the tokens that occur in the
texts, and the parts of these. Merges are never undone, so the merge tree of each token is all that the page needs to
replay the merges of a pretoken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairloom.model import CHARACTERS
from pairloom.patterns import pattern_name
from pairloom.pretokens import pretokenize
from pairloom.view.merging import merge_lookup, merged

if TYPE_CHECKING:
    from pairloom.model import Model
    from pairloom.tokenizer import Tokenizer

__all__ = ["encoded", "merge_trees", "pretoken_lengths", "tokenizer_payload"]

Node = tuple[int, int, int]
"""(rank, left id, right id) of the merge that makes a token."""


def encoded(tokenizer: Tokenizer, text: str, specials: str) -> npt.NDArray[Any]:
    """The ids [n] of `text`; specials is "recognise", "ordinary" or "error", as in `Tokenizer.encode_file`."""
    if specials == "recognise":
        return tokenizer.encode_to_numpy(text)
    return tokenizer.encode_to_numpy(text, allowed_special=(), disallowed_special="all" if specials == "error" else ())


def pretoken_lengths(tokenizer: Tokenizer, ids: npt.NDArray[Any], specials: str) -> list[int]:
    """The number of tokens in each pretoken of a text that became `ids`; a special token that was recognised is one."""
    if tokenizer.pattern == CHARACTERS:
        # Nothing is split before merging, which crosses words: each token stands alone.
        return [1] * len(ids)
    # What was split is the text as the tokens spell it: a normaliser may have changed it before.
    data = tokenizer.decode_bytes(ids)
    token_lengths = tokenizer.token_byte_lengths(count_specials=True)[ids]
    token_ends = np.cumsum(token_lengths)
    special = np.isin(ids, list(tokenizer.special_tokens.values())) if specials == "recognise" else np.zeros(len(ids))
    lengths: list[int] = []
    start = 0
    for index in np.flatnonzero(special):
        end = int(token_ends[index])
        literal = int(token_lengths[index])
        lengths += map(len, pretokenize(data[start : end - literal].decode(), tokenizer.pattern))
        lengths.append(literal)
        start = end
    lengths += map(len, pretokenize(data[start:].decode(), tokenizer.pattern))
    # A pretoken ends where a token ends.
    ends = np.searchsorted(token_ends, np.cumsum(lengths, dtype=np.int64)) + 1
    return [end - begin for begin, end in pairwise([0, *ends.tolist()])]


def merge_trees(model: Model, token_ids: Iterable[int]) -> dict[int, Node]:
    """The merge that makes each of the tokens, and each of their parts; nothing for what no merging makes.

    A token is merged in the same way in every text in which it occurs, since nothing merges across its ends: so merging
    its own bytes tells.
    """
    if model.pattern == CHARACTERS:
        return {}
    tokens = model.tokens()
    lookup = merge_lookup(model, tokens)
    id_of_byte = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    nodes: dict[int, Node] = {}
    # The longest first: their parts need no merging of their own.
    for token_id in sorted(token_ids, key=lambda token_id: -len(tokens[token_id])):
        if token_id in nodes or len(tokens[token_id]) == 1:
            continue
        merges = merged([id_of_byte.get(byte) for byte in tokens[token_id]], lookup)
        if merges.symbols == [token_id]:
            for rank, left, right, merged_id in merges.done:
                nodes.setdefault(merged_id, (rank, left, right))
    return nodes


def tokenizer_payload(tokenizer: Tokenizer, name: str, used: Iterable[int], specials: str) -> dict[str, Any]:
    """A tokenizer with the tokens of ids `used` and their parts."""
    model = tokenizer.model
    special_ids = set(tokenizer.special_tokens.values()) if specials == "recognise" else set()
    literals = {token_id: literal.encode() for literal, token_id in tokenizer.special_tokens.items()}
    tokens = model.tokens()
    if model.pattern == CHARACTERS:
        fallback = {i: token for i, token in tokens.items() if re.fullmatch(rb"<0x[0-9A-F]{2}>", token)}
        tokens.update((i, bytes.fromhex(token[3:5].decode())) for i, token in fallback.items())
    wanted = set(used)
    nodes = merge_trees(model, wanted - special_ids)
    wanted |= {part for _, left, right in nodes.values() for part in (left, right)}
    ids = sorted(wanted)
    return {
        "name": name,
        "rule": model.rule,
        "pattern": pattern_name(model.pattern) or "another",
        "special": sorted(special_ids & wanted),
        "ids": ids,
        "hex": [tokens.get(i, literals.get(i, b"")).hex() for i in ids],
        "nodes": [nodes.get(i, 0) for i in ids],
    }
