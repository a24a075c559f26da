"""Tokenizer: the public interface to training, encoding, decoding and files.

A tokenizer is immutable and can be used from many threads at once. It holds a `Model` (its definition) and the core's
encoder built from it. Its methods are in base classes, one module for each kind of work. This costs nothing at a call,
since CPython caches where it found a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pairloom._internal.arguments import check_choice, check_str
from pairloom._internal.warnings import warn
from pairloom.formats import MissingBytes, reader, with_missing_bytes
from pairloom.model import DecodeErrors, Pattern
from pairloom.patterns import pattern_name
from pairloom.tokenizer.base import SPECIALS, Specials
from pairloom.tokenizer.decode_methods import DecodeMethods
from pairloom.tokenizer.encode_methods import EncodeMethods, text_list
from pairloom.tokenizer.file_methods import FileMethods
from pairloom.tokenizer.settings_methods import SettingsMethods
from pairloom.tokenizer.training_methods import TrainingMethods
from pairloom.tokenizer.vocabulary_methods import VocabularyMethods

# Importing NumPy, training, corpora and other formats would triple the time of `pairloom encode --text hi`. So the
# modules that this command uses (this package, `model.py`, `formats`) import them in the functions that need them.
if TYPE_CHECKING:
    from pairloom.dropin.huggingface_tokenizer import HuggingFaceTokenizer
    from pairloom.dropin.tiktoken_encoding import Encoding
    from pairloom.view.view import View

__all__ = ["SPECIALS", "Tokenizer", "check_tokenizer"]


class Tokenizer(TrainingMethods, FileMethods, EncodeMethods, DecodeMethods, VocabularyMethods, SettingsMethods):
    """A byte-level BPE tokenizer: text to ids and back, without loss.

    Tokenizer(vocab, merges, special_tokens=None, *, pattern="gpt2", decode_errors="replace") takes a
    dict[int, bytes] and byte pairs in rank order. `special_tokens` is a list (each takes the id whose bytes match,
    else the next id after the largest) or a dict str -> id. Warns about tokens that the merges never make, and about a
    vocabulary without some of the 256 bytes (missing_bytes: as in `load`). Raises ValueError for merges whose parts or
    result are not in the vocabulary.
    """

    __slots__ = ()

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Specials | None = None,
        *,
        pattern: Pattern = "gpt2",
        decode_errors: DecodeErrors = "replace",
        missing_bytes: MissingBytes | None = None,
    ) -> None:
        from pairloom.vocabulary import from_bytes, unreachable_text

        model = from_bytes(vocab, merges, special_tokens, pattern=pattern, decode_errors=decode_errors)
        model = with_missing_bytes(model, "", missing_bytes)
        if (text := unreachable_text(model)) is not None:
            warn(text)
        self._init_from_model(model)

    def as_tiktoken(self, name: str = "pairloom") -> Encoding:
        """Returns an object that behaves like tiktoken.Encoding and runs on this tokenizer; tiktoken is not needed.

        As in tiktoken, special tokens in a text raise an error unless you call `encode(text, allowed_special="all")`.
        """
        from pairloom.dropin.tiktoken_encoding import Encoding

        return Encoding(check_str("name", name), self)

    def as_huggingface(self) -> HuggingFaceTokenizer:
        """Returns an object that encodes and decodes like tokenizers.Tokenizer and runs on this tokenizer.

        The tokenizers library is not needed. Raises FormatError for a post-processor that cannot be run.
        """
        from pairloom.dropin.huggingface_tokenizer import HuggingFaceTokenizer

        return HuggingFaceTokenizer(self)

    def view(
        self,
        texts: str | Sequence[str] | Mapping[str, str],
        *,
        other: Tokenizer | None = None,
        specials: str = "recognise",
    ) -> View:
        """Shows texts as coloured tokens, in a page that notebooks display and that `View.save` writes for a browser.

        texts: one text, several, or a dict from name to text; at most 8 MB in total, else ValueError. other: a
        tokenizer to show beside this one, with the differences marked. specials: as in `encode_file`.
        """
        from pairloom.view.view import View

        check_choice("specials", specials, SPECIALS)
        if isinstance(texts, Mapping):
            named = [(check_str("the name of a text", name), text) for name, text in texts.items()]
        elif isinstance(texts, str):
            named = [("text", texts)]
        else:
            named = [(f"text {number}", text) for number, text in enumerate(text_list(texts), start=1)]
        sides = [("the tokenizer", self)]
        if other is not None:
            sides.append(("the other tokenizer", check_tokenizer("other", other)))
        return View(sides, named, specials=specials)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __repr__(self) -> str:
        pattern = pattern_name(self.pattern) or self.pattern
        normalizer = f", normalizer={self._model.normalizer_names!r}" if self.normalizer else ""
        rules = f", special_rules={self.special_rules!r}" if self._model.special_rules else ""
        specials = f"special_tokens={self.special_tokens!r}{rules}"
        return f"Tokenizer(n_vocab={self.n_vocab}, pattern={pattern!r}, {specials}{normalizer})"

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, _: Any) -> Tokenizer:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.native_file(), self._model.training, self._cache_bytes)


def check_tokenizer(name: str, value: Any) -> Tokenizer:
    """Returns `value` if it is a Tokenizer; else raises TypeError."""
    if not isinstance(value, Tokenizer):
        raise TypeError(f"{name} must be a Tokenizer, not {type(value).__name__}; Tokenizer.load reads one from a file")
    return value


# The tasks of an engine's worker unpickle the same tokenizer again and again.
@lru_cache(maxsize=1)
def _unpickled(data: bytes, training: str | None, cache_bytes: int | None) -> Tokenizer:
    model = reader.read("pairloom", data, "the pickled tokenizer")
    tokenizer = Tokenizer.__new__(Tokenizer)
    tokenizer._init_from_model(model.replaced(training=training), cache_bytes)
    return tokenizer
