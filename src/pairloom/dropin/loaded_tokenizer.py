"""A pairloom Tokenizer with what its stand-in for tokenizers.Tokenizer derives from it, also for each text."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from pairloom._internal.arguments import shown
from pairloom.dropin.encoding import WHITE_SPACE, Columns
from pairloom.formats.huggingface import texts_of
from pairloom.formats.shared.characters import splits_words
from pairloom.model import CHARACTERS
from pairloom.offsets import char_spans, recognised
from pairloom.post_processing import post_processor_of
from pairloom.pretokens import pretokenize

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

_COMPARABLE_STEPS = {"nfc", "nfd", "nfkc", "nfkd", "lowercase", "prefix_space"}
"""The normalizer steps that `_as_spelled` can allow: it compares each character to see if they changed a text."""
_WHITE_SPACE = re.compile(f"[{WHITE_SPACE}]*")


class LoadedTokenizer:
    """Tables of a tokenizer, and the columns of encodings. It never changes, so encodings compute theirs by it later.

    text_of: id -> token as the vocabulary spells it. normalized: the added tokens that a normalizer changes, as it
    spells them. unskipped: the ids that decoding without special tokens keeps. as_text: whether special tokens stay
    text, as with encode_special_tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.model = tokenizer, tokenizer.model
        self._with_specials_as_text: Tokenizer | None = None
        self.text_of = texts_of(self.model)
        self.vocab = {text: token_id for token_id, text in self.text_of.items()}
        # An added token that the normalizer changes is spelled as changed by the library, and decoded even if special.
        written = {"after_space": "\u2581{}".format, "any_case": str.lower}
        normalized = {
            tokenizer.special_tokens[literal]: written[rule](literal)
            for literal, rule in self.model.special_rules
            if rule in written
        }
        self.normalized = {token_id: text for token_id, text in normalized.items() if text != self.text_of[token_id]}
        plain = {tokenizer.special_tokens[literal] for literal in self.model.plain_specials}
        skipped = {*tokenizer.special_tokens.values()} - plain - self.normalized.keys()
        self.unskipped = self.text_of.keys() - skipped
        self._special_of = {token_id: text for text, token_id in tokenizer.special_tokens.items()}
        self._splits_words = splits_words(self.model)
        self.post_processor = post_processor_of(tokenizer.post_processor)

    def encoder(self, as_text: bool) -> Tokenizer:
        """Returns the tokenizer to encode with; as_text leaves added tokens marked special as text.

        Like the library, it still finds them: an ordinary added token that overlaps one in a text is not recognised.
        """
        if not as_text:
            return self.tokenizer
        if self._with_specials_as_text is None:
            model = self.model
            ordinary = {(literal, "ordinary") for literal in model.special_tokens.keys() - model.plain_specials}
            rules = sorted(ordinary.union(model.special_rules))
            self._with_specials_as_text = self.tokenizer.from_model(model.replaced(special_rules=rules))
        return self._with_specials_as_text

    def encode(self, texts: list[str], as_text: bool) -> list[list[int]]:
        """Returns the ids of each text."""
        encoder = self.encoder(as_text)
        # A single long text is divided among threads.
        return [encoder.encode(texts[0])] if len(texts) == 1 else encoder.encode_batch(texts)

    def decode(self, ids: Iterable[int], skip_special_tokens: bool) -> str:
        """Returns the text of ids. Omits unknown ids, and special tokens if asked to."""
        given, decoded = list(ids), self.unskipped if skip_special_tokens else self.text_of
        known = [token_id for token_id in given if token_id in decoded]
        if len(known) < len(given):
            known = [token_id for token_id in map(checked_id, given) if token_id in decoded]
        return self.tokenizer.decode(known, self.model.usual_errors)

    def columns(self, ids: list[int], text: str, as_text: bool) -> Columns:
        """Returns tokens, offsets and words of the ids of `text`; ValueError if tokens absorb white space of it that
        the normalizer changed.
        """
        if not ids:
            return Columns.without_text([])
        tokens = [self.text_of[token_id] for token_id in ids]
        specials = recognised(self.encoder(as_text), text, ids).tolist()
        for at in np.flatnonzero(specials).tolist() if self.normalized else ():
            tokens[at] = self.normalized.get(ids[at], tokens[at])
        spelled = self._as_spelled(ids, text, specials)
        split, spaces, taken = spelled or (text, [], [])
        try:
            spans = self.tokenizer._token_spans().byte_spans_of(split, ids, spelled is not None)
        except ValueError as error:
            if self.model.strips:
                # lstrip and rstrip tokens are spelled with the white space they absorb, so tokens are unknown too.
                raise
            return Columns.without_text(tokens, str(error))
        characters = char_spans(split, spans).copy()
        if spaces or taken:
            # An added space gets the span of the character after it.
            starts, ends = characters.T
            lasts = ends - 1
            starts = starts - np.searchsorted(spaces, starts) + np.searchsorted(taken, starts, "right")
            ends = lasts - np.searchsorted(spaces, lasts) + 1 + np.searchsorted(taken, ends, "right")
            characters = np.stack([starts, ends], axis=1)
        if self.model.words is not None:
            # Tokens are spelled with the space between words, which does not belong to their spans.
            for token_id, place in zip(ids, characters, strict=True):
                if (special := self._special_of.get(token_id)) is not None:
                    place[0] = place[1] - len(special)
                else:
                    place += split[place[0]] == " ", -(split[place[1] - 1] == " ")
        # A SentencePiece prefix that is a separate token also gets the span of the character after it.
        characters[:, 1] = np.maximum(characters[:, 1], characters[:, 0] + 1)
        offsets = [(start, end) for start, end in characters.tolist()]
        for at in np.flatnonzero(specials).tolist() if spelled else ():
            if rules := self.tokenizer.special_rules.get(self._special_of[ids[at]]):
                start, end = offsets[at]
                # The white space that rstrip absorbed counts even if it holds other special tokens.
                offsets[at] = start, end + _n_white(text, end) * ("rstrip" in rules)
                if "lstrip" in rules or "rstrip" in rules:
                    tokens[at] = text[slice(*offsets[at])]
        return Columns(tokens, offsets, self._words(ids, split, spans, specials))

    def _as_spelled(self, ids: list[int], text: str, specials: list[bool]) -> tuple[str, list[int], list[int]] | None:
        """Returns the text as its tokens spell it; None if a normalizer did more than add spaces.

        Also returns the positions of the added spaces and, for each white-space character that a special token
        absorbed, the first position after it.
        """
        model = self.model
        strips, steps = model.strips and model.pattern != CHARACTERS, model.normalizer_names
        if not ("prefix_space" in steps or strips) or not _COMPARABLE_STEPS.issuperset(steps):
            return None
        parts: list[str] = []
        spaces: list[int] = []
        taken: list[int] = []
        at = n_split = end = 0
        for part, is_special in self._parts(ids, specials):
            rules = self.tokenizer.special_rules.get(part, ()) if is_special else ()
            n, n_white = len(part), _n_white(text, at) if "lstrip" in rules else 0
            # The white space that the previous token absorbed can hold this token.
            if is_special and not n_white and (found := text.find(part, end, at + n - 1)) >= 0:
                del taken[found - at :]
                at = found
            # The token's span starts before this white space, so only what follows its first character moves.
            taken += [n_split + 1] * n_white
            at += n_white
            if text[at : at + n] != part:
                if part[0] != " " or text[at : at + n - 1] != part[1:]:
                    return None
                spaces.append(n_split)
                n -= 1
            parts.append(part)
            at += n
            end = at
            n_split += len(part)
            n_white = _n_white(text, at) if "rstrip" in rules else 0
            taken += [n_split] * n_white
            at += n_white
        return ("".join(parts), spaces, taken) if at == len(text) else None

    def _parts(self, ids: list[int], specials: list[bool]) -> Iterator[tuple[str, bool]]:
        """Yields the text of each special token and of each stretch between them, and whether it is special."""
        start = 0
        for at in np.flatnonzero(specials).tolist():
            if at > start:
                yield self.tokenizer.decode(ids[start:at], "replace"), False
            yield self._special_of[ids[at]], True
            start = at + 1
        if start < len(ids):
            yield self.tokenizer.decode(ids[start:], "replace"), False

    def _words(self, ids: list[int], text: str, spans: Any, specials: list[bool]) -> list[int | None]:
        """Returns the index of each id's pretoken, counting each special token as one."""
        data = text.encode()
        ends: list[int] = []
        begin = 0
        for at in np.flatnonzero(specials).tolist():
            start, end = spans[at].tolist()
            literal = self._special_of[ids[at]]
            has_space = "after_space" in self.tokenizer.special_rules.get(literal, ())
            spelled = [" " + literal] * has_space + [literal] * (not has_space or start == 0)
            # The id can also come from an ordinary token (spelled with spaces for U+2581), so compare the text.
            if data[start:end].decode(errors="replace") in spelled:
                ends += self._pretoken_ends(data[begin:start], begin)
                ends.append(end)
                begin = end
        ends += self._pretoken_ends(data[begin:], begin)
        found = np.searchsorted(ends, spans[:, 0], side="right")
        # A separate prefix token has an empty span; it is a word if a special token that takes a space follows.
        found[1:] += bool(len(ids) > 1 and specials[1] and spans[0, 1] == 0)
        words: list[int | None] = found.tolist()
        return words

    def _pretoken_ends(self, data: bytes, begin: int) -> list[int]:
        if self.tokenizer.pattern == CHARACTERS and (patterns := self.model.words) is not None:
            pieces = pretokenize(data.decode(), tuple(patterns))
            found = zip(accumulate(map(len, pieces), initial=begin), pieces, strict=False)
            return [start + len(piece) for start, piece in found if piece.decode().strip(WHITE_SPACE)]
        if self.tokenizer.pattern == CHARACTERS:
            starts = re.finditer(rb" |\xe2\x96\x81", data) if self._splits_words else ()
            return [begin + each.start() for each in starts if each.start()] + [begin + len(data)] * bool(data)
        lengths = [len(pretoken) for pretoken in pretokenize(data.decode(), self.tokenizer.pattern)]
        ends: list[int] = (np.cumsum(lengths, dtype=np.int64) + begin).tolist()
        return ends


def checked_id(value: int) -> int:
    """Returns the id as an int; OverflowError if it is out of range, such as -100, as in the library."""
    if not 0 <= (found := operator.index(value)) < 1 << 32:
        raise OverflowError(f"an id must be from 0 to {(1 << 32) - 1}, not {shown(value)}")
    return found


def _n_white(text: str, at: int) -> int:
    """Returns how many characters of white space begin at `at`."""
    found = _WHITE_SPACE.match(text, at)
    return found.end() - at if found else 0
