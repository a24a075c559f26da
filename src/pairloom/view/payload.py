"""Makes the JSON data of the view page: what it knows of tokenizers and texts.

A text is the ids of its tokens and the number of tokens in each pretoken. A tokenizer is the tokens that occur in the
texts, and their parts. Merges are never undone, so the merge tree of each token is all that the page needs to replay
the merges of a pretoken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairloom.model import CHARACTERS, DROP_STEP
from pairloom.offsets import recognised
from pairloom.patterns import pattern_name
from pairloom.pretokens import pretokenize
from pairloom.view.merging import merge_lookup, merged

if TYPE_CHECKING:
    from pairloom.model import Model
    from pairloom.tokenizer import Tokenizer

Node = tuple[int, int, int]
"""(rank, left id, right id) of the merge that makes a token."""


def encoded(tokenizer: Tokenizer, text: str, specials: str) -> npt.NDArray[Any]:
    """Returns the ids [n] of `text`; specials is "recognise", "ordinary" or "error", as in `Tokenizer.encode_file`."""
    return np.fromiter(tokenizer.encode_iterable([text], specials=specials), tokenizer.id_dtype)


def pretoken_lengths(tokenizer: Tokenizer, text: str, ids: npt.NDArray[Any], specials: str) -> list[int]:
    """Returns the number of tokens in each pretoken of `text`, which became `ids`.

    A recognised special token counts as a pretoken. A pretoken that became no tokens is left out.
    """
    if tokenizer.pattern == CHARACTERS:
        # The text is not split before merging, which crosses words, so each token counts as a pretoken.
        return [1] * len(ids)
    model = tokenizer.model
    lengths: list[int] = []
    if DROP_STEP in model.normalizer:
        # The text was split before its bytes without a token were dropped; encoding by single bytes restores it.
        single = tokenizer.from_model(model.without_merges())
        tokens = set(model.tokens().values())
        whole = tokens if model.ignore_merges else ()
        for is_special, piece in _pieces(single, text, encoded(single, text, specials), specials):
            is_kept = is_special or piece in whole
            lengths.append(len(piece) if is_kept else sum(piece[at : at + 1] in tokens for at in range(len(piece))))
    else:
        lengths += (len(piece) for _, piece in _pieces(tokenizer, text, ids, specials))
    # Each pretoken ends at the end of a token.
    token_ends = np.cumsum(tokenizer.token_byte_lengths(count_specials=True)[ids])
    ends = np.searchsorted(token_ends, np.cumsum([n for n in lengths if n], dtype=np.int64)) + 1
    return [end - begin for begin, end in pairwise([0, *ends.tolist()])]


def _pieces(tokenizer: Tokenizer, text: str, ids: npt.NDArray[Any], specials: str) -> Iterator[tuple[bool, bytes]]:
    """Yields (is it a special token, its bytes) for the special tokens and pretokens of a text that became `ids`."""
    # Split the text that the tokens spell, because a normaliser can have changed the original.
    data = tokenizer.decode_bytes(ids)
    lengths = tokenizer.token_byte_lengths(count_specials=True)[ids]
    ends = np.cumsum(lengths)
    special = recognised(tokenizer, text, ids) if specials == "recognise" else np.zeros(len(ids))
    start = 0
    for index in np.flatnonzero(special):
        end = int(ends[index])
        literal = end - int(lengths[index])
        yield from ((False, piece) for piece in pretokenize(data[start:literal].decode(), tokenizer.pattern))
        yield True, data[literal:end]
        start = end
    yield from ((False, piece) for piece in pretokenize(data[start:].decode(), tokenizer.pattern))


def merge_trees(model: Model, token_ids: Iterable[int]) -> dict[int, Node]:
    """Returns the merge that makes each of the tokens and their parts, without those that merging never makes.

    Merging a token's own bytes is enough: wherever the token occurs, nothing merges across its ends, so it is always
    merged in the same way.
    """
    if model.pattern == CHARACTERS:
        return {}
    tokens = model.tokens()
    lookup = merge_lookup(model, tokens)
    id_of_byte = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    nodes: dict[int, Node] = {}
    # Longest first, since merging a token also finds the nodes of its parts.
    for token_id in sorted(token_ids, key=lambda token_id: -len(tokens[token_id])):
        if token_id in nodes or len(tokens[token_id]) == 1:
            continue
        merges = merged([id_of_byte.get(byte) for byte in tokens[token_id]], lookup)
        if merges.symbols == [token_id]:
            for rank, left, right, merged_id in merges.done:
                nodes.setdefault(merged_id, (rank, left, right))
    return nodes


def tokenizer_payload(tokenizer: Tokenizer, name: str, used: Iterable[int], specials: str) -> dict[str, Any]:
    """Returns the JSON data of a tokenizer, with the tokens `used` and their parts."""
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
