"""TokenizerBase: a tokenizer's state (its model and the core's encoder), and how to build one from a model."""

from __future__ import annotations

import sys
import weakref
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

from pairloom import _core
from pairloom.errors import FormatError, PatternError
from pairloom.formats import PathLike as PathLike
from pairloom.formats.reader import Specials as Specials
from pairloom.model import Model
from pairloom.special_policies import Allowed, literals, policy_of

if TYPE_CHECKING:
    import numpy as np

    from pairloom.offsets import TokenSpans
    from pairloom.post_processing import PostProcessor

SPECIALS = ("recognise", "ordinary", "error")
"""How special tokens in files and streams are treated: as their ids, as plain text, or as a SpecialTokenError."""


class TokenizerBase:
    """The state of a `Tokenizer`. The classes with its methods, one for each kind of work, derive from this one."""

    __slots__ = ("_cache_bytes", "_core", "_model", "_native", "_policy_of", "_post_processor", "_spans")

    def _init_from_model(self, model: Model, cache_bytes: int | None = None) -> None:
        self._model = model
        self._cache_bytes = cache_bytes
        self._native: bytes | None = None
        self._post_processor: PostProcessor | None = None
        self._spans: TokenSpans | None = None
        # Bounded, because the core builds a matcher for each policy.
        self._policy_of = lru_cache(maxsize=16)(partial(policy_of, model))
        self._core = _core.Encoder(
            columns=model.columns,
            ignore_merges=model.ignore_merges,
            special_tokens=dict(model.special_tokens),
            pattern=model.pattern,
            decode_errors=model.decode_errors,
            normalizer=model.normalizer,
            special_rules=list(model.special_rules),
            cache_bytes=cache_bytes,
            skipped=[i for token, i in model.special_tokens.items() if token not in model.plain_specials],
        )
        # In free-threaded Python, reading an object made by another thread from a slot locks the tokenizer at each
        # call, so threads wait for each other. An object that has had a weak reference is read without the lock.
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            weakref.ref(self._core)

    @classmethod
    def from_model(cls, model: Model, *, name: str | None = None) -> Self:
        """Returns a tokenizer with the given model; all formats and trainers end here.

        name: the file that the model was read from, for messages. Raises PatternError for a pattern that does not
        compile, FormatError for a model that is too large for the core's tables.
        """
        if not isinstance(model, Model):
            raise TypeError(f"model must be a Model, not {type(model).__name__}; use Tokenizer.load for files")
        tokenizer = cls.__new__(cls)
        try:
            tokenizer._init_from_model(model)
        except (FormatError, PatternError) as error:
            if name is None:
                raise
            raise type(error)(f"{name}: {error}") from None
        return tokenizer

    @property
    def n_vocab(self) -> int:
        """The largest id + 1, special tokens included."""
        return self._core.n_vocab

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """uint16 if every id fits, else uint32."""
        import numpy as np

        return np.dtype(np.uint16 if self.n_vocab <= 65536 else np.uint32)

    def _policy(self, allowed: Allowed, disallowed: Allowed) -> _core.SpecialPolicy | None:
        return self._policy_of(literals("allowed_special", allowed), literals("disallowed_special", disallowed))

    def _token_spans(self) -> TokenSpans:
        if self._spans is None:
            from pairloom.offsets import TokenSpans

            self._spans = TokenSpans(self._model, self._core)
        return self._spans
