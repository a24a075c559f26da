"""Tokenizer: the public interface to training, encoding, decoding and files.

A tokenizer is immutable and can be used from many threads at once. It holds a `Model` (its definition) and the core's
encoder built from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial

from pairloom import _core, formats
from pairloom._internal.arguments import (
    check_bool,
    check_choice,
    check_int,
    check_path,
    check_several,
    check_str,
    check_texts,
    resolve_threads,
    shown,
)
from pairloom._internal.plain_calls import plain_count_tokens, plain_encode
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError, PatternError
from pairloom.model import DECODE_ERRORS, Model, Pattern, canonical_json, checked_normalizer, config_of, literal_of
from pairloom.special_policies import SpecialPolicies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from pairloom import dropout as dropouts
    from pairloom import encode_streams, patterns, post_processing, vocabulary
    from pairloom import offsets as token_offsets
    from pairloom._internal import arrow
    from pairloom._internal import progress as progress_reports
    from pairloom._internal.progress import Progress
    from pairloom.corpus import streams
    from pairloom.counts import pretoken_counts
    from pairloom.counts.pretoken_counts import PretokenCounts
    from pairloom.dropin import huggingface_tokenizer, tiktoken_encoding
    from pairloom.model import DecodeErrors
    from pairloom.post_processing import PostProcessor
    from pairloom.special_policies import Allowed
    from pairloom.training import config as configs
    from pairloom.training import extend as extending
    from pairloom.training import train as training
    from pairloom.training.config import TrainingConfig
    from pairloom.view.view import View
else:
    from pairloom._internal.lazy import LazyModule
    from pairloom._internal.lazy import numpy as np

    # Encoding a text by a file of pairloom's own needs none of these.
    arrow = LazyModule("pairloom._internal.arrow")
    configs = LazyModule("pairloom.training.config")
    encode_streams = LazyModule("pairloom.encode_streams")
    dropouts = LazyModule("pairloom.dropout")
    extending = LazyModule("pairloom.training.extend")
    huggingface_tokenizer = LazyModule("pairloom.dropin.huggingface_tokenizer")
    patterns = LazyModule("pairloom.patterns")
    post_processing = LazyModule("pairloom.post_processing")
    pretoken_counts = LazyModule("pairloom.counts.pretoken_counts")
    progress_reports = LazyModule("pairloom._internal.progress")
    streams = LazyModule("pairloom.corpus.streams")
    tiktoken_encoding = LazyModule("pairloom.dropin.tiktoken_encoding")
    token_offsets = LazyModule("pairloom.offsets")
    training = LazyModule("pairloom.training.train")
    vocabulary = LazyModule("pairloom.vocabulary")

__all__ = ["Tokenizer", "check_tokenizer"]

Specials = Sequence[str] | Mapping[str, int]
PathLike = str | os.PathLike[str]

SPECIALS = ("recognise", "ordinary", "error")
"""How literals of special tokens in files and streams are encoded."""


class Tokenizer:
    """A byte-level BPE tokenizer: text to ids and back, without loss.

    Tokenizer(vocab, merges, special_tokens=None, *, pattern="gpt2", decode_errors="replace") takes a
    dict[int, bytes] and byte pairs in rank order. `special_tokens` is a list (each takes the id whose bytes match,
    else the next id past the largest) or a dict str -> id. A vocabulary that lacks some of the 256 bytes gives a
    warning unless allow_missing_bytes is True. Raises ValueError for merges whose parts or result the vocabulary lacks.
    """

    __slots__ = ("_config", "_core", "_model", "_native", "_policies", "_post_processor", "_spans")

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Specials | None = None,
        *,
        pattern: Pattern = "gpt2",
        decode_errors: DecodeErrors = "replace",
        allow_missing_bytes: bool = False,
    ) -> None:
        check_bool("allow_missing_bytes", allow_missing_bytes)
        model = vocabulary.from_bytes(vocab, merges, special_tokens, pattern=pattern, decode_errors=decode_errors)
        if not allow_missing_bytes and (text := vocabulary.missing_bytes_text(model)) is not None:
            warn(
                f"{text}; text that holds one cannot be encoded (MissingByteError). Add them, or pass"
                " allow_missing_bytes=True if that is meant"
            )
        self._hold(model)

    def _hold(self, model: Model, config: TrainingConfig | None = None, cache_bytes: int | None = None) -> None:
        self._model = model
        self._native: bytes | None = None
        self._config = config
        self._post_processor: PostProcessor | None = None
        self._spans: token_offsets.TokenSpans | None = None
        self._policies = SpecialPolicies(model)
        self._core = _core.Encoder(
            columns=model.columns,
            ignore_merges=model.ignore_merges,
            special_tokens=dict(model.special_tokens),
            pattern=model.pattern,
            decode_errors=model.decode_errors,
            normalizer=model.normalizer,
            special_rules=list(model.special_rules),
            cache_bytes=cache_bytes,
        )

    @classmethod
    def from_model(cls, model: Model, config: TrainingConfig | None = None, *, name: str | None = None) -> Tokenizer:
        """A tokenizer with the given model; every format and trainer uses it.

        name: the file that the model was read from, for messages. Raises PatternError for a pattern that does not
        compile, FormatError for a model that is too large for the core's tables.
        """
        if not isinstance(model, Model):
            raise TypeError(f"model must be a Model, not {type(model).__name__}; files are for Tokenizer.load")
        tokenizer = cls.__new__(cls)
        try:
            tokenizer._hold(model, config)
        except (FormatError, PatternError) as error:
            if name is None:
                raise
            raise type(error)(f"{name}: {error}") from None
        return tokenizer

    # Training ---------------------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[Any],
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        checkpoint: PathLike | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """Trains on a str (one document) or an iterable of str (each a document).

        Batches are taken as well: lists of str and Arrow columns of text, in the iterable or in its place.
        `open(path)` is an iterable of lines, so `train(open(path), n)` takes every line for a document; for whole
        files use `train_files`. `fields` are those of `TrainingConfig`.

        checkpoint: a folder that stores the counts; calling again with the same arguments resumes (of an iterator, only
        the first texts are compared). max_memory: bytes.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises ValueError when vocab_size is too small, TypeError for wrong types, MemoryError when `max_memory` would
        be exceeded, CheckpointError for a checkpoint that is damaged or of another training or corpus, FileExistsError
        for one that is in use.
        """
        config = configs.TrainingConfig.from_profile(profile, **fields)
        model = training.train_on_texts(
            corpus,
            vocab_size,
            config,
            threads=threads,
            progress=progress,
            max_memory=max_memory,
            checkpoint=checkpoint,
        )
        return cls.from_model(model, config)

    @classmethod
    def train_files(
        cls,
        paths: PathLike | Iterable[PathLike],
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        checkpoint: PathLike | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """Trains on UTF-8 files, each a document unless corpus_specials="split" cuts it.

        `fields` are those of `TrainingConfig`.

        checkpoint: a folder that stores the counts; calling again with the same arguments resumes. max_memory: bytes.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises OSError for a file that cannot be read, CorpusError for invalid UTF-8, ValueError when vocab_size is too
        small, MemoryError when `max_memory` would be exceeded, CheckpointError for a checkpoint that is damaged or of
        another training, or whose files have changed, FileExistsError for one that is in use.
        """
        config = configs.TrainingConfig.from_profile(profile, **fields)
        model = training.train_on_files(
            paths,
            vocab_size,
            config,
            threads=threads,
            progress=progress,
            max_memory=max_memory,
            checkpoint=checkpoint,
        )
        return cls.from_model(model, config)

    @classmethod
    def train_from_counts(
        cls,
        counts: PretokenCounts,
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """Trains on counts made before, here or elsewhere; the same model as training on their corpus.

        The pattern is that of the counts unless `fields` name one. Raises CountsError when the counts were cut in
        another way than the configuration asks for, MemoryError when `max_memory` (bytes) would be exceeded.
        """
        if not isinstance(counts, pretoken_counts.PretokenCounts):
            raise TypeError(f"counts must be PretokenCounts, not {type(counts).__name__}")
        config = configs.TrainingConfig.from_profile(profile, **{"pattern": counts.metadata.pattern, **fields})
        training.check_counts(counts, config)
        counts, config = training.prune(counts, config)
        model = training.train_model(
            counts, vocab_size, config, threads=threads, progress=progress, max_memory=max_memory
        )
        return cls.from_model(model, config)

    def extend(
        self,
        corpus: str | Iterable[str],
        vocab_size: int,
        pattern: Pattern | None = None,
        profile: str | None = None,
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """The tokenizer that training gives when it continues from this one's merges, on a str or an iterable of str.

        The corpus is split by `pattern` (None: this tokenizer's own), the merges are applied in order, and training
        goes on to `vocab_size`. The new tokenizer splits by that pattern; one that crosses words makes superwords.
        Special tokens after the merges move up. Trained here, it continues under its own config; a loaded one needs
        `profile`. `fields` are those of `TrainingConfig` (tie_break, min_frequency, max_token_bytes, ...).

        Raises ValueError for a smaller vocab_size, and for a tokenizer that is not 256 bytes and merges in id order;
        MemoryError when `max_memory` (bytes) would be exceeded.
        """
        if isinstance(corpus, str):
            corpus = [corpus]
        if isinstance(corpus, os.PathLike):
            raise TypeError("corpus is a path; use extend_files to train on the file")
        check_texts("corpus", corpus)
        return self._extended(
            partial(pretoken_counts.PretokenCounts.from_texts, corpus),
            vocab_size,
            extending.config_for(self._model, self._config, pattern, profile, fields),
            threads=threads,
            progress=progress,
            max_memory=max_memory,
        )

    def extend_files(
        self,
        paths: PathLike | Iterable[PathLike],
        vocab_size: int,
        pattern: Pattern | None = None,
        profile: str | None = None,
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """`extend` on UTF-8 files, each a document; raises OSError and CorpusError as `train_files` does."""
        config = extending.config_for(self._model, self._config, pattern, profile, fields)
        return self._extended(
            partial(pretoken_counts.PretokenCounts.from_files, paths, input_errors=config.input_errors),
            vocab_size,
            config,
            threads=threads,
            progress=progress,
            max_memory=max_memory,
        )

    def extend_from_counts(
        self,
        counts: PretokenCounts,
        vocab_size: int,
        profile: str | None = None,
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Tokenizer:
        """`extend` on counts made before, with their pattern; raises CountsError as `train_from_counts` does."""
        if not isinstance(counts, pretoken_counts.PretokenCounts):
            raise TypeError(f"counts must be PretokenCounts, not {type(counts).__name__}")
        return self._extended(
            lambda **_: counts,
            vocab_size,
            extending.config_for(self._model, self._config, counts.metadata.pattern, profile, fields),
            threads=threads,
            progress=progress,
            max_memory=max_memory,
        )

    def _extended(
        self, count: Callable[..., PretokenCounts], vocab_size: int, config: TrainingConfig, **run: Any
    ) -> Tokenizer:
        return Tokenizer.from_model(
            *extending.extend_counted(self._model, self._core, count, vocab_size, config, **run)
        )

    # Files ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_files(
        cls,
        vocab_filepath: PathLike,
        merges_filepath: PathLike,
        special_tokens: Specials | None = None,
        *,
        allow_missing_bytes: bool = False,
    ) -> Tokenizer:
        """Loads a GPT-2 vocab.json and merges.txt.

        Raises OSError, FormatError naming file and place when one is damaged or, unless allow_missing_bytes is True,
        lacks some of the 256 bytes. Pickled objects are refused: load them yourself, and pass them to Tokenizer().
        """
        vocab, merges = check_path("vocab_filepath", vocab_filepath), check_path("merges_filepath", merges_filepath)
        model = formats.gpt2.read_pair(vocab, merges, special_tokens=special_tokens)
        formats.check_bytes(model, vocab, allow_missing_bytes)
        return cls.from_model(model, name=vocab)

    @classmethod
    def load(
        cls,
        path: PathLike,
        *,
        format: str | None = None,
        pattern: Pattern | None = None,
        special_tokens: Specials | None = None,
        allow_missing_bytes: bool = False,
        cache: PathLike | None = None,
    ) -> Tokenizer:
        """Loads a tokenizer from a file, or from a folder that holds one.

        Of a model folder tokenizer_config.json, special_tokens_map.json and the chat template are read too: they say
        `eos_token_id` and its like, and name special tokens that the tokenizer's own file lacks.

        format: "pairloom", "huggingface", "tiktoken", "gpt2" or "tekken"; detected if None.
        pattern, special_tokens: for formats that do not store them (.tiktoken, vocab.json and merges.txt).
        allow_missing_bytes: load a vocabulary that lacks some of the 256 bytes; encoding one of these raises
        MissingByteError.
        cache: a folder, of which only you can write, where the tokenizers of other libraries' files are kept in
        pairloom's form for the next process. An entry is used only for the same bytes, arguments and build of pairloom.
        Raises OSError, FormatError with the cause, the location and the remedy, PatternError for a pattern that does
        not compile.
        """
        model = formats.load(
            path,
            format=format,
            pattern=pattern,
            special_tokens=special_tokens,
            allow_missing_bytes=allow_missing_bytes,
            cache=cache,
        )
        return cls.from_model(model, name=os.fspath(path))

    def save(self, path: PathLike, overwrite: bool = False, *, format: str | None = None) -> None:
        """Saves atomically as "pairloom", "huggingface", "tiktoken" or "gpt2" (a folder).

        format: None is "tiktoken" for a path that ends in .tiktoken and "pairloom" for any other. Equal tokenizers give
        equal bytes. Warns about what the format does not store. Raises FileExistsError unless
        `overwrite`, FormatError when the format cannot express this tokenizer exactly.
        """
        formats.save(self._model, path, overwrite=overwrite, format=format)

    def save_pretrained(self, path: PathLike, overwrite: bool = False) -> None:
        """Saves a folder that transformers loads: tokenizer.json, tokenizer_config.json, special_tokens_map.json, and
        chat_template.jinja if there is a chat template.

        Raises FileExistsError for a file that is there unless `overwrite`, FormatError when a tokenizer.json cannot
        express this tokenizer exactly.
        """
        formats.save_pretrained(self._model, path, overwrite=overwrite)

    @classmethod
    def from_ranks(
        cls,
        mergeable_ranks: Mapping[bytes, int],
        pattern: Pattern,
        special_tokens: Specials | None = None,
        *,
        allow_missing_bytes: bool = False,
    ) -> Tokenizer:
        """The tokenizer of a map token -> rank, as tiktoken and rustbpe have it.

        pattern: a regular expression or the name of one. Raises FormatError for ranks that are no vocabulary.
        """
        if not isinstance(mergeable_ranks, Mapping):
            raise TypeError(f"mergeable_ranks must be a dict from bytes to int, not {type(mergeable_ranks).__name__}")
        name = "mergeable_ranks"
        model = formats.tiktoken.from_ranks(mergeable_ranks, patterns.pattern_text(pattern), special_tokens, name)
        formats.check_bytes(model, name, allow_missing_bytes)
        return cls.from_model(model, name=name)

    @classmethod
    def from_objects(
        cls,
        vocab: Mapping[Any, Any],
        merges: Iterable[Any],
        special_tokens: Specials | None = None,
        *,
        pattern: Pattern = "gpt2",
        decode_errors: DecodeErrors = "replace",
        allow_missing_bytes: bool = False,
    ) -> Tokenizer:
        """The tokenizer of a vocabulary and merges in any of the forms that people pickle.

        vocab: id -> token or token -> id; a token is bytes, or a str in the GPT-2 byte alphabet. merges: pairs of
        tokens or of ids in rank order, or a dict (left id, right id) -> merged id. Unpickle them yourself, if you
        trust the file. Raises FormatError for other objects, ValueError where they do not fit together.
        """
        tokens, pairs = formats.objects.read(vocab, merges)
        return cls(
            tokens,
            pairs,
            special_tokens,
            pattern=pattern,
            decode_errors=decode_errors,
            allow_missing_bytes=allow_missing_bytes,
        )

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, allow_missing_bytes: bool = False) -> Tokenizer:
        """The tokenizer of a tiktoken.Encoding, with the same ids; FormatError if it lacks some of the 256 bytes."""
        model = formats.tiktoken.from_tiktoken(encoding)
        name = f"tiktoken encoding {encoding.name!r}"
        formats.check_bytes(model, name, allow_missing_bytes)
        return cls.from_model(model, name=name)

    def to_tiktoken(self, name: str = "pairloom") -> Any:
        """A tiktoken.Encoding with the same ids; needs the extra "tiktoken", FormatError if that is impossible.

        It decodes malformed bytes as tiktoken does, to U+FFFD: a tokenizer of other decode_errors gives a warning. So
        does one with special tokens that HuggingFace does not call special, since tiktoken has one kind.
        """
        self._warn_of_decode_errors("a tiktoken.Encoding")
        if plain := sorted(self._model.plain_specials):
            warn(f"a tiktoken.Encoding does not say that HuggingFace does not call {shown(plain)} special")
        return formats.tiktoken.to_tiktoken(self._model, name)

    def as_tiktoken(self, name: str = "pairloom") -> tiktoken_encoding.Encoding:
        """An object that behaves as tiktoken.Encoding and runs on this tokenizer; tiktoken is not needed.

        Special tokens in a text are errors there by default: `encode(text, allowed_special="all")` recognises them.
        """
        return tiktoken_encoding.Encoding(check_str("name", name), self)

    @classmethod
    def from_huggingface(cls, source: Any, *, allow_missing_bytes: bool = False) -> Tokenizer:
        """The tokenizer of a tokenizers.Tokenizer, of an object that wraps one, or of a path.

        The path is that of a tokenizer.json or of a folder with one. With encode_special_tokens=True the special tokens
        of the object are plain text unless `allowed_special` names them. Raises OSError, FormatError for what cannot be
        expressed, and where bytes are no tokens.
        """
        model = formats.huggingface.from_huggingface(source)
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else f"the {type(source).__name__}"
        formats.check_bytes(model, name, allow_missing_bytes)
        return cls.from_model(model, name=name)

    def to_huggingface(self) -> Any:
        """A tokenizers.Tokenizer with the same ids; needs the extra "huggingface", FormatError if that is impossible.

        It decodes malformed bytes as the library does, to U+FFFD: a tokenizer of other decode_errors gives a warning.
        """
        self._warn_of_decode_errors("a tokenizers.Tokenizer")
        return formats.huggingface.to_huggingface(self._model)

    def as_huggingface(self) -> huggingface_tokenizer.HuggingFaceTokenizer:
        """An object that behaves as tokenizers.Tokenizer for encoding and decoding and runs on this tokenizer.

        The library is not needed. Raises FormatError for a post-processor that cannot be run.
        """
        return huggingface_tokenizer.HuggingFaceTokenizer(self)

    def _warn_of_decode_errors(self, what: str) -> None:
        if self.decode_errors != "replace":
            warn(f'{what} decodes malformed bytes with "replace"; this tokenizer has {self.decode_errors!r}')

    # Encoding ---------------------------------------------------------------------------------------------------

    @plain_encode
    def encode(
        self,
        text: str,
        pair: str | None = None,
        *,
        add_special_tokens: bool = False,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
        dropout: float | None = None,
        seed: int | None = None,
    ) -> list[int]:
        """The ids of `text`, special tokens recognised; with `pair`, those of both texts.

        add_special_tokens: put around them what the post-processor of a tokenizer.json says (BOS, EOS).
        allowed_special: which special tokens become their id, "all" by default; the others are plain text.
        disallowed_special: special tokens that raise SpecialTokenError; "all" means all minus the allowed.
        dropout: BPE-dropout, for training models: the probability, 0 to 1, with which each possible merge is left out
        at each step; the ids decode to the same text. seed: an int, required with it; equal seeds give equal ids on
        every machine.
        """
        if pair is not None or add_special_tokens is not False or dropout is not seed:
            check_bool("add_special_tokens", add_special_tokens)
            policy = self._policies.of(allowed_special, disallowed_special)
            if dropout is None and seed is None:
                ids = self._core.encode(text, policy)
            elif pair is not None:
                raise ValueError("dropout takes one text; encode the pair apart")
            else:
                ids = dropouts.encode(self._core, text, policy, dropout, seed)
            second = None if pair is None else self._core.encode(check_str("pair", pair), policy)
            if not add_special_tokens:
                return ids + (second or [])
            if self._post_processor is None:
                self._post_processor = post_processing.post_processor_of(self._model.post_processor)
            return self._post_processor.surrounded(ids, second)
        if allowed_special == "all" and not disallowed_special:
            return self._core.encode(text)
        return self._core.encode(text, self._policies.of(allowed_special, disallowed_special))

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`; special tokens are plain text."""
        return self._core.encode_ordinary(text)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> list[list[int]]:
        """The ids of each text, on `threads` threads (0: all)."""
        policy = self._policies.of(allowed_special, disallowed_special)
        return self._core.encode_batch(_text_list(texts), resolve_threads(threads), policy)

    def encode_ordinary_batch(self, texts: Sequence[str], *, threads: int = 0) -> list[list[int]]:
        """The ids of each text; special tokens are plain text."""
        return self.encode_batch(texts, threads=threads, allowed_special=())

    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = "all", disallowed_special: Allowed = ()
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The ids of `text` as an array [n] of `id_dtype`."""
        return self._core.encode_to_numpy(text, self._policies.of(allowed_special, disallowed_special))

    def encode_batch_to_numpy(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64]]:
        """(ids, offsets): all ids in one array of `id_dtype`; text i has ids[offsets[i]:offsets[i + 1]].

        ids: [total]; offsets: int64 [n + 1].
        """
        policy = self._policies.of(allowed_special, disallowed_special)
        return self._core.encode_batch_to_numpy(_text_list(texts), resolve_threads(threads), policy)

    def encode_with_offsets(
        self,
        text: str,
        *,
        unit: str = "char",
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> tuple[list[int], npt.NDArray[np.int64]]:
        """(ids, spans): the ids of `text`, and where each token lies in it, int64 [n, 2] of start and end.

        unit: "char" counts characters, "byte" bytes of UTF-8. Tokens that split a character among them have all of it.
        Raises ValueError for a text that the tokenizer's normaliser changes.
        """
        check_choice("unit", unit, ("char", "byte"))
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        spans = self._token_spans().of(text, ids)
        return ids, token_offsets.char_spans(text, spans) if unit == "char" else spans

    def encode_batch_with_offsets(
        self,
        texts: Sequence[str],
        *,
        unit: str = "char",
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(ids, offsets, spans): text i has ids[offsets[i]:offsets[i + 1]] and the same rows of spans.

        ids: [total] of `id_dtype`; offsets: int64 [n + 1]; spans: int64 [total, 2], each from the start of its text.
        """
        check_choice("unit", unit, ("char", "byte"))
        texts = _text_list(texts)
        ids, offsets = self.encode_batch_to_numpy(
            texts, threads=threads, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        parts = []
        for text, start, end in zip(texts, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            spans = self._token_spans().of(text, ids[start:end])
            parts.append(token_offsets.char_spans(text, spans) if unit == "char" else spans)
        return ids, offsets, np.concatenate([np.zeros((0, 2), np.int64), *parts])

    def _token_spans(self) -> token_offsets.TokenSpans:
        if self._spans is None:
            self._spans = token_offsets.TokenSpans(self._model, self._core)
        return self._spans

    def encode_arrow(
        self,
        texts: Any,
        *,
        type: Any = None,
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> Any:
        """The ids of each row of an Arrow column of text, as a column of lists; no Python object is made for a row.

        texts: anything with `__arrow_c_stream__` or `__arrow_c_array__` (pyarrow, polars, DuckDB, pandas, nanoarrow):
        string or binary in any layout, chunked or not, or a table of one such column. A null stays a null.
        type: list or large_list of uint16, uint32, int32 or int64; None is list of `id_dtype` (large_list from 2**31
        ids on). Returns a pyarrow.Array where pyarrow is installed, else an object with `__arrow_c_array__`. Raises
        TypeError for what is no Arrow column, ValueError for a column or `type` of another kind, UnicodeDecodeError for
        bytes that are not UTF-8.
        """
        policy = self._policies.of(allowed_special, disallowed_special)
        return arrow.as_array(
            _core.encode_arrow(self._core, texts, type=type, threads=resolve_threads(threads), specials=policy)
        )

    def encode_iterable(self, iterable: Iterable[str], *, specials: str = "recognise") -> Iterator[int]:
        """Yields the ids of the joined texts, in memory that depends on the longest pretoken only.

        specials: literals of special tokens are their ids ("recognise"), plain text ("ordinary") or a SpecialTokenError
        ("error").
        """
        check_texts("iterable", iterable)
        check_choice("specials", specials, SPECIALS)
        return encode_streams.encode_pieces(self._core.encode_stream(specials), iterable)

    def encode_file(
        self, path: PathLike, *, threads: int = 0, progress: Progress = None, specials: str = "recognise"
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The ids of a whole UTF-8 file as an array [n] of `id_dtype`.

        specials: literals of special tokens are their ids ("recognise"), plain text ("ordinary") or a SpecialTokenError
        ("error"). Raises OSError, and CorpusError (file, byte offset) for invalid UTF-8.
        """
        check_choice("specials", specials, SPECIALS)
        file = check_path("path", path)
        with progress_reports.reporter(progress) as report:
            if streams.is_stream(file):
                encoder = self.block_encoder(specials=specials, threads=threads)
                return encode_streams.encode_pipe(encoder, file, self.id_dtype, report)
            return self._core.encode_file(file, resolve_threads(threads), report, specials)

    @plain_count_tokens
    def count_tokens(
        self,
        text: str,
        *,
        limit: int | None = None,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> int:
        """The number of ids of `text`, at most `limit`: counting stops there."""
        if limit is not None:
            check_int("limit", limit, least=0)
        return self._core.count_tokens(text, limit, self._policies.of(allowed_special, disallowed_special))

    def count_tokens_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> npt.NDArray[np.int64]:
        """The number of ids of each text: int64 [n]."""
        policy = self._policies.of(allowed_special, disallowed_special)
        return self._core.count_tokens_batch(_text_list(texts), resolve_threads(threads), policy)

    def count_tokens_arrow(
        self,
        texts: Any,
        *,
        threads: int = 0,
        allowed_special: Allowed = "all",
        disallowed_special: Allowed = (),
    ) -> Any:
        """The number of ids of each row of an Arrow column of text, as a column of int64; a null stays a null.

        texts, the result and the errors are as in `encode_arrow`.
        """
        policy = self._policies.of(allowed_special, disallowed_special)
        return arrow.as_array(
            _core.count_tokens_arrow(self._core, texts, threads=resolve_threads(threads), specials=policy)
        )

    # Decoding ---------------------------------------------------------------------------------------------------

    def decode(
        self,
        ids: Iterable[int] | npt.NDArray[Any],
        errors: str | None = None,
        *,
        skip_special_tokens: bool = False,
    ) -> str:
        """The text of `ids` (list, integer array or iterable of int).

        skip_special_tokens: leave special tokens out, all but those that HuggingFace counts as text.
        errors: "strict" raises UnicodeDecodeError on malformed bytes, "replace" gives U+FFFD, "ignore" drops them;
        None is the tokenizer's own. Raises UnknownTokenIdError (a KeyError).
        """
        if skip_special_tokens is not False:
            ids = self._without_specials(ids, skip_special_tokens)
        if errors is None:
            return self._core.decode(ids)
        check_choice("errors", errors, DECODE_ERRORS)
        return self._core.decode(ids, errors)

    def decode_bytes(self, ids: Iterable[int] | npt.NDArray[Any]) -> bytes:
        """The bytes of `ids`; raises UnknownTokenIdError (a KeyError)."""
        return self._core.decode_bytes(ids)

    def decode_batch(
        self, list_of_ids: Iterable[Iterable[int] | npt.NDArray[Any]], *, skip_special_tokens: bool = False
    ) -> list[str]:
        """The text of each list of ids; errors name the index of the list. skip_special_tokens: as in `decode`."""
        if skip_special_tokens is not False:
            check_several("list_of_ids", "lists of ids", list_of_ids)
            list_of_ids = [self._without_specials(ids, skip_special_tokens) for ids in list_of_ids]
        return self._core.decode_batch(list_of_ids)

    def _without_specials(self, ids: Iterable[int] | npt.NDArray[Any], skip: bool) -> list[int] | npt.NDArray[Any]:
        check_bool("skip_special_tokens", skip)
        model = self._model
        skipped = [i for token, i in model.special_tokens.items() if token not in model.plain_specials]
        if isinstance(ids, np.ndarray):
            return ids[~np.isin(ids, skipped)] if ids.ndim == 1 else ids
        check_several("ids", "int", ids)
        found = frozenset(skipped)
        return [token_id for token_id in ids if not (isinstance(token_id, int) and token_id in found)]

    def decode_with_offsets(self, ids: Iterable[int] | npt.NDArray[Any]) -> tuple[str, list[int]]:
        """(text, offsets): the text of `ids`, and the index of the character in which each token begins.

        As tiktoken has it: a token that begins inside a character has that one's index. Raises UnicodeDecodeError for
        malformed bytes, UnknownTokenIdError (a KeyError).
        """
        if not isinstance(ids, np.ndarray):
            check_several("ids", "int", ids)
            ids = list(ids)
        blob = self._core.decode_bytes(ids)
        return blob.decode(), token_offsets.starts_of_tokens(blob, self._token_spans().lengths_of(ids)).tolist()

    def decode_arrow(self, list_of_ids: Any, errors: str | None = None) -> Any:
        """The text of each row of an Arrow column of ids, as a column of string; a null stays a null.

        list_of_ids: list, large_list or fixed_size_list of any integer, from any library as in `encode_arrow`. errors:
        as in `decode`. The result is large_string from 2**31 bytes on. Raises TypeError for what is no Arrow column,
        ValueError for a column of another kind, UnknownTokenIdError (a KeyError), UnicodeDecodeError.
        """
        if errors is not None:
            check_choice("errors", errors, DECODE_ERRORS)
        return arrow.as_array(_core.decode_arrow(self._core, list_of_ids, errors=errors))

    def decode_stream(self) -> _core.DecodeStream:
        """An object that decodes id by id: push(id) -> str gives what is complete, finish() -> str the rest.

        It is for one thread at a time: a call while another runs is a RuntimeError.
        """
        return self._core.decode_stream()

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def n_vocab(self) -> int:
        """The largest id + 1, special tokens included."""
        return self._core.n_vocab

    def __len__(self) -> int:
        return self._core.n_vocab

    @property
    def vocab_size(self) -> int:
        """The largest id + 1, special tokens included: the rows that an embedding needs. Equal to `n_vocab`."""
        return self._core.n_vocab

    def get_vocab(self) -> dict[str, int]:
        """Token -> id as HuggingFace has it: tokens in the GPT-2 byte alphabet, special tokens as their text."""
        return formats.huggingface.vocab_of(self._model)

    @property
    def vocab(self) -> dict[int, bytes]:
        """id -> bytes, ids ascending, special tokens included as their UTF-8 bytes."""
        tokens = self._model.tokens()
        tokens.update((i, token.encode()) for token, i in self._model.special_tokens.items())
        return dict(sorted(tokens.items()))

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """(left bytes, right bytes) in rank order; one canonical pair per reachable token where ranks define them."""
        return self._core.merges()

    @property
    def special_tokens(self) -> dict[str, int]:
        """Literal -> id."""
        return dict(self._model.special_tokens)

    @property
    def pattern(self) -> Pattern:
        """The text of the pretoken pattern, or a tuple of them, each splitting what the one before left."""
        return self._model.pattern

    @property
    def normalizer(self) -> str | tuple[str, ...] | None:
        """What changes each text between special tokens before it is split: None, a step or a tuple of steps.

        Steps: "nfc", "nfd", "nfkc", "nfkd" (Unicode 16.0), and "prefix_space", a space before a text that begins with
        none. Every encoding method applies them, and training does not.
        """
        steps = self._model.normalizer
        return None if not steps else steps[0] if len(steps) == 1 else steps

    @property
    def is_lossless(self) -> bool:
        """Whether decode(encode(x)) == x for every text: no normaliser, a token for each of the 256 bytes, and no
        special token that takes white space along."""
        return not self._model.normalizer and not self._model.missing_bytes() and not self._model.strips

    @property
    def special_rules(self) -> dict[str, tuple[str, ...]]:
        """Literal -> the rules of a special token that does not count wherever it stands.

        "lstrip", "rstrip": it takes the white space before or behind it along, which decoding does not give back.
        "single_word": only where no word character is next to it. "normalized": only in what is left after the others.
        "ordinary": it stays text unless `allowed_special` names it. Files of HuggingFace have such tokens.
        """
        rules: dict[str, tuple[str, ...]] = {}
        for literal, rule in self._model.special_rules:
            rules[literal] = (*rules.get(literal, ()), rule)
        return rules

    def with_normalizer(self, normalizer: str | Sequence[str] | None) -> Tokenizer:
        """The same tokenizer with this normaliser (see `normalizer`), or with none; ValueError for an unknown step."""
        return Tokenizer.from_model(self._model.replaced(normalizer=checked_normalizer(normalizer)), self._config)

    @property
    def decode_errors(self) -> DecodeErrors:
        """How malformed bytes are decoded by default: "strict", "replace" or "ignore"."""
        return self._model.decode_errors

    @property
    def config(self) -> TrainingConfig | None:
        """The training configuration; None for a tokenizer that was loaded or constructed."""
        return self._config

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """uint16 when every id fits, else uint32."""
        return np.dtype(np.uint16 if self.n_vocab <= 65536 else np.uint32)

    def block_encoder(
        self,
        *,
        begin_id: int | None = None,
        end_id: int | None = None,
        specials: str = "recognise",
        threads: int = 0,
    ) -> _core.BlockEncoder:
        """An encoder of blocks of documents, as a `Corpus` reads them.

        begin_id and end_id are put before and after each document. specials: literals of special tokens are their ids
        ("recognise"), plain text ("ordinary") or a SpecialTokenError ("error"). Raises ValueError for an id that the
        tokenizer does not have. The encoder is for one thread at a time: a call while another runs is a RuntimeError.
        """
        for name, id in (("begin_id", begin_id), ("end_id", end_id)):
            if id is not None and check_int(name, id, least=0) >= self.n_vocab:
                raise ValueError(f"{name} is {id}, which is no id of this tokenizer; its ids are below {self.n_vocab}")
        check_choice("specials", specials, SPECIALS)
        return _core.BlockEncoder(
            self._core, begin_id=begin_id, end_id=end_id, specials=specials, threads=resolve_threads(threads)
        )

    @property
    def model(self) -> Model:
        """The tokenizer's definition as columns; file formats translate it."""
        return self._model

    def token_to_id(self, token: bytes | str) -> int | None:
        """The id of a token, a str taken for a special token first; None when there is none."""
        if isinstance(token, str):
            special = self._model.special_tokens.get(token)
            return special if special is not None else self._core.token_to_id(token.encode())
        if not isinstance(token, bytes):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        found = self._core.token_to_id(token)
        if found is not None:
            return found
        return self._model.special_tokens.get(token.decode(errors="surrogateescape"))

    def id_to_token(self, id: int) -> bytes:
        """The bytes of a token; raises UnknownTokenIdError (a KeyError)."""
        return self._core.decode_bytes([id])

    @property
    def tokenizer_config(self) -> dict[str, Any]:
        """The settings that a model folder's tokenizer_config.json holds: names of special tokens, chat template, ...

        They change no ids. Saved by `save_pretrained` and in pairloom's own files.
        """
        return config_of(self._model)

    def with_tokenizer_config(self, **settings: Any) -> Tokenizer:
        """The same tokenizer with these settings changed, or removed where they are None.

        A setting whose name ends in _token (bos_token, eos_token, pad_token, unk_token) must be one of the special
        tokens: else ValueError.
        """
        config = self.tokenizer_config
        for name, value in settings.items():
            if (
                name.endswith("_token")
                and value is not None
                and (not isinstance(value, str) or value not in self._model.special_tokens)
            ):
                raise ValueError(f"{name} is {shown(value)}, which is no special token; add_special_tokens adds it")
            config[name] = value
        kept = {name: value for name, value in config.items() if value is not None or name not in settings}
        try:
            text = canonical_json(kept) if kept else None
        except (TypeError, ValueError) as error:
            raise ValueError(f"the settings must be what JSON can hold: {error}") from None
        return Tokenizer.from_model(self._model.replaced(tokenizer_config=text), self._config)

    def _named_id(self, name: str) -> int | None:
        literal = literal_of(self.tokenizer_config.get(name))
        return None if literal is None else self._model.special_tokens.get(literal)

    @property
    def bos_token_id(self) -> int | None:
        """The id of the token that begins a text, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("bos_token")

    @property
    def eos_token_id(self) -> int | None:
        """The id of the token that ends a text, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("eos_token")

    @property
    def pad_token_id(self) -> int | None:
        """The id of the token that fills a batch, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("pad_token")

    @property
    def unk_token_id(self) -> int | None:
        """The id of the token named for unknown text; encoding never gives it, since bytes can be any text."""
        return self._named_id("unk_token")

    @property
    def chat_template(self) -> str | None:
        """The text of the chat template, which pairloom keeps and does not run; of several, the one named default."""
        found = self.tokenizer_config.get("chat_template")
        if isinstance(found, list):
            named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
            found = named.get("default")
        return found if isinstance(found, str) else None

    @property
    def post_processor(self) -> str | None:
        """What HuggingFace adds around a text on request, as the JSON of a tokenizer.json; None if nothing.

        `encode(text, add_special_tokens=True)` runs it.
        """
        return self._model.post_processor

    def without_post_processor(self) -> Tokenizer:
        """The same tokenizer without the post-processor, for formats that cannot store it."""
        return Tokenizer.from_model(self._model.replaced(post_processor=None), self._config)

    def truncate_vocab(self, vocab_size: int, *, specials_counted: bool | None = None) -> Tokenizer:
        """The tokenizer that training to the smaller `vocab_size` would have given.

        vocab_size has the same meaning as in training. specials_counted: whether it counts the special tokens; required
        for a tokenizer with special tokens that was loaded or constructed, since files do not store it. Raises
        ValueError if it is missing then, when vocab_size is below the base vocabulary, or the tokenizer was not trained
        by merges.
        """
        return Tokenizer.from_model(
            vocabulary.truncated(self._model, vocab_size, self._config, specials_counted), self._config
        )

    def add_special_tokens(self, special_tokens: Specials) -> Tokenizer:
        """A new tokenizer with more special tokens: a list takes the next free ids, a dict names them."""
        return Tokenizer.from_model(vocabulary.with_special_tokens(self._model, special_tokens), self._config)

    def with_cache_bytes(self, cache_bytes: int) -> Tokenizer:
        """The same tokenizer, keeping at most `cache_bytes` of pretokens that it has met, for all its threads.

        Unless set that is 96 MiB, most of which only text of great variety fills; half as much again for the moment in
        which the cache is renewed. It changes speed, never ids.
        """
        tokenizer = Tokenizer.__new__(Tokenizer)
        tokenizer._hold(self._model, self._config, check_int("cache_bytes", cache_bytes, least=0))
        return tokenizer

    def token_byte_lengths(self, *, count_specials: bool = False) -> npt.NDArray[np.int64]:
        """Bytes of text for each id: int64 [n_vocab], 0 where an id is unused.

        A special token is no text and counts as 0, as bits per byte require; with count_specials it counts as
        the bytes of its literal.
        """
        lengths = self._core.token_byte_lengths()
        if not check_bool("count_specials", count_specials):
            lengths[list(self._model.special_tokens.values())] = 0
        return lengths

    def view(
        self,
        texts: str | Sequence[str] | Mapping[str, str],
        *,
        other: Tokenizer | None = None,
        specials: str = "recognise",
    ) -> View:
        """The texts as coloured tokens: a page that a notebook shows, and that `View.save` writes for a browser.

        texts: one text, several, or a dict from name to text; at most 8 MB in all. other: a tokenizer to show beside
        this one, differences marked. specials: as in `encode_file`. Raises ValueError for more text.
        """
        from pairloom.view.view import View

        check_choice("specials", specials, SPECIALS)
        if isinstance(texts, Mapping):
            named = [(check_str("the name of a text", name), text) for name, text in texts.items()]
        elif isinstance(texts, str):
            named = [("text", texts)]
        else:
            named = [(f"text {number}", text) for number, text in enumerate(_text_list(texts), start=1)]
        sides = [("the tokenizer", self)]
        if other is not None:
            sides.append(("the other tokenizer", check_tokenizer("other", other)))
        return View(sides, named, specials=specials)

    def native_file(self) -> bytes:
        """The bytes that `save` writes in pairloom's own format; they are kept, for pickles and manifests."""
        if self._native is None:
            self._native = formats.native.write(self._model)
        return self._native

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __repr__(self) -> str:
        pattern = patterns.pattern_name(self.pattern) or self.pattern
        normalizer = f", normalizer={self.normalizer!r}" if self.normalizer else ""
        rules = f", special_rules={self.special_rules!r}" if self._model.special_rules else ""
        specials = f"special_tokens={self.special_tokens!r}{rules}"
        return f"Tokenizer(n_vocab={self.n_vocab}, pattern={pattern!r}, {specials}{normalizer})"

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, _: Any) -> Tokenizer:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.native_file(), self._config)


def check_tokenizer(name: str, value: Any) -> Tokenizer:
    """`value`, if it is a Tokenizer; else TypeError."""
    if not isinstance(value, Tokenizer):
        raise TypeError(f"{name} must be a Tokenizer, not {type(value).__name__}; Tokenizer.load reads one from a file")
    return value


# The tasks of an engine's worker bring the same tokenizer again and again.
@lru_cache(maxsize=1)
def _unpickled(data: bytes, config: TrainingConfig | None = None) -> Tokenizer:
    return Tokenizer.from_model(formats.native.read(data, "the pickled tokenizer", legacy=True), config)


def _text_list(texts: Any) -> list[str]:
    """The texts as a list; a bare str is a TypeError."""
    if isinstance(texts, list):
        return texts
    check_texts("texts", texts)
    return list(texts)
