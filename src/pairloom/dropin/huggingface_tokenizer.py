"""A stand-in for tokenizers.Tokenizer (0.23) for encoding and decoding, run by a Tokenizer.

Made by `Tokenizer.as_huggingface`; the library itself is not needed. Post-processors, truncation, padding, pairs, text
that is already split into words (is_pretokenized) and batches work as in the library. It lacks training, and parts as
objects (model, normalizer, pre_tokenizer, decoder); for those use `Tokenizer.to_huggingface`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairloom._internal.arguments import check_choice, check_int, check_str, check_texts, shown
from pairloom._internal.atomic import write_file
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom._internal.warnings import warn
from pairloom.dropin.encoding import WHITE_SPACE, Columns, Encoding
from pairloom.dropin.loaded_tokenizer import LoadedTokenizer, checked_id
from pairloom.errors import FormatError
from pairloom.formats.huggingface import vocab_without_added, write
from pairloom.model import KEPT_TOKENIZER_JSON, Model, config_of
from pairloom.post_processing import PLAIN, PostProcessor, Special

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

_SPACES = WHITE_SPACE + to_alphabet(b" ")
_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_DIRECTIONS = {"Right": "right", "Left": "left"}
"""The names of a tokenizer.json, and those of `enable_truncation` and `enable_padding`."""


def _in_thread(name: str) -> Callable[..., Any]:
    """Returns the async method that runs method `name` in another thread."""

    async def run(self: Any, *args: Any, **options: Any) -> Any:
        # Imported here because it is slow to import.
        import asyncio

        return await asyncio.to_thread(getattr(self, name), *args, **options)

    return run


class HuggingFaceTokenizer:
    """A stand-in for tokenizers.Tokenizer that encodes and decodes by a pairloom Tokenizer.

    It takes no more tokens: `Tokenizer.add_special_tokens` returns a tokenizer that has them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encode_special_tokens = False
        self._truncation, self._padding = _kept_settings(tokenizer.model)
        self._loaded = LoadedTokenizer(tokenizer)

    @property
    def _post_processor(self) -> PostProcessor:
        return self._loaded.post_processor

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("_truncation", "_padding", "encode_special_tokens")
        return HuggingFaceTokenizer, (self._loaded.tokenizer,), {name: getattr(self, name) for name in names}

    def __copy__(self) -> HuggingFaceTokenizer:
        """Copies the settings and shares the vocabulary's tables: cheap enough to do for each small batch."""
        made = HuggingFaceTokenizer.__new__(HuggingFaceTokenizer)
        made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return f"HuggingFaceTokenizer({self._loaded.tokenizer!r})"

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
            pairs: list[tuple[Encoding, Encoding | None]] = [(each, None) for each in self._encode_texts(inputs)]
        else:
            # Without offsets, the library gives both texts of a pair type 0, until a post-processor sets it.
            pairs = [self._encode_pair(each, is_pretokenized, 0 if fast else 1) for each in inputs]
        if fast:
            for encoding in (each for both in pairs for each in both if each is not None):
                encoding.columns = partial(Columns.without_text, [""] * len(encoding))
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
        is_plain = post is PLAIN
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
                columns = partial(Columns.without_text, list(piece.tokens))
                parts.append(Encoding.of(list(piece.ids), columns, piece.type_id, special=1))
        merged = parts[0] if len(parts) == 1 else Encoding.merge(parts, growing_offsets=False)
        return self._padded([merged])[0] if _pad else merged

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns how many special tokens the post-processor adds to one text, or to a pair."""
        return self._post_processor.n_added(is_pair)

    def encoder(self) -> Tokenizer:
        """Returns the tokenizer that encodes texts under the present settings."""
        return self._loaded.encoder(self.encode_special_tokens)

    def _encode_texts(self, texts: list[str], type_id: int = 0) -> list[Encoding]:
        loaded, as_text = self._loaded, self.encode_special_tokens
        return [
            Encoding.of(ids, partial(loaded.columns, ids, text, as_text), type_id)
            for ids, text in zip(loaded.encode(texts, as_text), texts, strict=True)
        ]

    def _encode_pair(self, given: Any, is_pretokenized: bool, type_id: int) -> tuple[Encoding, Encoding | None]:
        is_words = isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given)
        if isinstance(given, (list, tuple)) and len(given) == 2 and not (is_pretokenized and is_words):
            first = self._encode_input(given[0], is_pretokenized)
            return first, self._encode_input(given[1], is_pretokenized, type_id=type_id)
        return self._encode_input(given, is_pretokenized), None

    def _encode_input(self, given: Any, is_pretokenized: bool, *, type_id: int = 0) -> Encoding:
        if not is_pretokenized:
            return self._encode_texts([check_str("a text", given)], type_id)[0]
        if not isinstance(given, (list, tuple, np.ndarray)) or not all(isinstance(word, str) for word in given):
            raise TypeError("with is_pretokenized=True, a text must be a list of words (str)")
        words = []
        for index, word in enumerate(given):
            encoding = self._encode_input(word, False, type_id=type_id)
            encoding.columns = partial(_in_one_word, encoding.columns, index)
            words.append(encoding)
        return Encoding.merge(words, growing_offsets=False)

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
        return self._loaded.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Returns the text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # In another thread, for an event loop -------------------------------------------------------------------------

    async_encode = _in_thread("encode")
    async_encode_batch = _in_thread("encode_batch")
    async_encode_batch_fast = _in_thread("encode_batch_fast")
    async_decode_batch = _in_thread("decode_batch")

    # What it is ---------------------------------------------------------------------------------------------------

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns token -> id; with_added_tokens=False: only the tokens that a saved file lists in its vocabulary."""
        return dict(self._loaded.vocab) if with_added_tokens else vocab_without_added(self._loaded.model)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Returns the number of tokens."""
        return len(self._loaded.vocab if with_added_tokens else self.get_vocab(False))

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token, given as the vocabulary spells it; None if there is no such token."""
        return self._loaded.vocab.get(check_str("token", token))

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id; None if there is no such id."""
        return self._loaded.normalized.get(checked_id(id)) or self._loaded.text_of.get(id)

    def to_str(self, pretty: bool = False) -> str:
        """Returns the tokenizer.json, with truncation and padding as loaded. FormatError if no file is exact."""
        if (self._truncation, self._padding) != _kept_settings(self._loaded.model):
            warn("changed truncation and padding are not saved; enable them again after loading")
        return write(self._loaded.model, indent=2 if pretty else None).decode()

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes the tokenizer.json. Overwrites an existing file, as the library does."""
        write_file(Path(path), self.to_str(pretty).encode(), True)


def _kept_settings(model: Model) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    try:
        return truncation_and_padding(config_of(model).get(KEPT_TOKENIZER_JSON, {}))
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


def _in_one_word(columns: Callable[[], Columns], index: int) -> Columns:
    """Returns columns in which all tokens belong to word `index` of an is_pretokenized text."""
    found = columns()
    return replace(found, words=[index] * len(found.tokens))


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
