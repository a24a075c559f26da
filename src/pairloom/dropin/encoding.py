"""A stand-in for tokenizers.Encoding (0.23): ids with tokens, offsets, words, masks and overflowing parts.

Tokens, offsets and words are computed on first access, so an Encoding used only for its ids costs no more than a list.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from pairloom._internal.arguments import check_choice

Span = tuple[int, int]

WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace() and not 0x1C <= code <= 0x1F)
"""Unicode's White_Space; Python's isspace also takes U+001C to U+001F."""

_DIRECTIONS = ("right", "left")
# The lists with an entry for each token.
_LISTS = ("_ids", "_type_ids", "_special_tokens_mask", "_attention_mask")


@dataclass(frozen=True, slots=True)
class Columns:
    """What is computed on first access: each id's token, its span of characters and the index of its word.

    problem: why offsets and words are not available, or "". If it is set, those two lists must not be used.
    """

    tokens: list[str]
    offsets: list[Span]
    words: list[int | None]
    problem: str = ""

    @classmethod
    def without_text(cls, tokens: list[str], problem: str = "") -> Columns:
        """Returns the columns of tokens that stand for no part of the text."""
        return cls(tokens, [(0, 0)] * len(tokens), [None] * len(tokens), problem)

    def __getitem__(self, part: slice) -> Columns:
        return Columns(self.tokens[part], self.offsets[part], self.words[part], self.problem)

    def __add__(self, other: Columns) -> Columns:
        problem = self.problem or other.problem
        return Columns(self.tokens + other.tokens, self.offsets + other.offsets, self.words + other.words, problem)


@dataclass(slots=True, eq=False, repr=False)
class Encoding:
    """A stand-in for tokenizers.Encoding with the library's attributes."""

    _ids: list[int]
    _type_ids: list[int]
    _special_tokens_mask: list[int]
    _attention_mask: list[int]
    columns: Callable[[], Columns]
    overflowing: list[Encoding] = field(default_factory=list)
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, ids: list[int], columns: Callable[[], Columns], type_id: int = 0, *, special: int = 0) -> Encoding:
        """Returns an encoding whose ids all have one type id and are either all special or all ordinary."""
        n = len(ids)
        return cls(ids, [type_id] * n, [special] * n, [1] * n, cache(columns))

    def __len__(self) -> int:
        return len(self._ids)

    def copy(self) -> Encoding:
        """Returns an independent copy: changes to it do not affect this encoding."""
        return replace(
            self,
            **self._lists(list),
            overflowing=[part.copy() for part in self.overflowing],
            ranges=dict(self.ranges),
        )

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return None, fields | {"columns": partial(replace, self.columns())}

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self._ids)}, attributes=[ids, type_ids, tokens, offsets, attention_mask,"
            " special_tokens_mask, overflowing])"
        )

    # As in the library, each access returns a new list, so that a caller can change it.

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return list(self._ids)

    @property
    def type_ids(self) -> list[int]:
        """For each id, 0 or 1: the text that it belongs to, or what a template says."""
        return list(self._type_ids)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each id that the post-processor or padding added."""
        return list(self._special_tokens_mask)

    @property
    def attention_mask(self) -> list[int]:
        """0 for each id of padding."""
        return list(self._attention_mask)

    @property
    def tokens(self) -> list[str]:
        """The tokens as the vocabulary spells them."""
        return list(self.columns().tokens)

    @property
    def offsets(self) -> list[Span]:
        """Each token's span of characters in its text. Raises ValueError if encoding changed the text."""
        return list(self._columns_or_raise().offsets)

    @property
    def word_ids(self) -> list[int | None]:
        """The index of each token's word (pretoken), None for added special or padding tokens. Raises as `offsets`."""
        return list(self._columns_or_raise().words)

    def _columns_or_raise(self) -> Columns:
        columns = self.columns()
        if columns.problem:
            raise ValueError(columns.problem)
        return columns

    words = word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The index of each token's text; None for added special or padding tokens."""
        found: list[int | None] = [None] * len(self._ids)
        for index in range(self.n_sequences):
            for at in self._range(index):
                found[at] = index
        return found

    @property
    def n_sequences(self) -> int:
        """The number of texts that were encoded together."""
        return max(len(self.ranges), 1)

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assigns all ids to this text. As in the library, other texts keep the ids assigned to them before."""
        self.ranges = {**self.ranges, _unsigned(sequence_id): (0, len(self._ids))}

    # From one kind of index to another ----------------------------------------------------------------------------

    def _range(self, sequence_index: int) -> range:
        return range(*self.ranges.get(_unsigned(sequence_index), (0, len(self._ids))))

    def _has_token(self, token_index: int) -> bool:
        return self.token_to_sequence(token_index) is not None and token_index < len(self._ids)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Returns the index of the text that a token belongs to."""
        if _unsigned(token_index) > len(self._ids):
            return None
        if not self.ranges:
            return 0
        return next((index for index, (start, end) in self.ranges.items() if start <= token_index < end), None)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Returns a word's tokens as (first, last + 1)."""
        words = self._columns_or_raise().words
        word_index = _unsigned(word_index)
        found = []
        for at in self._range(sequence_index):
            word = words[at]
            # As in the library: an overflowing part of a pair can hold words of both texts, each counted from 0.
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(at)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Returns a word's span of characters."""
        span = self.word_to_tokens(word_index, sequence_index)
        if span is None:
            return None
        offsets = self._columns_or_raise().offsets
        return offsets[span[0]][0], offsets[span[1] - 1][1]

    def token_to_chars(self, token_index: int) -> Span | None:
        """Returns a token's span of characters."""
        return self._columns_or_raise().offsets[token_index] if self._has_token(token_index) else None

    def token_to_word(self, token_index: int) -> int | None:
        """Returns the index of a token's word."""
        return self._columns_or_raise().words[token_index] if self._has_token(token_index) else None

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the first token that covers a character."""
        offsets = self._columns_or_raise().offsets
        char_pos = _unsigned(char_pos)
        return next((at for at in self._range(sequence_index) if offsets[at][0] <= char_pos < offsets[at][1]), None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the word that covers a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # Changes ------------------------------------------------------------------------------------------------------

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keeps `max_length` ids; the rest goes to `overflowing`. Each part repeats `stride` ids of the one before."""
        check_choice("direction", direction, _DIRECTIONS)
        n = len(self._ids)
        if _unsigned(max_length) >= n:
            return
        if max_length == 0:
            whole = self._part(0, n, dict(self.ranges), self.overflowing)
            self._replace_with(self._part(0, 0, {}, [whole]))
            return
        if stride >= max_length:
            raise ValueError(f"stride must be less than max_length={max_length} minus the special tokens")
        step = max_length - stride
        # The first part that reaches the end is the last one.
        spans = [(start, min(start + max_length, n)) for start in range(0, n - stride, step)]
        if direction == "left":
            spans = [(n - end, n - start) for start, end in spans]
        parts = [self._part(start, end, {}, []) for start, end in spans]
        parts[0].overflowing = parts[1:]
        self._replace_with(parts[0])

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pads this encoding and its overflowing parts to `length` ids with `pad_id`."""
        check_choice("direction", direction, _DIRECTIONS)
        for part in self.overflowing:
            part.pad(length, direction, pad_id, pad_type_id, pad_token)
        n = _unsigned(length) - len(self._ids)
        if n <= 0:
            return
        filling = Encoding(
            [pad_id] * n,
            [pad_type_id] * n,
            [1] * n,
            [0] * n,
            lambda: Columns.without_text([pad_token] * n),
        )
        ranges, overflowing = self.ranges, self.overflowing
        if direction == "left":
            ranges = {index: (start + n, end + n) for index, (start, end) in ranges.items()}
        ordered = [filling, self] if direction == "left" else [self, filling]
        self._replace_with(_concatenated(*ordered, growing_offsets=False))
        self.ranges, self.overflowing = ranges, overflowing

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Joins encodings; every overflowing part is combined with every part of the others."""
        merged = Encoding.of([], lambda: Columns.without_text([]))
        for encoding in encodings:
            merged = _with_overflow(merged, encoding, growing_offsets)
        return merged

    def _part(self, start: int, end: int, ranges: dict[int, Span], overflowing: list[Encoding]) -> Encoding:
        columns = self.columns
        lists = self._lists(lambda each: each[start:end])
        return Encoding(**lists, columns=lambda: columns()[start:end], overflowing=overflowing, ranges=ranges)

    def _lists(self, change: Callable[[list[int]], list[int]]) -> dict[str, Any]:
        return {name: change(getattr(self, name)) for name in _LISTS}

    def _replace_with(self, other: Encoding) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))


def _unsigned(number: int) -> int:
    """Returns `number` as an int; OverflowError if it is negative."""
    if (found := operator.index(number)) < 0:
        raise OverflowError(f"can't convert negative int {number} to unsigned")
    return found


def _concatenated(left: Encoding, right: Encoding, *, growing_offsets: bool) -> Encoding:
    """Joins two encodings, without their overflowing parts."""
    n = len(left._ids)
    first, second = left.columns, right.columns

    def columns() -> Columns:
        found, more = first(), second()
        if growing_offsets and found.offsets:
            by = found.offsets[-1][1]
            more = replace(more, offsets=[(start + by, end + by) for start, end in more.offsets])
        return found + more

    lists: dict[str, Any] = {name: getattr(left, name) + getattr(right, name) for name in _LISTS}
    ranges = {**left.ranges, **{index: (start + n, end + n) for index, (start, end) in right.ranges.items()}}
    return Encoding(**lists, columns=cache(columns), ranges=ranges)


def _with_overflow(left: Encoding, right: Encoding, growing_offsets: bool) -> Encoding:
    overflowing = []
    for each in left.overflowing:
        overflowing.append(_with_overflow(each, right, growing_offsets))
        overflowing += [_with_overflow(each, other, growing_offsets) for other in right.overflowing]
    alone = _concatenated(left, right, growing_offsets=growing_offsets)
    overflowing += [_with_overflow(left, other, growing_offsets) for other in right.overflowing]
    alone.overflowing = overflowing
    return alone
