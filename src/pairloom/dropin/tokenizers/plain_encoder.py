"""Encoding and decoding by the parts of a tokenizer one after the other, where the core does not take them together.

So run tokenizers over characters; it is plain Python, a thousand times slower than the core.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairloom.dropin.encoding import Columns
from pairloom.dropin.tokenizers.pre_tokenizers import Span, cut
from pairloom.errors import FormatError

if TYPE_CHECKING:
    from pairloom.dropin.tokenizers.tokenizer import Tokenizer


class PlainEncoder:
    """The encoder of a tokenizer as it is now; FormatError for parts that it does not take either."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = tokenizer.model
        if model.dropout:
            raise FormatError("dropout is not taken while encoding; set tokenizer.model.dropout = None")
        for token in tokenizer.get_added_tokens_decoder().values():
            is_normalized = token.normalized and tokenizer.normalizer is not None
            if token.lstrip or token.rstrip or token.single_word or is_normalized:
                raise FormatError(f"the added token {token.content!r} has rules, which are taken with ByteLevel only")
        self._tokenizer, self._model, self._vocab = tokenizer, model, tokenizer.get_vocab()
        self._ranks = model.ranks()
        literals = sorted(tokenizer._added, key=len, reverse=True)
        self._added = re.compile("|".join(map(re.escape, literals)) or r"(?!)")

    def encode(self, text: str) -> tuple[list[int], Columns]:
        """The ids of a text, with their tokens, spans and words."""
        ids: list[int] = []
        columns = Columns([], [], [])
        problem, n_words, at = "", 0, 0
        vocab, normalizer = self._vocab, self._tokenizer.normalizer

        def add(token: str, span: Span) -> None:
            ids.append(vocab[token])
            columns.tokens.append(token)
            columns.offsets.append(span)
            columns.words.append(n_words)

        ordinary = self._tokenizer._special if self._tokenizer.encode_special_tokens else ()
        found = [match for match in self._added.finditer(text) if match[0] not in ordinary]
        for start, end in [*(match.span() for match in found), (len(text), len(text))]:
            segment = text[at:start]
            changed = segment if normalizer is None else normalizer.normalize_str(segment)
            if changed != segment:
                problem = "the normalizer changed the text, so nobody can tell spans in it"
            for piece, spans in cut(self._tokenizer.pre_tokenizer, changed, at):
                for token, first, last in self._model.merged(piece, self._ranks):
                    add(token, (spans[first][0], spans[last - 1][1]) if spans else (0, 0))
                n_words += 1
            if end > start:
                add(text[start:end], (start, end))
                n_words += 1
            at = end
        return ids, Columns(columns.tokens, columns.offsets, columns.words, problem)


def decode(tokenizer: Tokenizer, ids: Sequence[int], skip_special_tokens: bool) -> str:
    """The text of ids by the tokenizer's decoder; unknown ones are left out."""
    text_of = {token_id: text for text, token_id in tokenizer.get_vocab().items()}
    if skip_special_tokens:
        for token_id, token in tokenizer.get_added_tokens_decoder().items():
            if token.content in tokenizer._special:
                del text_of[token_id]
    tokens = [text_of[each] for each in ids if each in text_of]
    return " ".join(tokens) if tokenizer.decoder is None else tokenizer.decoder.decode(tokens)
