"""Encoding of text that comes piece by piece: an iterable of str, or a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import check_str

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["encode_pieces", "encode_pipe"]


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


def encode_pipe(
    encoder: _core.BlockEncoder, path: str, id_dtype: np.dtype[Any], report: Any
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The ids [n] of the text from a pipe, read in Python so that waiting can be interrupted."""
    import numpy as np

    from pairloom._internal.background_io import ReadAhead
    from pairloom.corpus import Corpus

    parts = [np.zeros(0, id_dtype)]
    with ReadAhead(Corpus.of_stream(path).read()) as blocks:
        for block in blocks:
            ids, _, _ = encoder.push(block.documents, name=path)
            parts.append(ids.copy())
            if report is not None:
                report("encode", block.done, 0)
    return np.concatenate(parts)
