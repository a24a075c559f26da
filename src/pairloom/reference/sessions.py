"""Sessions by their definition: encode the whole text again after each call, and compare.

A session is a text that grows at its end, as a conversation does; its ids are always those of the whole text.
"""

from collections.abc import Callable

__all__ = ["Session"]


class Session:
    """A text and its ids by `encode`.

    >>> session = Session(lambda text: [len(word) for word in text.split()], "one th")
    >>> session.append("ree")
    (1, [5])
    """

    def __init__(self, encode: Callable[[str], list[int]], text: str = "") -> None:
        self._encode = encode
        self.text, self.ids = text, encode(text)

    def append(self, text: str) -> tuple[int, list[int]]:
        """(keep, ids): the first `keep` ids stay, and `ids` follow them; `keep` is the most that is true."""
        return self._change(self.text + text)

    def truncate(self, n_chars: int) -> tuple[int, list[int]]:
        """Back to the first `n_chars` characters."""
        if not 0 <= n_chars <= len(self.text):
            raise ValueError(f"a session of {len(self.text)} characters cannot be cut back to {n_chars}")
        return self._change(self.text[:n_chars])

    def fork(self) -> "Session":
        """Another session with the same text."""
        return Session(self._encode, self.text)

    def _change(self, text: str) -> tuple[int, list[int]]:
        ids = self._encode(text)
        pairs = zip(self.ids, ids, strict=False)
        keep = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(self.ids), len(ids)))
        self.text, self.ids = text, ids
        return keep, ids[keep:]
