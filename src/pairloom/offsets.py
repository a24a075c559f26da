"""Computes the byte and character spans of tokens in a text from their lengths. Defined in `reference.offsets`.

Cost: two passes over the ids, plus two over the bytes of text that is not ASCII.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom.model import CHARACTERS, Model

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

Spans = npt.NDArray[np.int64]


class TokenSpans:
    """Finds the spans of one tokenizer's tokens; `core` is its encoder."""

    def __init__(self, model: Model, core: _core.Encoder) -> None:
        self._model = model
        self._core = core
        self._lengths = core.token_byte_lengths()
        self.with_own_ids: Tokenizer | None = None
        """The tokenizer with ids of their own for special tokens, made when `recognised` first needs it."""
        self._spaces = {i for literal, i in model.special_tokens.items() if literal.startswith(" ")}

    def lengths_of(self, ids: Any) -> npt.NDArray[np.int64]:
        """Returns the number of bytes of each id; every id must be known."""
        return self._lengths[np.asarray(ids, np.int64)]

    def byte_spans_of(self, text: str, ids: Any, has_added_spaces: bool = False) -> Spans:
        """Returns the byte spans [n, 2] of the ids of `text`; ValueError if encoding changes the text.

        has_added_spaces: `text` already contains the spaces that the normaliser adds.
        """
        data = text.encode()
        spans = byte_spans(self.lengths_of(ids))
        # Encoding put a space before the text, which is not in `text`.
        n_prefix = int(spans[-1, 1]) - len(data) if len(spans) and self._model.pattern == CHARACTERS else 0
        spans = np.maximum(spans - n_prefix, 0)
        if not (self._model.normalizer or self._model.strips):
            return spans
        # If the first token is special and begins with a space, decoding drops that space, not the prefix, which comes
        # after the token. Then the spans are wrong even if the decoded bytes equal the text.
        is_same = self._core.decode_bytes(ids) == data and not (n_prefix and int(ids[0]) in self._spaces)
        # White space that a special token absorbed can be in the ids, too: the normaliser puts a space back, and
        # special tokens are found in it.
        takers = [self._model.special_tokens[each] for each, rule in self._model.special_rules if rule == "rstrip"]
        ends = spans[np.isin(np.asarray(ids, np.int64), takers), 1].tolist()
        nexts = [data[end : end + 4].decode(errors="ignore")[:1] for end in ends]
        is_put_back = is_same and not has_added_spaces and any(map(str.isspace, nexts))
        if is_put_back or not (is_same or self._model.normalizer):
            raise ValueError(
                f"special tokens absorb white space of {shown(text)} (special_rules), so its tokens have no "
                "positions; encode them as plain text: allowed_special=()"
            )
        if not is_same:
            steps = self._model.normalizer_names
            raise ValueError(
                f"the normalizer {(steps[0] if len(steps) == 1 else steps)!r} changes the text {shown(text)}, so its "
                "tokens have no positions in it; normalize it first, or use with_normalizer(None)"
            )
        return spans


def recognised(tokenizer: Tokenizer, text: str, ids: Any) -> npt.NDArray[np.bool_]:
    """Returns for each id of `text` whether it is a special token that `encode` recognised.

    The id alone can be ambiguous: merging can also make the token of a special token, from a literal that rules left as
    text or that a normalizer made. Then the text is encoded a second time, with other ids for special tokens.
    """
    model, ids = tokenizer.model, np.asarray(ids, np.int64)
    ordinary = {literal for literal, rule in model.special_rules if rule == "ordinary"}
    ids_of = {literal: token_id for literal, token_id in model.special_tokens.items() if literal not in ordinary}
    is_special = np.isin(ids, list(ids_of.values()))
    # Without rules and a normalizer, the text between special tokens contains no literal.
    is_clear = not (model.special_rules or model.normalizer)
    made = model.token_ids if model.unknown is None else np.append(model.token_ids, model.unknown[0])
    if is_clear or not np.isin(ids[is_special], made).any():
        return is_special
    spans = tokenizer._token_spans()
    if spans.with_own_ids is None:
        own_ids = {literal: tokenizer.n_vocab + index for index, literal in enumerate(model.special_tokens)}
        spans.with_own_ids = tokenizer.from_model(model.replaced(special_tokens=own_ids))
    is_found: npt.NDArray[np.bool_] = spans.with_own_ids.encode_to_numpy(text) >= tokenizer.n_vocab
    return is_found


def byte_spans(lengths: npt.NDArray[np.int64]) -> Spans:
    """Returns the spans [n, 2] of adjacent tokens with these lengths."""
    ends = np.cumsum(lengths)
    return np.stack([ends - lengths, ends], axis=1)


def char_spans(text: str, spans: Spans) -> Spans:
    """Returns the span of the characters that each byte span of the text touches, [n, 2]; an empty span stays empty."""
    if text.isascii() or not len(spans):
        return spans
    # The number of characters that begin before each byte.
    n_before = np.concatenate([[0], np.cumsum(_begins_character(text.encode()))])
    starts, ends = spans.T
    ends = n_before[ends]
    return np.stack([np.minimum(n_before[starts + 1] - 1, ends), ends], axis=1)


def starts_of_tokens(blob: bytes, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the index of the character in which each token begins, as tiktoken defines it.

    blob: the text; lengths: of its tokens, in bytes.
    """
    # Decoding drops the spaces that encoding put before the text, so they are not in `blob`.
    n_dropped = int(lengths.sum()) - len(blob)
    starts = np.maximum(byte_spans(lengths)[:, 0] - n_dropped, 0)
    # A token that was dropped entirely can begin at the end of the text.
    begins = np.append(_begins_character(blob), True)
    before = np.concatenate([[0], np.cumsum(begins)])[starts]
    offsets: npt.NDArray[np.int64] = np.maximum(before - (begins[starts] == 0), 0)
    return offsets


def _begins_character(data: bytes) -> npt.NDArray[np.bool_]:
    """Returns for each byte whether it is the first byte of a character."""
    begins: npt.NDArray[np.bool_] = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
    return begins
