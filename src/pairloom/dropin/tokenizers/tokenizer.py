"""Trains a tokenizer as tokenizers 0.23 does, saves the same tokenizer.json, and encodes as `as_huggingface` does."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pairloom
from pairloom._internal.arguments import check_iterable, check_str, shown
from pairloom._internal.optional_deps import import_optional
from pairloom.dropin.encoding import Columns, Encoding
from pairloom.dropin.huggingface_tokenizer import HuggingFaceTokenizer, truncation_and_padding
from pairloom.dropin.loaded_tokenizer import LoadedTokenizer, checked_id
from pairloom.dropin.tokenizers import decoders, models, normalizers, pre_tokenizers, processors, training
from pairloom.dropin.tokenizers.components import AddedToken, Component, component_of
from pairloom.dropin.tokenizers.plain_encoder import PlainEncoder, decode
from pairloom.dropin.tokenizers.trainers import BpeTrainer
from pairloom.errors import CorpusError, FormatError, MissingByteError
from pairloom.formats.reader import read
from pairloom.formats.shared.json_text import camel_case, parse
from pairloom.post_processing import PostProcessor, post_processor_of

_PARTS: dict[str, type[Component]] = {
    "normalizer": normalizers.Normalizer,
    "pre_tokenizer": pre_tokenizers.PreTokenizer,
    "post_processor": processors.PostProcessor,
    "decoder": decoders.Decoder,
    "model": models.Model,
}


class Tokenizer(HuggingFaceTokenizer):
    """A stand-in for tokenizers.Tokenizer, with the parts that it is made of."""

    model: models.BPE
    normalizer: normalizers.Normalizer | None
    pre_tokenizer: pre_tokenizers.PreTokenizer | None
    post_processor: processors.PostProcessor | None
    decoder: decoders.Decoder | None
    _made: tuple[LoadedTokenizer | None, PlainEncoder]
    _made_at: int
    _made_tables: tuple[dict[str, int], dict[int, str]]

    def __init__(self, model: models.Model) -> None:
        self.encode_special_tokens = False
        self._truncation = self._padding = None
        self._added: dict[str, tuple[int, AddedToken]] = {}
        # Tokens that were ever added as special. As in the library they stay special, though the file does not say so.
        self._special: set[str] = set()
        self.normalizer = self.pre_tokenizer = self.post_processor = self.decoder = None
        self.model = model  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        if (base := _PARTS.get(name)) is not None:
            if type(value).__module__.startswith("tokenizers."):
                # transformers sets the library's own parts on a tokenizer that it is given.
                value = component_of(base, json.loads(value.__getstate__()))
            if not isinstance(value, base) and not (value is None and name != "model"):
                raise TypeError(
                    f"{name} must be from pairloom.dropin.tokenizers, not a {type(value).__name__} of "
                    f"{type(value).__module__}"
                )
            Component.n_changes += 1
        elif name != "encode_special_tokens" and not name.startswith("_"):
            raise AttributeError(f"Tokenizer has no setting {name!r}")
        object.__setattr__(self, name, value)

    @property
    def _post_processor(self) -> PostProcessor:
        # Does not load the core, so truncation can be enabled before the tokenizer is trained.
        return post_processor_of(None if self.post_processor is None else self._json(self.post_processor.node()))

    def _encoders(self) -> tuple[LoadedTokenizer | None, PlainEncoder]:
        """Returns the core's tokenizer of the present parts, None if it cannot load them, and Python's."""
        if self.__dict__.get("_made_at") != Component.n_changes:
            state = self._state() | {"truncation": None, "padding": None}
            for entry in state["added_tokens"]:
                entry["special"] = entry["content"] in self._special
            loaded = None
            with contextlib.suppress(FormatError):
                model = read("huggingface", self._json(state).encode(), "the tokenizer")
                loaded = LoadedTokenizer(pairloom.Tokenizer.from_model(model))
            self._made = loaded, PlainEncoder(self)
            self._made_at = Component.n_changes
        return self._made

    def _encode_texts(self, texts: list[str], type_id: int = 0) -> list[Encoding]:
        (loaded, plain), as_text = self._encoders(), self.encode_special_tokens
        if loaded is not None:
            # After MissingByteError, Python encodes: as in the library, a letter without a token becomes unknown or is
            # dropped.
            with contextlib.suppress(MissingByteError):
                return [
                    Encoding.of(ids, partial(_columns, loaded, plain, ids, text, as_text), type_id)
                    for ids, text in zip(loaded.encode(texts, as_text), texts, strict=True)
                ]
        found = [plain.encode(text, as_text) for text in texts]
        return [Encoding.of(ids, partial(replace, columns), type_id) for ids, columns in found]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Returns the text of ids. Omits unknown ids, and special tokens unless skip_special_tokens is False."""
        # Without a decoder, the library joins tokens with spaces.
        loaded = None if self.decoder is None or self._normalized_tokens() else self._encoders()[0]
        if loaded is None or not _spells_texts(loaded):
            return decode(self, [*map(checked_id, ids)], skip_special_tokens)
        return loaded.decode(ids, skip_special_tokens)

    def __copy__(self) -> Tokenizer:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer.from_str, (self.to_str(),), {"encode_special_tokens": self.encode_special_tokens}

    def __repr__(self) -> str:
        return f"Tokenizer({type(self.model).__name__} of {self.get_vocab_size()} tokens)"

    # Training -----------------------------------------------------------------------------------------------------

    def train(self, files: Sequence[str], trainer: BpeTrainer | None = None) -> None:
        """Trains the model on UTF-8 files. As in the library, each line, with its line end, is a separate text.

        Raises OSError, CorpusError for malformed UTF-8, ValueError if other tokens were added before.
        """
        if not isinstance(files, (list, tuple)):
            raise TypeError(f"files must be a list of paths, not {type(files).__name__}")
        try:
            self._train(training.Lines(files), trainer)
        except CorpusError as error:
            remedy = 'train_from_iterator(open(path, encoding="utf-8", errors="replace"), trainer)'
            raise CorpusError(
                str(error).replace('replace malformed bytes with input_errors="replace"', remedy)
            ) from None

    def train_from_iterator(
        self, iterator: Iterable[Any], trainer: BpeTrainer | None = None, length: int | None = None
    ) -> None:
        """Trains the model on an iterator of str, or of lists of str. `length` is ignored.

        Raises TypeError for a text that is not a str, ValueError if other tokens were added before.
        """
        self._train(training.texts_of(iterator), trainer)

    def _train(self, texts: Iterable[str], trainer: BpeTrainer | None) -> None:
        trainer = BpeTrainer() if trainer is None else trainer
        if not isinstance(trainer, BpeTrainer):
            kind = f"{type(trainer).__name__} of {type(trainer).__module__}"
            raise TypeError(f"trainer must be a BpeTrainer of pairloom.dropin.tokenizers, not a {kind}")
        trainer = replace(trainer)  # checked, since its settings may have been changed
        specials = list({token.content: token for token in trainer.special_tokens}.values())
        if self._added and [token for _, token in self._added.values()] != specials:
            raise ValueError(
                "the tokenizer has added tokens, whose ids training would change; train a new Tokenizer, and add tokens"
                " afterwards"
            )
        if self._added:
            texts = training.without(texts, specials, self.normalizer is not None)
        counts, plan = training.count(texts, self.normalizer, self.pre_tokenizer, trainer.shows_progress)
        training.train(counts, plan, trainer, self.model)
        Component.n_changes += 1
        self._added = {}
        self.add_special_tokens(specials)

    # Files --------------------------------------------------------------------------------------------------------

    def to_str(self, pretty: bool = False) -> str:
        """Returns the tokenizer.json, byte for byte as the library writes it."""
        return self._json(self._state(), pretty)

    @staticmethod
    def _json(state: dict[str, Any], pretty: bool = False) -> str:
        separators = (",", ": ") if pretty else (",", ":")
        return json.dumps(state, ensure_ascii=False, indent=2 if pretty else None, separators=separators)

    def _state(self) -> dict[str, Any]:
        truncation, padding = self._truncation, self._padding
        if truncation is not None:
            truncation = {
                "direction": truncation["direction"].capitalize(),
                "max_length": truncation["max_length"],
                "strategy": camel_case(truncation["strategy"]),
                "stride": truncation["stride"],
            }
        if padding is not None:
            length = padding["length"]
            padding = {
                "strategy": "BatchLongest" if length is None else {"Fixed": length},
                "direction": padding["direction"].capitalize(),
                **{key: padding[key] for key in ("pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")},
            }
        added = sorted(self._added.values(), key=lambda each: each[0])
        parts = {name: getattr(self, name) for name in _PARTS}
        return {
            "version": "1.0",
            "truncation": truncation,
            "padding": padding,
            "added_tokens": [{"id": token_id, **asdict(token)} for token_id, token in added],
            **{name: None if part is None else part.node() for name, part in parts.items()},
        }

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Makes the tokenizer from the text of a tokenizer.json. Raises FormatError for an unsupported part."""
        return _from_json_bytes(check_str("json", json).encode(), "the tokenizer")

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Makes the tokenizer from the bytes of a tokenizer.json."""
        if not isinstance(buffer, (bytes, bytearray, memoryview)):
            raise TypeError(f"buffer must be bytes, not {type(buffer).__name__}; from_str takes a str")
        return _from_json_bytes(bytes(buffer), "the tokenizer")

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Reads a tokenizer.json. Raises OSError, or FormatError for an unsupported part."""
        return _from_json_bytes(Path(path).read_bytes(), str(path))

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Downloads a HuggingFace repository's tokenizer.json and reads it. Raises what huggingface_hub raises."""
        hub = import_optional("huggingface_hub", "Tokenizer.from_pretrained")
        return Tokenizer.from_file(hub.hf_hub_download(identifier, "tokenizer.json", revision=revision, token=token))

    # What it is ---------------------------------------------------------------------------------------------------

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns token -> id, including added tokens unless with_added_tokens is False."""
        return dict(self._tables()[0] if with_added_tokens else self.model.vocab)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Returns the number of tokens."""
        return len(self._tables()[0] if with_added_tokens else self.model.vocab)

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token; None if there is no such token."""
        return self._tables()[0].get(check_str("token", token))

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id; None if there is no such id."""
        return self._tables()[1].get(checked_id(id))

    def _tables(self) -> tuple[dict[str, int], dict[int, str]]:
        """Returns token -> id and id -> token, with added tokens; kept until a component changes."""
        if self.__dict__.get("_tables_at") != Component.n_changes:
            vocab = self.model.vocab | {text: token_id for text, (token_id, _) in self._added.items()}
            text_of = {token_id: text for text, token_id in vocab.items()} | self._normalized_tokens()
            self._made_tables, self._tables_at = (vocab, text_of), Component.n_changes
        return self._made_tables

    def _normalized_tokens(self) -> dict[int, str]:
        """Returns the added tokens that the normalizer changes, in normalized form, as the library spells them."""
        given = {token_id: token.content for token_id, token in self._added.values() if token.normalized}
        if self.normalizer is None or not given:
            return {}
        written = zip(given, self.normalizer.normalize_all([*given.values()]), strict=True)
        return {token_id: text for token_id, text in written if text != given[token_id]}

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Returns the added tokens by id."""
        return dict(sorted(self._added.values(), key=lambda each: each[0]))

    def add_special_tokens(self, tokens: Sequence[Any]) -> int:
        """Adds special tokens (str or AddedToken). Returns how many are new or changed."""
        return self._add(tokens, special=True)

    def add_tokens(self, tokens: Sequence[Any]) -> int:
        """Adds tokens (str or AddedToken) that decoding does not skip. Returns how many are new or changed."""
        return self._add(tokens, special=False)

    def _add(self, tokens: Sequence[Any], special: bool) -> int:
        check_iterable("tokens", "str or AddedToken", tokens)
        n_added, next_id = 0, max((token_id for token_id, _ in self._added.values()), default=-1) + 1
        for token in [AddedToken.of(each, special) for each in tokens]:
            known, before = self._added.get(token.content, (None, None))
            if before == token:
                continue
            n_added += 1
            if token.special:
                self._special.add(token.content)
            if known is None:
                known = self.model.vocab.get(token.content, max(next_id, len(self.model.vocab)))
                next_id = max(next_id, known + 1)
            self._added[token.content] = known, token
            Component.n_changes += 1
        return n_added


def _spells_texts(loaded: LoadedTokenizer) -> bool:
    return loaded.model.words is None and loaded.model.unknown is None


def _columns(loaded: LoadedTokenizer, plain: PlainEncoder, ids: list[int], text: str, as_text: bool) -> Columns:
    """Returns the columns of an encoding; the core finds spans only if tokens spell the text."""
    if _spells_texts(loaded):
        # ValueError: a normalizer changed the text.
        with contextlib.suppress(ValueError):
            return loaded.columns(ids, text, as_text)
    return plain.encode(text, as_text)[1]


def _from_json_bytes(data: bytes, name: str) -> Tokenizer:
    state = parse(data, name)
    try:
        made = Tokenizer(models.BPE())
        # GPT-2's published file does not name the type of its model.
        state["model"] = {"type": "BPE", **state["model"]}
        for part, base in _PARTS.items():
            setattr(made, part, component_of(base, state.get(part)))
        entries = state.get("added_tokens", [])
        tokens = [AddedToken(**{key: value for key, value in entry.items() if key != "id"}) for entry in entries]
        made._add(tokens, special=False)
        for entry, token in zip(entries, tokens, strict=True):
            if (token_id := made._added[token.content][0]) != entry["id"]:
                raise FormatError(
                    f"{name}: added token {shown(token.content)} has id {shown(entry['id'])}, but the library "
                    f"tokenizers would assign it {token_id}; add it to the vocabulary with its id"
                )
        made._truncation, made._padding = truncation_and_padding(state)
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{name}: this is not a tokenizer.json of BPE, or it is damaged ({shown(str(error))})"
        ) from None
    return made
