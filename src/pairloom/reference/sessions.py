"""Sessions by their definition: encode the whole text again after each call, and compare.

A session is a text that grows at its end, such as a conversation; its ids are always those of the whole text. Ids are
canonical if encoding their text returns the same ids.
"""

from collections.abc import Callable


class Session:
    """A text and the ids that `encode` returns for it.

    >>> session = Session(lambda text: [len(word) for word in text.split()], "one th")
    >>> session.append("ree")
    (1, [5])
    """

    def __init__(self, encode: Callable[[str], list[int]], text: str = "") -> None:
        self._encode = encode
        self.text, self.ids = text, encode(text)

    def append(self, text: str) -> tuple[int, list[int]]:
        """Returns (keep, ids): the first `keep` ids stay, and `ids` follow them; `keep` is as large as possible."""
        return self._change(self.text + text)

    def truncate(self, n_chars: int) -> tuple[int, list[int]]:
        """Cuts the text back to its first `n_chars` characters; returns (keep, ids)."""
        if not 0 <= n_chars <= len(self.text):
            raise ValueError(f"a session of {len(self.text)} characters cannot be truncated to {n_chars}")
        return self._change(self.text[:n_chars])

    def fork(self) -> "Session":
        """Returns a new session with the same text."""
        return Session(self._encode, self.text)

    def _change(self, text: str) -> tuple[int, list[int]]:
        ids = self._encode(text)
        keep = n_common(self.ids, ids)
        self.text, self.ids = text, ids
        return keep, ids[keep:]


def n_common(old: list[int], new: list[int]) -> int:
    """Returns the length of the common prefix."""
    differing = (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(differing, min(len(old), len(new)))


def canonicalize(
    ids: list[int], encode: Callable[[str], list[int]], decode: Callable[[list[int]], str]
) -> tuple[list[int], int | None]:
    """Returns the ids that `encode` returns for the text of `ids`, and the index of the first difference, or None.

    >>> canonicalize([1, 2], lambda text: [3], lambda ids: "a")
    ([3], 0)
    """
    canonical = encode(decode(ids))
    return canonical, None if canonical == ids else n_common(ids, canonical)
