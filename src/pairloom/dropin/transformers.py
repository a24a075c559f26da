"""Makes a tokenizer of transformers (5) encode and decode with pairloom.

`fast(tokenizer)` returns an instance of a subclass of the tokenizer's own class, so transformers, datasets, data
collators and servers accept it. Chat templates, padding, `pad`, `save_pretrained` and settings stay transformers' own.
Its `_tokenizer`, a tokenizers.Tokenizer, is replaced by `_Backend`, which encodes and decodes with pairloom and leaves
everything else to the original. Batches of plain texts skip the object that transformers makes for each text.
"""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import pairloom
from pairloom._internal.arguments import shown
from pairloom._internal.optional_deps import import_optional
from pairloom.dropin.encoding import Encoding
from pairloom.dropin.huggingface_tokenizer import HuggingFaceTokenizer
from pairloom.errors import FormatError
from pairloom.formats.huggingface import undeclared_specials

if TYPE_CHECKING:
    import numpy.typing as npt

# Arguments of transformers' `_encode_plus` that the fast path for plain batches takes, with their defaults.
_DEFAULTS = {
    "add_special_tokens": True,
    "padding_strategy": None,
    "truncation_strategy": None,
    "max_length": None,
    "pad_to_multiple_of": None,
    "padding_side": None,
    "return_tensors": None,
    "return_token_type_ids": None,
    "return_attention_mask": None,
    "verbose": True,
    "split_special_tokens": None,
}
# If any of these is set, transformers' own method runs, which makes an object for each text.
_OPTIONS_NEEDING_ORIGINAL = {
    "stride",
    "is_split_into_words",
    "return_overflowing_tokens",
    "return_special_tokens_mask",
    "return_offsets_mapping",
    "return_length",
}

# Methods of a tokenizers.Tokenizer that pairloom runs, and methods that are called on both.
_STAND_IN_METHODS = ("encode", "encode_batch", "decode")
_METHODS_CALLED_ON_BOTH = ("enable_truncation", "no_truncation", "enable_padding", "no_padding")
# After these, a new stand-in is needed; making it refuses tokens that pairloom cannot find or number like the library.
_METHODS_ADDING_TOKENS = ("add_tokens", "add_special_tokens")
_SETTINGS = ("truncation", "padding", "encode_special_tokens")
# Its parts, which can be changed in place: the settings of the model too, but not its vocabulary.
_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MODEL_SETTINGS = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


def fast(tokenizer: Any, **settings: Any) -> Any:
    """Returns a transformers tokenizer that runs on pairloom.

    tokenizer: a loaded transformers tokenizer, a folder or file to load, or a pairloom Tokenizer. settings: arguments
    of AutoTokenizer.from_pretrained, for a folder or a Tokenizer. Raises FormatError for a tokenizer that is not BPE or
    that pairloom cannot run exactly; TypeError for one that has no tokenizer.json.
    """
    transformers = import_optional("transformers", "pairloom.dropin.transformers")
    if isinstance(tokenizer, pairloom.Tokenizer):
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            theirs = transformers.AutoTokenizer.from_pretrained(folder, **settings)
    elif isinstance(tokenizer, (str, os.PathLike)):
        theirs = transformers.AutoTokenizer.from_pretrained(tokenizer, **settings)
    elif settings:
        raise TypeError(
            f"{next(iter(settings))}= applies only to a folder; set it on the {type(tokenizer).__name__} itself"
        )
    else:
        theirs = tokenizer
    if isinstance(theirs, _Fast):
        return theirs
    if not isinstance(theirs, transformers.PreTrainedTokenizerFast):
        raise TypeError(
            f"an object of type {type(theirs).__name__} has no tokenizer.json; pass a fast tokenizer of transformers"
        )
    backend = _Backend(theirs._tokenizer)
    # Check the original: copying goes through its file, which can renumber tokens.
    backend.current_stand_in()
    found = copy.deepcopy(theirs)
    # A copy also forgets that these tokens were once added as special.
    for added in undeclared_specials(theirs._tokenizer).values():
        found._tokenizer.add_special_tokens([added.content])
        found._tokenizer.add_tokens([added])
    if "decode" in vars(theirs._tokenizer):
        # CLIPTokenizer puts a method of its own into its backend; a copy has none.
        found._wrap_decode_method_backend_tokenizer()
    backend.__dict__["original"] = found._tokenizer
    found._tokenizer = backend
    _let_streams_take_backends()
    # Keep the class name, which save_pretrained writes into tokenizer_config.json.
    found.__class__ = type(type(theirs).__name__, (_Fast, type(theirs)), {"__module__": type(theirs).__module__})
    return found


def _let_streams_take_backends() -> None:
    """Puts a class in the place of tokenizers.decoders.DecodeStream whose `step` also takes a `_Backend`.

    The library's takes only its own Tokenizer, of which there can be no subclass. vLLM and `transformers serve` pass
    it the `_tokenizer` of a tokenizer; vLLM logs the TypeError, and its answers are empty.
    """
    decoders = import_optional("tokenizers.decoders", "pairloom.dropin.transformers")
    theirs = decoders.DecodeStream
    if getattr(theirs, "takes_backends", False):
        return

    class DecodeStream:
        takes_backends = True

        def __init__(self, ids: list[int] | None = None, skip_special_tokens: bool = False) -> None:
            self._stream = theirs(ids, skip_special_tokens)

        def step(self, tokenizer: Any, id: int | list[int]) -> str | None:
            plain = tokenizer.original if isinstance(tokenizer, _Backend) else tokenizer
            found: str | None = self._stream.step(plain, id)
            return found

    decoders.DecodeStream = DecodeStream


class _Backend:
    """Wraps a tokenizers.Tokenizer, `original`; encodes and decodes with pairloom."""

    def __init__(self, original: Any) -> None:
        # made: the stand-in, None if outdated. gave_parts: whether a caller has parts of the original, and may change
        # them. parts: what `made` was made of. decodes: whether `made` decodes each token as the original does.
        self.__dict__.update(original=original, made=None, gave_parts=False, parts=None, decodes=False)

    def current_stand_in(self) -> HuggingFaceTokenizer:
        """Returns the stand-in for the original in its current state."""
        if self.gave_parts and self.parts != _state_of_parts(self.original):
            self.__dict__["made"] = None
        if self.made is None:
            parts = _state_of_parts(self.original)
            settings = json.loads(self.original.to_str())
            settings.update(truncation=None, padding=None)
            special = undeclared_specials(self.original)
            for entry in settings["added_tokens"]:
                entry["special"] |= entry["id"] in special
            plain = type(self.original).from_str(json.dumps(settings))
            ids = {added.content: i for i, added in plain.get_added_tokens_decoder().items()}
            for token_id, added in self.original.get_added_tokens_decoder().items():
                if ids.get(added.content) != token_id:
                    raise FormatError(
                        f"added token {shown(added.content)} has id {token_id}, but {ids.get(added.content)} once "
                        "this tokenizer is saved and loaded again by the library tokenizers: some ids below it have "
                        "no token"
                    )
            made = pairloom.Tokenizer.from_huggingface(plain, missing_bytes="raise").as_huggingface()
            # A decoder can spell some tokens otherwise than pairloom: added ones with \u2581, the "</w>" of CLIP.
            every = list(made._loaded.text_of)
            decodes = all(made.decode(every, skip) == self.original.decode(every, skip) for skip in (False, True))
            made.encode_special_tokens = self.original.encode_special_tokens
            if self.original.truncation is not None:
                made.enable_truncation(**self.original.truncation)
            if self.original.padding is not None:
                made.enable_padding(**self.original.padding)
            self.__dict__.update(made=made, parts=parts, decodes=decodes)
        found: HuggingFaceTokenizer = self.made
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _METHODS_CALLED_ON_BOTH:
            return partial(self._set_on_both, name)
        if name == "model" or name in _PARTS:
            self.__dict__["gave_parts"] = True
        if name in _METHODS_ADDING_TOKENS:
            self.__dict__["made"] = None
        if name not in _STAND_IN_METHODS:
            return getattr(self.original, name)
        stand_in = self.current_stand_in()
        return getattr(stand_in if name != "decode" or self.decodes else self.original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.original, name, value)
        if name == "encode_special_tokens":
            self.current_stand_in().encode_special_tokens = value
        elif name == "model" or name in _PARTS:
            self.__dict__["made"] = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Backend, (self.original,)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Backend:
        return _Backend(copy.deepcopy(self.original, memo))

    def _set_on_both(self, method: str, *args: Any, **kwargs: Any) -> None:
        """Sets truncation or padding in the original and in the stand-in."""
        getattr(self.original, method)(*args, **kwargs)
        getattr(self.current_stand_in(), method)(*args, **kwargs)


def _state_of_parts(original: Any) -> list[Any]:
    parts = [getattr(original, name) for name in _PARTS]
    states = [None if part is None else part.__getstate__() for part in parts]
    return states + [getattr(original.model, name, None) for name in _MODEL_SETTINGS]


class _OfOneCall(_Backend):
    """A backend with settings of its own, which no other thread can change; `shared` gets them too."""

    def __init__(self, shared: _Backend) -> None:
        super().__init__(shared.original)
        self.__dict__.update(shared=shared, made=copy.copy(shared.current_stand_in()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name) if name in _SETTINGS else super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.shared, name, value)
        setattr(self.made, name, value)

    def _set_on_both(self, method: str, *args: Any, **kwargs: Any) -> None:
        getattr(self.shared, method)(*args, **kwargs)
        getattr(self.made, method)(*args, **kwargs)


class _Encodings(Sequence[Encoding]):
    """The encodings of a batch, made when the first one is accessed."""

    def __init__(self, n: int, make: Callable[[], list[Encoding]]) -> None:
        self._n = n
        self._make = make
        self._made: list[Encoding] | None = None

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made[index]

    def __iter__(self) -> Iterator[Encoding]:
        return iter(self[:])

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self[:],)


class _Fast:
    """The first base of the class that `fast` makes: encodes batches without an object for each text, and pickles."""

    _tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Called by from_pretrained and train_new_from_iterator of the class, but not by `fast`.
        super().__init__(*args, **kwargs)
        if not isinstance(self._tokenizer, _Backend):
            self._tokenizer = _Backend(self._tokenizer)

    def __reduce__(self) -> tuple[Any, ...]:
        # `fast` made this class; unpickling calls it to make the class again.
        of: Any = type(self).__bases__[1]
        theirs = of.__new__(of)
        theirs.__dict__.update(self.__dict__, _tokenizer=self._tokenizer.original)
        return fast, (theirs,)

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        # transformers sets truncation and padding first, and encodes then; other threads may do so at the same time.
        mine: Any = object.__new__(type(self))
        vars(mine).update(vars(self), _tokenizer=_OfOneCall(self._tokenizer))
        if text_pair is None and isinstance(text, list) and text and all(type(each) is str for each in text):
            found = mine._plain_batch(text, options)
            if found is not None:
                return found
        return super(_Fast, mine)._encode_plus(text, text_pair, **options)  # type: ignore[misc]

    def _plain_batch(self, texts: list[str], options: dict[str, Any]) -> Any:
        """Returns the BatchEncoding of texts; None if it needs more than ids, masks, padding and truncation."""
        from transformers import BatchEncoding

        unknown = options.keys() - _DEFAULTS.keys()
        known = {**_DEFAULTS, **options}
        padding, truncation = known["padding_strategy"], known["truncation_strategy"]
        if (
            any(name not in _OPTIONS_NEEDING_ORIGINAL or options[name] for name in unknown)
            or padding is None
            or truncation is None
        ):
            return None
        me: Any = self
        is_padded, is_cut = padding.value != "do_not_pad", truncation.value != "do_not_truncate"
        names = ("max_length", "pad_to_multiple_of", "padding_side")
        me.set_truncation_and_padding(padding, truncation, stride=0, **{name: known[name] for name in names})
        split = known["split_special_tokens"]
        me._tokenizer.encode_special_tokens = me.split_special_tokens if split is None else split
        stand_in: HuggingFaceTokenizer = me._tokenizer.current_stand_in()
        around = stand_in.ids_around_text()
        if around is None or truncation.value == "only_second":
            return None
        if not known["add_special_tokens"]:
            around = [], []
        ids, ends = stand_in.encoder().encode_batch_to_numpy(texts)
        starts, lengths = ends[:-1], np.diff(ends)
        if is_cut:
            limit = known["max_length"] - len(around[0]) - len(around[1])
            if limit < 1:
                return None
            if me.truncation_side == "left":
                starts = starts + np.maximum(lengths - limit, 0)
            lengths = np.minimum(lengths, limit)
        totals = lengths + len(around[0]) + len(around[1])
        longest = int(totals.max())
        is_array = known["return_tensors"] is not None
        # transformers handles unpadded rows of unequal length, and rows longer than the padding length.
        filled = known["max_length"] if padding.value == "max_length" else longest
        if longest > filled or (is_array and not is_padded and (totals < longest).any()):
            return None
        arrays: Sequence[Any]
        if is_padded or is_array:
            arrays = _padded(ids, starts, lengths, around, stand_in.padding if is_padded else None)
        else:
            ends = starts + lengths
            rows = [ids[start:end].tolist() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
            rows = [around[0] + row + around[1] for row in rows] if any(around) else rows
            arrays = [rows, [[0] * len(row) for row in rows], [[1] * len(row) for row in rows]]
        me._eventual_warn_about_too_long_sequence(range(longest), known["max_length"], known["verbose"])
        data: dict[str, Any] = {}
        for name, array in zip(("input_ids", "token_type_ids", "attention_mask"), arrays, strict=True):
            is_wanted = known.get(f"return_{name}")
            if name == "input_ids" or (name in me.model_input_names if is_wanted is None else is_wanted):
                data[name] = array.tolist() if is_padded and not is_array else array
        is_added = known["add_special_tokens"]
        # A copy: the caller can change the list before the encodings are needed.
        given = list(texts)
        encodings: Any = _Encodings(len(given), lambda: stand_in.encode_batch(given, add_special_tokens=is_added))
        return BatchEncoding(data, encodings, tensor_type=known["return_tensors"], n_sequences=1)


def _padded(
    ids: npt.NDArray[Any],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    around: tuple[list[int], list[int]],
    padding: dict[str, Any] | None,
) -> tuple[npt.NDArray[np.int64], ...]:
    """Returns ids, type ids and attention mask, int64 [n, width]: parts of `ids`, each with `around` added, padded."""
    before, after = around
    totals = lengths + len(before) + len(after)
    width = int(totals.max())
    if padding is not None:
        width = width if padding["length"] is None else max(width, padding["length"])
        if multiple := padding["pad_to_multiple_of"]:
            width = -(-width // multiple) * multiple
    found = np.full((len(lengths), width), padding["pad_id"] if padding else 0, dtype=np.int64)
    firsts = width - totals if padding is not None and padding["direction"] == "left" else np.zeros_like(totals)
    columns, rows = np.arange(width), np.arange(len(lengths))
    mask = (columns >= firsts[:, None]) & (columns < (firsts + totals)[:, None])
    texts = firsts + len(before)
    places = (columns >= texts[:, None]) & (columns < (texts + lengths)[:, None])
    # Copy the ids of all rows in one step: row i takes `lengths[i]` ids from `starts[i]` on.
    taken = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    found[places] = ids[taken]
    for nth, token_id in enumerate(before):
        found[rows, firsts + nth] = token_id
    for nth, token_id in enumerate(after):
        found[rows, texts + lengths + nth] = token_id
    type_ids = np.where(mask, 0, padding["pad_type_id"] if padding else 0)
    return found, type_ids, mask.astype(np.int64)
