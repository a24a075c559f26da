"""Encoding of an iterable of str, piece by piece."""

from collections.abc import Iterable, Iterator

from pairloom import _core
from pairloom._internal.arguments import check_str


def encode_pieces(stream: _core.StreamEncoder, pieces: Iterable[str]) -> Iterator[int]:
    """Yields the ids of the joined pieces; errors name the index of the piece."""
    for index, piece in enumerate(pieces):
        if not isinstance(piece, str):
            check_str(f"iterable[{index}]", piece)
        try:
            ids = stream.push(piece)
        except UnicodeEncodeError as error:
            error.reason = f"{error.reason}; the text is iterable[{index}]"
            raise
        yield from ids
    yield from stream.finish()
