"""A stand-in for tiktoken.Encoding (0.14): its public methods, arguments, results and errors, run by a Tokenizer.

Made by `Tokenizer.as_tiktoken`; tiktoken itself is not needed. It lacks only encode_with_unstable, tiktoken's
experimental method for text that may continue. As in tiktoken, special tokens in a text raise ValueError by default,
pairs of surrogates become one character and lone ones U+FFFD.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_texts
from pairloom.errors import SpecialTokenError, UnknownTokenIdError
from pairloom.formats import ranks
from pairloom.formats.shared.tiktoken_pattern import for_tiktoken

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

T = TypeVar("T")
_NONE: frozenset[str] = frozenset()


class Encoding:
    """A stand-in for tiktoken.Encoding, run by a pairloom Tokenizer; tiktoken's documentation applies."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.special_tokens
        self.max_token_value = tokenizer.n_vocab - 1
        self._special_ids = frozenset(self._special_tokens.values())

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (self.name, self._tokenizer)

    # Encoding ---------------------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the ids of `text`; special tokens are plain text."""
        try:
            return self._tokenizer.encode_ordinary(text)
        except UnicodeEncodeError:
            return self._tokenizer.encode_ordinary(_repaired(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Returns the ids of `text`. Raises ValueError if it holds a disallowed special token: by default any."""
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        try:
            return self._tokenizer.encode(text, allowed_special=allowed, disallowed_special=disallowed)
        except SpecialTokenError:
            self._refuse(text, allowed, disallowed)
        except UnicodeEncodeError:
            return self.encode(_repaired(text), allowed_special=allowed, disallowed_special=disallowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:
        """Like `encode`, as a uint32 array. As in tiktoken, a lone surrogate raises UnicodeEncodeError here."""
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        try:
            found = self._tokenizer.encode_to_numpy(text, allowed_special=allowed, disallowed_special=disallowed)
        except SpecialTokenError:
            self._refuse(text, allowed, disallowed)
        return found.astype(np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int | None = 8) -> list[list[int]]:
        """Returns the ids of each text; special tokens are plain text."""
        return self.encode_batch(text, num_threads=num_threads, allowed_special=_NONE, disallowed_special=())

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int | None = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """Returns the ids of each text. Raises ValueError if one holds a disallowed special token: by default any."""
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        _check_threads(num_threads)
        check_texts("text", text)
        how = {"allowed_special": allowed, "disallowed_special": disallowed}
        texts = list(text)
        try:
            return self._tokenizer.encode_batch(texts, threads=num_threads or 0, **how)
        except (UnicodeEncodeError, SpecialTokenError):
            # Encode one text at a time: this repairs surrogates, or raises the error of the first bad text.
            return [self.encode(each, **how) for each in texts]

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Returns the id of one token. Raises KeyError if there is no such token."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(data, bytes):
            raise TypeError(f"a token must be str or bytes, not {type(data).__name__}")
        found = self._tokenizer.token_to_id(data)
        if found is None:
            raise KeyError(data)
        return found

    def _choice(self, allowed: Any, disallowed: Any) -> tuple[Any, Any]:
        """Returns both arguments in the form that Tokenizer expects."""
        if disallowed == "all":
            return allowed or _NONE, "all"
        return allowed, frozenset(disallowed or ())

    def _refuse(self, text: str, allowed: Any, disallowed: Any) -> NoReturn:
        tokens = self.special_tokens_set - set(allowed) if disallowed == "all" else disallowed
        found = re.search("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))), text)
        token = found.group() if found else ""
        raise ValueError(
            f"Encountered text corresponding to disallowed special token {token!r}.\n"
            "If you want this text to be encoded as a special token, "
            f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
            "If you want this text to be encoded as normal text, disable the check for this token "
            f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
            "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
        ) from None

    # Decoding ---------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of ids. Raises KeyError for an unknown id."""
        return _decoded(self._tokenizer.decode_bytes, tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Returns the text of ids; `errors` is the error handler for malformed UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Returns the bytes of one id. Raises KeyError for an unknown id."""
        return _decoded(lambda tokens: self._tokenizer.id_to_token(tokens[0]), (token,))

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Returns the bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Returns the text of ids, and the index of the character in which each token begins."""
        return _decoded(self._tokenizer.decode_with_offsets, tokens)

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int | None = 8
    ) -> list[str]:
        """Returns the text of each list of ids."""
        _check_threads(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int | None = 8) -> list[bytes]:
        """Returns the bytes of each list of ids."""
        _check_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # What it is -------------------------------------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """Returns the bytes of all ordinary tokens, sorted."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. Raises KeyError if there is no such token."""
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The literals of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Returns whether the id is a special token's."""
        assert isinstance(token, int)
        return token in self._special_ids

    @property
    def n_vocab(self) -> int:
        """The largest id + 1."""
        return self.max_token_value + 1

    @functools.cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return ranks.write(self._tokenizer.model)

    @functools.cached_property
    def _pat_str(self) -> str:
        return for_tiktoken(self._tokenizer.pattern)


def _repaired(text: str) -> str:
    """Joins pairs of surrogates and replaces lone ones by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_threads(num_threads: int | None) -> None:
    if num_threads is not None and num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")


def _decoded(decode: Callable[[Sequence[int]], T], tokens: Sequence[int]) -> T:
    try:
        return decode(tokens)
    except UnknownTokenIdError:
        if any(not 0 <= int(token) < 1 << 32 for token in tokens):
            raise OverflowError("an id is not between 0 and 4294967295") from None
        raise
