"""The methods that turn ids into text."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal import arrow
from pairloom._internal.arguments import check_bool, check_choice, check_several
from pairloom.model import DECODE_ERRORS
from pairloom.tokenizer.base import TokenizerBase

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["DecodeMethods"]


class DecodeMethods(TokenizerBase):
    """Decoding of ids, of many lists, of columns, and id by id."""

    __slots__ = ()

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
        import numpy as np

        skipped = self._skipped(skip)
        if isinstance(ids, np.ndarray):
            return ids[~np.isin(ids, skipped)] if ids.ndim == 1 else ids
        check_several("ids", "int", ids)
        found = frozenset(skipped)
        return [i for i in ids if (i if type(i) is int else _index_of(i)) not in found]

    def _skipped(self, skip: bool) -> list[int]:
        """The ids that decoding leaves out."""
        model = self._model
        special = model.special_tokens if check_bool("skip_special_tokens", skip) else {}
        return [i for token, i in special.items() if token not in model.plain_specials]

    def decode_with_offsets(self, ids: Iterable[int] | npt.NDArray[Any]) -> tuple[str, list[int]]:
        """(text, offsets): the text of `ids`, and the index of the character in which each token begins.

        As tiktoken has it: a token that begins inside a character has that one's index. Raises UnicodeDecodeError for
        malformed bytes, UnknownTokenIdError (a KeyError).
        """
        import numpy as np

        from pairloom.offsets import starts_of_tokens

        if not isinstance(ids, np.ndarray):
            check_several("ids", "int", ids)
            ids = list(ids)
        text, blob = self._core.decode(ids, "strict"), self._core.decode_bytes(ids)
        lengths = self._token_spans().lengths_of(ids)
        if len(lengths):
            # Decoding drops a space that encoding put before the text.
            lengths[0] -= int(lengths.sum()) - len(blob)
        return text, starts_of_tokens(blob, lengths).tolist()

    def decode_arrow(self, list_of_ids: Any, errors: str | None = None) -> Any:
        """The text of each row of an Arrow column of ids, as a column of string; a null stays a null.

        list_of_ids: list, large_list or fixed_size_list of any integer, from any library as in `encode_arrow`. errors:
        as in `decode`. The result is large_string from 2**31 bytes on. Raises TypeError for what is no Arrow column,
        ValueError for a column of another kind, UnknownTokenIdError (a KeyError), UnicodeDecodeError.
        """
        if errors is not None:
            check_choice("errors", errors, DECODE_ERRORS)
        return arrow.as_array(_core.decode_arrow(self._core, list_of_ids, errors=errors))

    def decode_stream(self, *, skip_special_tokens: bool = False) -> _core.DecodeStream:
        """An object that decodes id by id: push(id) -> str gives what is complete, finish() -> str the rest.

        skip_special_tokens: as in `decode`. It is for one thread at a time: a call while another runs is a
        RuntimeError.
        """
        return self._core.decode_stream(self._skipped(skip_special_tokens))


def _index_of(token_id: Any) -> int | None:
    """The id as an int, whichever library's integer it is; None for what is none, which decoding refuses."""
    try:
        return None if isinstance(token_id, bool) else operator.index(token_id)
    except TypeError:
        return None
