"""Encodes and decodes by running a tokenizer's parts one after the other, where the core cannot run them together.

Tokenizers over characters need this. It is plain Python, ten to a hundred times slower than the core.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pairloom import _core
from pairloom.dropin.encoding import WHITE_SPACE, Columns
from pairloom.dropin.tokenizers.components import AddedToken
from pairloom.dropin.tokenizers.models import BPE
from pairloom.dropin.tokenizers.normalizers import moves_start
from pairloom.dropin.tokenizers.pre_tokenizers import Span, cut, steps_of
from pairloom.errors import FormatError

if TYPE_CHECKING:
    from pairloom.dropin.tokenizers.tokenizer import Tokenizer

_LOST_START = "Metaspace with prepend_scheme='first' does not work with a normalizer that drops or replaces the start"
_CHANGED = "the normalizer changed the text, so its spans are unknown; encode what its normalize_str returns"


class _Finder:
    """Finds added tokens in a text. tokens: maps the text to find to (id, token)."""

    def __init__(self, tokens: dict[str, tuple[int, AddedToken]]) -> None:
        self._tokens = tokens
        literals = sorted(filter(None, tokens), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, literals)) or r"(?!)")

    def parts(self, text: str, ordinary: Container[str]) -> Iterator[tuple[int, str, int | None]]:
        """Yields (start, text, token id or None) for each part; tokens in `ordinary` are left as text."""
        at = 0
        for match in self._pattern.finditer(text):
            start, end = match.span()
            token_id, token = self._tokens[match[0]]
            if token.content in ordinary:
                continue
            if token.single_word and any(_core.matches([text[max(start - 1, 0) : start], text[end : end + 1]], r"\w")):
                continue
            if token.lstrip:
                start = max(len(text[:start].rstrip(WHITE_SPACE)), at)
            if token.rstrip:
                end = len(text) - len(text[end:].lstrip(WHITE_SPACE))
            if at < start:
                yield at, text[at:start], None
            yield start, text[start:end], token_id
            at = end
        if at < len(text):
            yield at, text[at:], None


class PlainEncoder:
    """Encodes by the parts that a tokenizer had when this was made. Raises FormatError for a model with dropout."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # Training changes the model itself.
        self._model, self._vocab = object.__new__(BPE), tokenizer.get_vocab()
        vars(self._model).update(vars(tokenizer.model))
        self._normalizer, self._pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
        firsts = (getattr(step, "prepend_scheme", "") == "first" for step in steps_of(self._pre_tokenizer))
        self._loses_start = moves_start(self._normalizer) and any(firsts)
        self._special = frozenset(tokenizer._special)
        added = tokenizer._added.values()
        # Find exact tokens in the original text first, then normalized tokens in what the normalizer makes of the rest.
        self._exact = _Finder({each[1].content: each for each in added if not each[1].normalized})
        written = tokenizer._normalized_tokens()
        self._others = _Finder({written.get(each[0], each[1].content): each for each in added if each[1].normalized})

    @functools.cached_property
    def _merge_piece(self) -> Callable[[str], list[tuple[str, int, int]]]:
        if self._model.dropout:
            raise FormatError("dropout is not supported while encoding; set tokenizer.model.dropout = None")
        ranks = self._model.ranks()
        return functools.lru_cache(maxsize=1 << 16)(lambda piece: self._model.merged(piece, ranks))

    def encode(self, text: str, as_text: bool) -> tuple[list[int], Columns]:
        """Returns the ids of a text, with their tokens, spans and words. as_text: special tokens stay text."""
        ids: list[int] = []
        columns = Columns([], [], [])
        problem, n_words = "", 0
        vocab, normalizer = self._vocab, self._normalizer
        ordinary = self._special if as_text else ()

        def add(token_id: int, token: str, span: Span) -> None:
            ids.append(token_id)
            columns.tokens.append(token)
            columns.offsets.append(span)
            columns.words.append(n_words)

        for at, segment, added in self._exact.parts(text, ordinary):
            parts: Iterable[tuple[int, str, int | None]] = [(0, segment, added)]
            if added is None:
                changed = segment if normalizer is None else normalizer.normalize_str(segment)
                if changed != segment:
                    problem = _CHANGED
                    if self._loses_start:
                        raise FormatError(_LOST_START)
                parts = self._others.parts(changed, ordinary)
            for start, part, found in parts:
                if found is not None:
                    add(found, part, (at + start, at + start + len(part)))
                    n_words += 1
                    continue
                for piece, spans in cut(self._pre_tokenizer, part, at + start):
                    for token, first, last in self._merge_piece(piece):
                        add(vocab[token], token, (spans[first][0], spans[last - 1][1]) if spans else (0, 0))
                    n_words += 1
        return ids, Columns(columns.tokens, columns.offsets, columns.words, problem)


def decode(tokenizer: Tokenizer, ids: Sequence[int], skip_special_tokens: bool) -> str:
    """Returns the text of ids by the tokenizer's decoder. Omits unknown ids."""
    text_of = tokenizer._tables()[1]
    skipped = tokenizer._special if skip_special_tokens else ()
    tokens = [text_of[each] for each in ids if each in text_of and text_of[each] not in skipped]
    return " ".join(tokens) if tokenizer.decoder is None else tokenizer.decoder.decode(tokens)
