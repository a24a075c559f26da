"""A stand-in for tiktoken.Encoding (0.14): the same methods, arguments, results and errors, run by a Tokenizer.

Made by `Tokenizer.as_tiktoken`. tiktoken itself is not needed. Special tokens in a text raise ValueError by default, as
there. Lone surrogates become U+FFFD and pairs of them one character, as there.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_texts
from pairloom.errors import SpecialTokenError, UnknownTokenIdError
from pairloom.formats import ranks
from pairloom.formats.shared.tiktoken_pattern import for_tiktoken
from pairloom.pretokens import pretokenize

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

__all__ = ["Encoding"]

T = TypeVar("T")
_NONE: frozenset[str] = frozenset()


class Encoding:
    """tiktoken.Encoding, run by a pairloom Tokenizer; its docstrings are tiktoken's documentation."""

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
        """The ids of `text`; special tokens are plain text."""
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
        """The ids of `text`. Raises ValueError for a disallowed special token in it: by default for any."""
        return self._with_specials(self._tokenizer.encode, text, allowed_special, disallowed_special)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:
        """The same as an array of uint32; half of a surrogate pair raises UnicodeEncodeError here, as in tiktoken."""
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        try:
            found = self._tokenizer.encode_to_numpy(text, allowed_special=allowed, disallowed_special=disallowed)
        except SpecialTokenError:
            self._refuse(text, allowed, disallowed)
        except UnicodeEncodeError:
            # Special tokens come first.
            self.encode(text, allowed_special=allowed, disallowed_special=disallowed)
            raise
        return found.astype(np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int | None = 8) -> list[list[int]]:
        """The ids of each text; special tokens are plain text."""
        return self._batch(self.encode_ordinary, text, num_threads, (), ())

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int | None = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """The ids of each text. Raises ValueError for a disallowed special token in one: by default for any."""
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        one = functools.partial(self.encode, allowed_special=allowed, disallowed_special=disallowed)
        return self._batch(one, text, num_threads, allowed, disallowed)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """(stable ids, completions): ids that more text cannot change, and what the rest may become."""
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        n_unstable = self._n_in_last_pretoken(text, self._choice(allowed_special, disallowed_special)[0])
        n_unstable = self._with_spaces_before(ids, n_unstable)
        cut = len(ids) - n_unstable
        rest = self.decode_bytes(ids[cut:])
        return ids[:cut], [list(sequence) for sequence in self._completions(rest)] if rest else []

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token; KeyError if there is none."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(data, bytes):
            raise TypeError(f"a token must be str or bytes, not {type(data).__name__}")
        found = self._tokenizer.token_to_id(data)
        if found is None:
            raise KeyError(data)
        return found

    def _with_specials(self, encode: Callable[..., T], text: str, allowed_special: Any, disallowed_special: Any) -> T:
        allowed, disallowed = self._choice(allowed_special, disallowed_special)
        try:
            return encode(text, allowed_special=allowed, disallowed_special=disallowed)
        except SpecialTokenError:
            self._refuse(text, allowed, disallowed)
        except UnicodeEncodeError:
            return self._with_specials(encode, _repaired(text), allowed, disallowed)

    def _choice(self, allowed: Any, disallowed: Any) -> tuple[Any, Any]:
        """The arguments as a Tokenizer takes them: where all are meant, "all"."""
        if disallowed == "all" and allowed != "all":
            return allowed or _NONE, "all"
        if disallowed == "all":
            return "all", ()
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

    def _batch(
        self, one: Callable[[str], list[int]], texts: Iterable[str], threads: int | None, allowed: Any, disallowed: Any
    ) -> list[list[int]]:
        _check_threads(threads)
        check_texts("text", texts)
        texts = list(texts)
        try:
            return self._tokenizer.encode_batch(
                texts, threads=threads or 0, allowed_special=allowed, disallowed_special=disallowed
            )
        except (UnicodeEncodeError, SpecialTokenError):
            # One after the other, for the repair or the error of the first that is at fault.
            return [one(text) for text in texts]

    # Decoding ---------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids; KeyError for an unknown one."""
        return _decoded(self._tokenizer.decode_bytes, tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids, malformed bytes by the error handler `errors`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id; KeyError for an unknown one."""
        return _decoded(lambda tokens: self._tokenizer.id_to_token(tokens[0]), (token,))

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of ids, and the character in which each token begins."""
        return _decoded(self._tokenizer.decode_with_offsets, tokens)

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int | None = 8
    ) -> list[str]:
        """The text of each list of ids."""
        _check_threads(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int | None = 8) -> list[bytes]:
        """The bytes of each list of ids."""
        _check_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # What it is -------------------------------------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return list(self._sorted_tokens)

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>; KeyError if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The literals of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether the id is that of a special token."""
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

    @functools.cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    # Bytes that are no text, and what more text may change -------------------------------------------------------

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of one pretoken."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        whole = self._mergeable_ranks.get(data)
        return self._merged(data) if whole is None else [whole]

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return [i for piece in pretokenize(text, self._tokenizer.pattern) for i in self._encode_single_piece(piece)]

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes; those that are not UTF-8 join the last pretoken before them."""
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            valid = text[: error.start].decode()
        ids = self.encode_ordinary(valid)
        n_unstable = self._with_spaces_before(ids, self._n_in_last_pretoken(valid, _NONE))
        cut = len(ids) - n_unstable
        rest = self.decode_bytes(ids[cut:]) + text[len(valid.encode()) :]
        return ids[:cut] + self._encode_single_piece(rest)

    def _merged(self, data: bytes) -> list[int]:
        """Merges neighbours of least rank, leftmost first; quadratic, for short pieces."""
        parts = [data[at : at + 1] for at in range(len(data))]
        rank_of = self._mergeable_ranks
        while len(parts) > 1:
            found = [rank_of.get(left + right, len(rank_of) << 24) for left, right in pairwise(parts)]
            at = min(range(len(found)), key=found.__getitem__)
            if found[at] == len(rank_of) << 24:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [rank_of[part] for part in parts]

    def _n_in_last_pretoken(self, text: str, allowed: Any) -> int:
        """How many ids the last pretoken has; 0 after a special token."""
        specials = self.special_tokens_set if allowed == "all" else self.special_tokens_set & set(allowed)
        if specials:
            text = re.split("|".join(map(re.escape, sorted(specials, key=len, reverse=True))), text)[-1]
        pieces = pretokenize(_repaired(text), self._tokenizer.pattern)
        return len(self.encode_ordinary(pieces[-1].decode())) if pieces else 0

    def _with_spaces_before(self, ids: list[int], n_unstable: int) -> int:
        """`n_unstable`, and all tokens of nothing but spaces before those, if the first of those is one too."""

        def is_all_space(token_id: int) -> bool:
            return not self.decode_single_token_bytes(token_id).strip(b" \n\t")

        if n_unstable and is_all_space(ids[-n_unstable]):
            while n_unstable < len(ids) and is_all_space(ids[-n_unstable - 1]):
                n_unstable += 1
        return n_unstable

    def _completions(self, rest: bytes) -> set[tuple[int, ...]]:
        """What the last bytes of a text may become when more follow; found as tiktoken finds them."""
        found: set[tuple[int, ...]] = {(self._mergeable_ranks[token],) for token in self._tokens_from(rest)}
        for at in range(1, len(rest)):
            for token in self._tokens_from(rest[at:]):
                found.add(self._covering(rest[:at] + token, len(rest)))
        last = _last_character(rest)
        if len(rest) > len(last) and last and last.decode().isspace():
            found.add((*self._merged(rest[: -len(last)]), *self._merged(last)))
        return found

    def _tokens_from(self, prefix: bytes) -> Iterable[bytes]:
        """The tokens that begin with `prefix`."""
        tokens = self._sorted_tokens
        at = bisect_left(tokens, prefix)
        while at < len(tokens) and tokens[at].startswith(prefix):
            yield tokens[at]
            at += 1

    def _covering(self, possible: bytes, n_bytes: int) -> tuple[int, ...]:
        """The first ids of `possible` that hold its first `n_bytes`."""
        try:
            ids = self.encode_ordinary(possible.decode())
        except UnicodeDecodeError:
            ids = self._merged(possible)
        covered = 0
        for n, token_id in enumerate(ids, start=1):
            covered += len(self.decode_single_token_bytes(token_id))
            if covered >= n_bytes:
                return tuple(ids[:n])
        return tuple(ids)


def _last_character(data: bytes) -> bytes:
    """The bytes of the last character; empty where they are malformed."""
    for length in range(1, min(4, len(data)) + 1):
        try:
            text = data[-length:].decode()
        except UnicodeDecodeError:
            continue
        return data[-length:] if len(text) == 1 else b""
    return b""


def _repaired(text: str) -> str:
    """The text with pairs of surrogates joined, and half ones as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _check_threads(num_threads: int | None) -> None:
    if num_threads is not None and num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")


def _decoded(decode: Callable[[Sequence[int]], T], tokens: Sequence[int]) -> T:
    try:
        return decode(tokens)
    except UnknownTokenIdError:
        if any(not 0 <= int(token) < 1 << 32 for token in tokens):
            raise OverflowError("an id is not in the range of 0 to 4294967295") from None
        raise
