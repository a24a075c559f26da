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
        self._ranks = {pair: rank for rank, pair in enumerate(model.merges)}
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
                for token, first, last in self._merged(piece):
                    add(token, (spans[first][0], spans[last - 1][1]) if spans else (0, 0))
                n_words += 1
            if end > start:
                add(text[start:end], (start, end))
                n_words += 1
            at = end
        return ids, Columns(columns.tokens, columns.offsets, columns.words, problem)

    def _merged(self, piece: str) -> list[tuple[str, int, int]]:
        """The tokens of a piece, each with where it begins and ends."""
        model = self._model
        if model.ignore_merges and piece in model.vocab:
            return [(piece, 0, len(piece))]
        parts: list[tuple[str, int, int]] = []
        for at, letter in enumerate(piece):
            text = (model.continuing_subword_prefix or "") * (at > 0) + letter
            text += (model.end_of_word_suffix or "") * (at == len(piece) - 1)
            bytes_of = [f"<0x{byte:02X}>" for byte in text.encode()]
            if text in model.vocab:
                parts.append((text, at, at + 1))
            elif model.byte_fallback and all(token in model.vocab for token in bytes_of):
                parts += [(token, at, at + 1) for token in bytes_of]
            elif model.unk_token is not None:
                if model.unk_token not in model.vocab:
                    raise ValueError(
                        f"{letter!r} is unknown, and the unk_token {model.unk_token!r} is no token; train with it as a"
                        " special token"
                    )
                fuses = model.fuse_unk and parts and parts[-1][0] == model.unk_token
                parts.append((model.unk_token, parts.pop()[1] if fuses else at, at + 1))
        prefix = model.continuing_subword_prefix or ""
        while True:
            pairs = [(parts[at][0], parts[at + 1][0]) for at in range(len(parts) - 1)]
            best = min((pair for pair in pairs if pair in self._ranks), key=self._ranks.__getitem__, default=None)
            if best is None:
                return parts
            at = pairs.index(best)
            parts[at : at + 2] = [(best[0] + best[1].removeprefix(prefix), parts[at][1], parts[at + 1][2])]


def decode(tokenizer: Tokenizer, ids: Sequence[int], skip_special_tokens: bool) -> str:
    """The text of ids by the tokenizer's decoder; unknown ones are left out."""
    text_of = {token_id: text for text, token_id in tokenizer.get_vocab().items()}
    if skip_special_tokens:
        for token_id, token in tokenizer.get_added_tokens_decoder().items():
            if token.content in tokenizer._special:
                del text_of[token_id]
    tokens = [text_of[each] for each in ids if each in text_of]
    return " ".join(tokens) if tokenizer.decoder is None else tokenizer.decoder.decode(tokens)
