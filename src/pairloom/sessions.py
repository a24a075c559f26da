"""Sessions: the ids of a text that grows at its end, such as a conversation. Defined in `reference.sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

from pairloom import _core
from pairloom._internal.arguments import check_int

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Change(NamedTuple):
    """The change that a call made: the first `keep` ids stay, and `ids` (an array [n]) follow them."""

    keep: int
    ids: npt.NDArray[np.unsignedinteger[Any]]


@final
class Session:
    """A text that grows at its end, and its ids, which always equal `tokenizer.encode(text)`.

    `Tokenizer.session` makes it. Use it from one thread at a time: a concurrent call raises RuntimeError. Forks are
    independent.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Session) -> None:
        self._core = core

    def append(self, text: str) -> Change:
        """Appends `text`. The time depends on `text`, and hardly on the length of the session.

        Raises the errors of `encode` (SpecialTokenError, UnicodeEncodeError, ...) and then changes nothing.
        """
        return Change(*self._core.append(text))

    def truncate(self, n_chars: int) -> Change:
        """Cuts the text back to its first `n_chars` characters; ValueError if it has fewer."""
        return Change(*self._core.truncate(check_int("n_chars", n_chars, least=0)))

    def fork(self) -> Session:
        """Returns an independent session with the same text; the two share most of the memory."""
        return Session(self._core.fork())

    @property
    def ids(self) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The ids of the whole text: a new array [n] of the tokenizer's `id_dtype`."""
        return self._core.ids

    @property
    def text(self) -> str:
        """The whole text."""
        return self._core.text

    @property
    def n_chars(self) -> int:
        """The number of characters in the text."""
        return self._core.n_chars

    def __len__(self) -> int:
        return len(self._core)

    def __copy__(self) -> Session:
        return self.fork()

    def __deepcopy__(self, _: Any) -> Session:
        return self.fork()

    def __repr__(self) -> str:
        return f"Session(n_chars={self.n_chars}, n_ids={len(self)})"
