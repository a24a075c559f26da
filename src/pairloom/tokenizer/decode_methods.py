"""The methods that turn ids into text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_choice, check_iterable
from pairloom.model import DECODE_ERRORS
from pairloom.tokenizer.base import TokenizerBase

if TYPE_CHECKING:
    import numpy.typing as npt


class DecodeMethods(TokenizerBase):
    """Decodes ids: one list, many lists, an Arrow column, or id by id."""

    __slots__ = ()

    def decode(
        self,
        ids: Iterable[int] | npt.NDArray[Any],
        errors: str | None = None,
        *,
        skip_special_tokens: bool = False,
    ) -> str:
        """Returns the text of `ids` (list, integer array or iterable of int).

        skip_special_tokens: leave out special tokens, except those that HuggingFace counts as text.
        errors: "strict" raises UnicodeDecodeError on malformed bytes, "replace" writes U+FFFD, "ignore" drops them;
        None means the tokenizer's `decode_errors`. Raises UnknownTokenIdError (a KeyError).
        """
        if errors is None and skip_special_tokens is False:
            return self._core.decode(ids)
        if errors is not None:
            check_choice("errors", errors, DECODE_ERRORS)
        return self._core.decode(ids, errors, check_bool("skip_special_tokens", skip_special_tokens))

    def decode_bytes(self, ids: Iterable[int] | npt.NDArray[Any]) -> bytes:
        """Returns the bytes of `ids`; raises UnknownTokenIdError (a KeyError)."""
        return self._core.decode_bytes(ids)

    def decode_batch(
        self, list_of_ids: Iterable[Iterable[int] | npt.NDArray[Any]], *, skip_special_tokens: bool = False
    ) -> list[str]:
        """Returns the text of each list of ids; errors name the list's index. skip_special_tokens: as in `decode`."""
        return self._core.decode_batch(list_of_ids, check_bool("skip_special_tokens", skip_special_tokens))

    def decode_arrow(self, list_of_ids: Any, errors: str | None = None) -> Any:
        """Decodes each row of an Arrow column of ids, and returns a string column; nulls stay null.

        list_of_ids: a list, large_list or fixed_size_list of any integer type, from any library, as in `encode_arrow`.
        errors: as in `decode`. Long results are large_string. Raises TypeError for anything but an Arrow column,
        ValueError for a column of another type, UnknownTokenIdError (a KeyError), UnicodeDecodeError.
        """
        from pairloom._internal import arrow

        if errors is None:
            return arrow.decoded(list_of_ids, lambda rows: self._core.decode_batch(rows, False))
        check_choice("errors", errors, DECODE_ERRORS)
        return arrow.decoded(list_of_ids, lambda rows: [self._core.decode(ids, errors) for ids in rows])

    def decode_with_offsets(self, ids: Iterable[int] | npt.NDArray[Any]) -> tuple[str, list[int]]:
        """Returns (text, offsets): the text of `ids`, and the index of the character in which each token begins.

        As in tiktoken, a token that begins inside a character gets that character's index. Raises UnicodeDecodeError
        for malformed bytes, UnknownTokenIdError (a KeyError).
        """
        import numpy as np

        from pairloom.offsets import starts_of_tokens

        if not isinstance(ids, np.ndarray):
            check_iterable("ids", "int", ids)
            ids = list(ids)
        text, blob = self._core.decode(ids, "strict"), self._core.decode_bytes(ids)
        return text, starts_of_tokens(blob, self._token_spans().lengths_of(ids)).tolist()

    def canonicalize(self, ids: Iterable[int] | npt.NDArray[Any]) -> tuple[list[int], int | None]:
        """Returns (canonical, first): what `encode` returns for the text of `ids`, and the index of the first change.

        `first` is None if nothing changes. Raises UnicodeDecodeError if the ids do not decode to text (part of a
        character, for example), and UnknownTokenIdError (a KeyError).
        """
        check_iterable("ids", "int", ids)
        given = list(ids)
        canonical = self._core.encode(self._core.decode(given, "strict"))
        if given == canonical:
            return canonical, None
        pairs = zip_longest(given, canonical)
        return canonical, next(at for at, (one, other) in enumerate(pairs) if one != other)

    def is_canonical(self, ids: Iterable[int] | npt.NDArray[Any]) -> bool:
        """Whether `encode` returns exactly `ids` for their text; False if they do not decode to text."""
        try:
            return self.canonicalize(ids)[1] is None
        except UnicodeDecodeError:
            return False

    def decode_stream(
        self, prompt_ids: Iterable[int] | npt.NDArray[Any] = (), *, skip_special_tokens: bool = False
    ) -> _core.DecodeStream:
        """Returns an object that decodes id by id: push(id) returns the text that is complete, finish() the rest.

        prompt_ids: the ids before the first push. Their text is not returned, except a character that they begin and
        later ids complete. skip_special_tokens: as in `decode`. Use the object from one thread at a time: a concurrent
        call raises RuntimeError.
        """
        return self._core.decode_stream(prompt_ids, check_bool("skip_special_tokens", skip_special_tokens))
