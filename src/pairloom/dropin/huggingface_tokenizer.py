"""A stand-in for tokenizers.Tokenizer (0.23) for encoding and decoding, run by a Tokenizer.

Made by `Tokenizer.as_huggingface`; the library itself is not needed. Post-processors, truncation, padding, pairs, text
that is already split into words (is_pretokenized) and batches work as in the library. It lacks training, and parts as
objects (model, normalizer, pre_tokenizer, decoder); for those use `Tokenizer.to_huggingface`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pairloom._internal.arguments import check_choice, check_int, check_str, check_texts, shown
from pairloom._internal.atomic import write_file
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom._internal.warnings import warn
from pairloom.dropin.encoding import WHITE_SPACE, Columns, Encoding
from pairloom.errors import FormatError
from pairloom.formats.huggingface import texts_of, vocab_without_added, write
from pairloom.formats.shared.characters import splits_words
from pairloom.model import CHARACTERS, KEPT_TOKENIZER_JSON, config_of
from pairloom.offsets import char_spans, recognised
from pairloom.post_processing import PLAIN, PostProcessor, Special, post_processor_of
from pairloom.pretokens import pretokenize

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

T = TypeVar("T")
_NO_TEXT = Columns([], [], [])
_SPACES = WHITE_SPACE + to_alphabet(b" ")
_COMPARABLE_STEPS = {"nfc", "nfd", "nfkc", "nfkd", "lowercase", "prefix_space"}
"""The normalizer steps that `_as_spelled` can allow: it compares each character to see if they changed a text."""
_WHITE_SPACE = re.compile(f"[{WHITE_SPACE}]*")
_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_DIRECTIONS = {"Right": "right", "Left": "left"}
"""The names of a tokenizer.json, and those of `enable_truncation` and `enable_padding`."""


class HuggingFaceTokenizer:
    """A stand-in for tokenizers.Tokenizer that encodes and decodes by a pairloom Tokenizer.

    It takes no more tokens: `Tokenizer.add_special_tokens` returns a tokenizer that has them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encode_special_tokens = False
        self._truncation, self._padding = _kept_settings(tokenizer)
        self._init_from_tokenizer(tokenizer)

    def _init_from_tokenizer(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # The tokenizer for encode_special_tokens, made when it is first needed; copies of this object share it.
        self._splitting: list[Tokenizer] = []
        self._text_of = texts_of(tokenizer.model)
        self._vocab = {text: token_id for token_id, text in self._text_of.items()}
        # An added token that the normalizer changes is spelled as changed by the library, and decoded even if special.
        written = {"after_space": "\u2581{}".format, "any_case": str.lower}
        normalized = {
            tokenizer.special_tokens[literal]: written[rule](literal)
            for literal, rule in tokenizer.model.special_rules
            if rule in written
        }
        self._normalized = {token_id: text for token_id, text in normalized.items() if text != self._text_of[token_id]}
        plain = {tokenizer.special_tokens[literal] for literal in tokenizer.model.plain_specials}
        skipped = {*tokenizer.special_tokens.values()} - plain - self._normalized.keys()
        self._unskipped = self._text_of.keys() - skipped
        self._splits_words = splits_words(tokenizer.model)
        self._special_of = {token_id: text for text, token_id in tokenizer.special_tokens.items()}
        self._post_processor: PostProcessor = post_processor_of(tokenizer.post_processor)

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("_truncation", "_padding", "encode_special_tokens")
        return HuggingFaceTokenizer, (self._tokenizer,), {name: getattr(self, name) for name in names}

    def __copy__(self) -> HuggingFaceTokenizer:
        """Copies the settings and shares the vocabulary's tables: cheap enough to do for each small batch."""
        made = HuggingFaceTokenizer.__new__(HuggingFaceTokenizer)
        made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return f"HuggingFaceTokenizer({self._tokenizer!r})"

    # Truncation and padding ---------------------------------------------------------------------------------------

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The arguments of enable_truncation; None if truncation is off."""
        return None if self._truncation is None else dict(self._truncation)

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Truncates each encoding to `max_length` ids, special tokens included.

        As in the library, nothing is cut if the special tokens alone are more than that.
        """
        check_choice("strategy", strategy, _STRATEGIES.values())
        check_choice("direction", direction, ("right", "left"))
        max_length = check_int("max_length", operator.index(max_length), least=0)
        stride = check_int("stride", operator.index(stride), least=0)
        room = max_length - self._post_processor.n_added(False)
        # A stride equal to the room is refused only when a text is cut, as in the library.
        if 0 <= room < stride:
            raise ValueError(f"stride is {stride}, but must be less than max_length minus the special tokens ({room})")
        self._truncation = {
            "max_length": max_length,
            "stride": stride,
            "strategy": strategy,
            "direction": direction,
        }

    def no_truncation(self) -> None:
        """Turns truncation off."""
        self._truncation = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The arguments of enable_padding; None if padding is off."""
        return None if self._padding is None else dict(self._padding)

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pads each encoding to `length` ids, by default to the longest of its batch."""
        check_choice("direction", direction, ("right", "left"))
        numbers = {"length": length, "pad_to_multiple_of": pad_to_multiple_of}
        self._padding = {
            **{name: n and check_int(name, operator.index(n), least=0) for name, n in numbers.items()},
            "pad_id": check_int("pad_id", operator.index(pad_id), least=0, most=(1 << 32) - 1),
            "pad_token": check_str("pad_token", pad_token),
            "pad_type_id": check_int("pad_type_id", operator.index(pad_type_id), least=0, most=(1 << 32) - 1),
            "direction": direction,
        }

    def no_padding(self) -> None:
        """Turns padding off."""
        self._padding = None

    # Encoding -----------------------------------------------------------------------------------------------------

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encodes a text, or a pair of texts. With is_pretokenized, a text is a list of words."""
        first = self._encode_input(sequence, is_pretokenized)
        second = None if pair is None else self._encode_input(pair, is_pretokenized, type_id=1)
        return self._padded([self.post_process(first, second, add_special_tokens, _pad=False)])[0]

    def encode_batch(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encodes each text, pair of texts, or list of words."""
        return self._encode_inputs(input, is_pretokenized, add_special_tokens, fast=False)

    def encode_batch_fast(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Like `encode_batch`, but tokens, offsets and words are "", (0, 0) and None, as in the library."""
        return self._encode_inputs(input, is_pretokenized, add_special_tokens, fast=True)

    def _encode_inputs(self, input: Iterable[Any], is_pretokenized: bool, add: bool, fast: bool) -> list[Encoding]:
        check_texts("input", input)
        inputs = list(input)
        if not is_pretokenized and all(isinstance(each, str) for each in inputs):
            ids = self._encoder().encode_batch(inputs)
            pairs: list[tuple[Encoding, Encoding | None]] = [
                (self._encoding_of_ids(each, text), None) for each, text in zip(ids, inputs, strict=True)
            ]
        else:
            # Without offsets, the library gives both texts of a pair type 0, until a post-processor sets it.
            pairs = [self._encode_pair(each, is_pretokenized, 0 if fast else 1) for each in inputs]
        return self._post_process_all(pairs, add, fast)

    def _post_process_all(self, pairs: list[tuple[Encoding, Encoding | None]], add: bool, fast: bool) -> list[Encoding]:
        if fast:
            for encoding in (each for both in pairs for each in both if each is not None):
                _without_offsets(encoding)
        return self._padded([self.post_process(first, second, add, _pad=False) for first, second in pairs])

    def ids_around_text(self) -> tuple[list[int], list[int]] | None:
        """Returns the ids put before and after a text; None if the text occurs twice or a type id is not 0."""
        # -1 stands for the text.
        ids = self._post_processor.surrounded([-1])
        if ids.count(-1) != 1 or any(piece.type_id for piece in self._post_processor.single):
            return None
        return ids[: ids.index(-1)], ids[ids.index(-1) + 1 :]

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True, *, _pad: bool = True
    ) -> Encoding:
        """Truncates, adds special tokens and pads, as configured. The arguments stay unchanged."""
        if _pad:
            encoding, pair = encoding.copy(), None if pair is None else pair.copy()
        post = self._post_processor
        is_plain = self._post_processor is PLAIN
        if self._truncation is not None:
            n_added = post.n_added(pair is not None) if add_special_tokens else 0
            limit = self._truncation["max_length"] - n_added
            # The library treats a limit below 0 as huge, so it cuts nothing.
            if limit >= 0:
                _truncate(encoding, pair, self._truncation, limit)
        texts = [encoding] if pair is None else [encoding, pair]
        for index, text in enumerate(texts):
            if not is_plain:
                text._type_ids = [index] * len(text)
            for each in (text, *text.overflowing):
                # Without a post-processor, the library sets no sequence for a single text or for overflowing parts.
                if not is_plain or (pair is not None and each is text):
                    each.ranges = {index: (0, len(each))}
                for keep_first_space in post.trims:
                    each.columns = partial(_trimmed, each.columns, keep_first_space)
        parts: list[Encoding] = []
        for piece in post.single if pair is None else post.pair:
            if not isinstance(piece, Special):
                text = texts[piece.index]
                if any(text is part for part in parts):
                    # A template can name a text twice, each time with another type.
                    text = text.copy()
                retyped = text.overflowing if post.types_overflowing and add_special_tokens else []
                for each in (text, *retyped) if not is_plain else ():
                    each._type_ids = [piece.type_id] * len(each)
                parts.append(text)
            elif add_special_tokens:
                parts.append(_encoding_of_special(piece))
        merged = parts[0] if len(parts) == 1 else Encoding.merge(parts, growing_offsets=False)
        return self._padded([merged])[0] if _pad else merged

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns how many special tokens the post-processor adds to one text, or to a pair."""
        return self._post_processor.n_added(is_pair)

    def _encoder(self) -> Tokenizer:
        """Returns the tokenizer to encode with: encode_special_tokens=True leaves added tokens marked special as text.

        Like the library, it still finds them: an ordinary added token that overlaps one in a text is not recognised.
        """
        if not self.encode_special_tokens:
            return self._tokenizer
        if not self._splitting:
            model = self._tokenizer.model
            ordinary = {(literal, "ordinary") for literal in model.special_tokens.keys() - model.plain_specials}
            rules = sorted(ordinary.union(model.special_rules))
            self._splitting.append(self._tokenizer.from_model(model.replaced(special_rules=rules)))
        return self._splitting[0]

    def _encode_pair(self, given: Any, is_pretokenized: bool, type_id: int) -> tuple[Encoding, Encoding | None]:
        is_words = isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)
        if isinstance(given, (list, tuple)) and len(given) == 2 and not (is_pretokenized and is_words):
            first = self._encode_input(given[0], is_pretokenized)
            return first, self._encode_input(given[1], is_pretokenized, type_id=type_id)
        return self._encode_input(given, is_pretokenized), None

    def _encode_input(self, given: Any, is_pretokenized: bool, *, type_id: int = 0) -> Encoding:
        if not is_pretokenized:
            ids = self._encoder().encode(check_str("a text", given))
            return self._encoding_of_ids(ids, given, type_id)
        if not isinstance(given, (list, tuple, np.ndarray)) or not all(isinstance(word, str) for word in given):
            raise TypeError("with is_pretokenized=True, a text must be a list of words (str)")
        words = []
        for index, word in enumerate(given):
            encoding = self._encode_input(word, False, type_id=type_id)
            encoding.columns = partial(_in_one_word, encoding.columns, index)
            words.append(encoding)
        return Encoding.merge(words, growing_offsets=False)

    def _encoding_of_ids(self, ids: list[int], text: str, type_id: int = 0) -> Encoding:
        return Encoding.of(ids, lambda: self._columns(ids, text), type_id)

    def _columns(self, ids: list[int], text: str) -> Columns:
        if not ids:
            return _NO_TEXT
        tokens = [self._text_of[token_id] for token_id in ids]
        specials = recognised(self._encoder(), text, ids).tolist()
        for at in np.flatnonzero(specials).tolist() if self._normalized else ():
            tokens[at] = self._normalized.get(ids[at], tokens[at])
        spelled = self._as_spelled(ids, text, specials)
        split, spaces, taken = spelled or (text, [], [])
        try:
            spans = self._tokenizer._token_spans().byte_spans_of(split, ids, spelled is not None)
        except ValueError as error:
            if self._tokenizer.model.strips:
                # lstrip and rstrip tokens are spelled with the white space they absorb, so tokens are unknown too.
                raise
            return Columns(tokens, [(0, 0)] * len(ids), [None] * len(ids), str(error))
        characters = char_spans(split, spans).copy()
        if spaces or taken:
            # An added space gets the span of the character after it.
            starts, ends = characters.T
            lasts = ends - 1
            starts = starts - np.searchsorted(spaces, starts) + np.searchsorted(taken, starts, "right")
            ends = lasts - np.searchsorted(spaces, lasts) + 1 + np.searchsorted(taken, ends, "right")
            characters = np.stack([starts, ends], axis=1)
        if self._tokenizer.model.words is not None:
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
            if rules := self._tokenizer.special_rules.get(self._special_of[ids[at]]):
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
        model = self._tokenizer.model
        strips, steps = model.strips and model.pattern != CHARACTERS, model.normalizer_names
        if not ("prefix_space" in steps or strips) or not _COMPARABLE_STEPS.issuperset(steps):
            return None
        parts: list[str] = []
        spaces: list[int] = []
        taken: list[int] = []
        at = n_split = end = 0
        for part, is_special in self._parts(ids, specials):
            rules = self._tokenizer.special_rules.get(part, ()) if is_special else ()
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
                yield self._tokenizer.decode(ids[start:at], "replace"), False
            yield self._special_of[ids[at]], True
            start = at + 1
        if start < len(ids):
            yield self._tokenizer.decode(ids[start:], "replace"), False

    def _words(self, ids: list[int], text: str, spans: Any, specials: list[bool]) -> list[int | None]:
        """Returns the index of each id's pretoken, counting each special token as one."""
        data = text.encode()
        ends: list[int] = []
        begin = 0
        for at in np.flatnonzero(specials).tolist():
            start, end = spans[at].tolist()
            literal = self._special_of[ids[at]]
            has_space = "after_space" in self._tokenizer.special_rules.get(literal, ())
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
        if self._tokenizer.pattern == CHARACTERS and (patterns := self._tokenizer.model.words) is not None:
            pieces = pretokenize(data.decode(), tuple(patterns))
            found = zip(accumulate(map(len, pieces), initial=begin), pieces, strict=False)
            return [start + len(piece) for start, piece in found if piece.decode().strip(WHITE_SPACE)]
        if self._tokenizer.pattern == CHARACTERS:
            starts = re.finditer(rb" |\xe2\x96\x81", data) if self._splits_words else ()
            return [begin + each.start() for each in starts if each.start()] + [begin + len(data)] * bool(data)
        lengths = [len(pretoken) for pretoken in pretokenize(data.decode(), self._tokenizer.pattern)]
        ends: list[int] = (np.cumsum(lengths, dtype=np.int64) + begin).tolist()
        return ends

    def _padded(self, encodings: list[Encoding]) -> list[Encoding]:
        padding = self._padding
        if padding is None or not encodings:
            return encodings
        length = padding["length"]
        if length is None:
            length = max(len(encoding) for encoding in encodings)
        if multiple := padding["pad_to_multiple_of"]:
            length += -length % multiple
        for encoding in encodings:
            encoding.pad(length, padding["direction"], padding["pad_id"], padding["pad_type_id"], padding["pad_token"])
        return encodings

    # Decoding -----------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Returns the text of ids. Omits unknown ids, and special tokens unless skip_special_tokens is False."""
        given, decoded = list(ids), self._unskipped if skip_special_tokens else self._text_of
        known = [token_id for token_id in given if token_id in decoded]
        if len(known) < len(given):
            known = [token_id for token_id in map(checked_id, given) if token_id in decoded]
        return self._tokenizer.decode(known, self._tokenizer.model.usual_errors)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Returns the text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # In another thread, for an event loop -------------------------------------------------------------------------

    async def async_encode(self, *args: Any, **options: Any) -> Encoding:
        """Runs `encode` in another thread."""
        return await _in_thread(self.encode, *args, **options)

    async def async_encode_batch(self, *args: Any, **options: Any) -> list[Encoding]:
        """Runs `encode_batch` in another thread."""
        return await _in_thread(self.encode_batch, *args, **options)

    async def async_encode_batch_fast(self, *args: Any, **options: Any) -> list[Encoding]:
        """Runs `encode_batch_fast` in another thread."""
        return await _in_thread(self.encode_batch_fast, *args, **options)

    async def async_decode_batch(self, *args: Any, **options: Any) -> list[str]:
        """Runs `decode_batch` in another thread."""
        return await _in_thread(self.decode_batch, *args, **options)

    # What it is ---------------------------------------------------------------------------------------------------

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns token -> id; with_added_tokens=False: only the tokens that a saved file lists in its vocabulary."""
        return dict(self._vocab) if with_added_tokens else vocab_without_added(self._tokenizer.model)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Returns the number of tokens."""
        return len(self._vocab if with_added_tokens else self.get_vocab(False))

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token, given as the vocabulary spells it; None if there is no such token."""
        return self._vocab.get(check_str("token", token))

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id; None if there is no such id."""
        return self._normalized.get(checked_id(id)) or self._text_of.get(id)

    def to_str(self, pretty: bool = False) -> str:
        """Returns the tokenizer.json, with truncation and padding as loaded. FormatError if no file is exact."""
        if (self._truncation, self._padding) != _kept_settings(self._tokenizer):
            warn("changed truncation and padding are not saved; enable them again after loading")
        return write(self._tokenizer.model, indent=2 if pretty else None).decode()

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes the tokenizer.json. Overwrites an existing file, as the library does."""
        write_file(Path(path), self.to_str(pretty).encode(), True)


async def _in_thread(method: Callable[..., T], *args: Any, **options: Any) -> T:
    # Imported here because it is slow to import.
    import asyncio

    return await asyncio.to_thread(method, *args, **options)


def _kept_settings(tokenizer: Tokenizer) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    try:
        return truncation_and_padding(config_of(tokenizer.model).get(KEPT_TOKENIZER_JSON, {}))
    except (KeyError, TypeError) as error:
        raise FormatError(f"the tokenizer.json's truncation or padding is damaged: {shown(error.args[0])}") from None


def truncation_and_padding(file: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Returns both settings of a tokenizer.json as the arguments that enable them; None for what it lacks."""
    if truncation := file.get("truncation"):
        # Old files have no direction.
        direction, strategy = truncation.get("direction", "Right"), truncation["strategy"]
        numbers = {name: operator.index(truncation[name]) for name in ("max_length", "stride")}
        truncation = {**numbers, "direction": _DIRECTIONS[direction], "strategy": _STRATEGIES[strategy]}
    if padding := file.get("padding"):
        strategy, multiple = padding["strategy"], padding.get("pad_to_multiple_of")
        padding = {
            **{name: operator.index(padding[name]) for name in ("pad_id", "pad_type_id")},
            "pad_token": check_str("pad_token", padding["pad_token"]),
            "direction": _DIRECTIONS[padding["direction"]],
            "length": None if strategy == "BatchLongest" else operator.index(strategy["Fixed"]),
            "pad_to_multiple_of": multiple and operator.index(multiple),
        }
    return truncation, padding


def checked_id(value: int) -> int:
    """Returns the id as an int; OverflowError if it is out of range, such as -100, as in the library."""
    if not 0 <= (found := operator.index(value)) < 1 << 32:
        raise OverflowError(f"an id must be from 0 to {(1 << 32) - 1}, not {shown(value)}")
    return found


def _n_white(text: str, at: int) -> int:
    """Returns how many characters of white space begin at `at`."""
    found = _WHITE_SPACE.match(text, at)
    return found.end() - at if found else 0


def _encoding_of_special(piece: Special) -> Encoding:
    n = len(piece.ids)
    return Encoding.of(
        list(piece.ids),
        lambda: Columns(list(piece.tokens), [(0, 0)] * n, [None] * n),
        piece.type_id,
        special=1,
    )


def _in_one_word(columns: Callable[[], Columns], index: int) -> Columns:
    """Returns columns in which all tokens belong to word `index` of an is_pretokenized text."""
    found = columns()
    return replace(found, words=[index] * len(found.tokens))


def _without_offsets(encoding: Encoding) -> None:
    """Blanks tokens, offsets and words, as encode_batch_fast does."""
    n = len(encoding)
    encoding.columns = lambda: Columns([""] * n, [(0, 0)] * n, [None] * n)


def _trimmed(columns: Callable[[], Columns], keep_first_space: bool) -> Columns:
    """Returns columns without the leading and trailing spaces of tokens in their offsets."""
    found, offsets = columns(), []
    for at, (token, (start, end)) in enumerate(zip(found.tokens, found.offsets, strict=True)):
        n_leading = len(token) - len(token.lstrip(_SPACES))
        n_trailing = len(token) - len(token.rstrip(_SPACES))
        if n_leading:
            # Of several spaces, the library takes the first for a part of the text, not for an added prefix.
            if keep_first_space and n_leading == 1 and (at == 0 or start == 0):
                n_leading = 0
            start = min(start + n_leading, end)
        if n_trailing and end >= n_trailing:
            end = max(end - n_trailing, start)
        offsets.append((start, end))
    return replace(found, offsets=offsets)


def _truncate(first: Encoding, second: Encoding | None, truncation: dict[str, Any], limit: int) -> None:
    """Truncates one encoding, or a pair, to `limit` ids in total."""
    cut = {"stride": truncation["stride"], "direction": truncation["direction"]}
    if limit == 0:
        for each in (first, second):
            if each is not None:
                each.truncate(0, **cut)
        return
    n_first, n_second = len(first), len(second) if second is not None else 0
    n_removed = n_first + n_second - limit
    if n_removed <= 0:
        return
    strategy = truncation["strategy"]
    if strategy == "longest_first":
        shorter, longer = sorted((n_first, n_second))
        longer = shorter if shorter > limit else max(shorter, limit - shorter)
        if shorter + longer > limit:
            shorter = limit // 2
            longer = shorter + limit % 2
        kept = (longer, shorter) if n_first > n_second else (shorter, longer)
        for each, n_kept in zip((first, second), kept, strict=True):
            if each is not None:
                each.truncate(n_kept, **cut)
        return
    target = first if strategy == "only_first" else second
    if target is None:
        raise ValueError("Truncation error: Second sequence not provided")
    if len(target) <= n_removed:
        raise ValueError("Truncation error: Sequence to truncate too short to respect the provided max_length")
    target.truncate(len(target) - n_removed, **cut)
