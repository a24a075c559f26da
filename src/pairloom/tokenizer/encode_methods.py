"""The methods that turn text into ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from pairloom import _core
from pairloom._internal.arguments import (
    check_bool,
    check_choice,
    check_int,
    check_path,
    check_str,
    check_texts,
    resolve_threads,
    shown,
)
from pairloom._internal.progress import Progress, reporter
from pairloom.special_policies import ALL, NONE, Allowed
from pairloom.tokenizer.base import SPECIALS, PathLike, TokenizerBase

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pairloom.sessions import Session

_ALL: Final = 0
"""The default of `threads` for one text. It is compared by identity, so that short texts need no check."""


class EncodeMethods(TokenizerBase):
    """Encodes one text, many texts, Arrow columns, files and streams; counts tokens."""

    __slots__ = ()

    @overload
    def encode(
        self,
        text: str,
        pair: str | None = None,
        *,
        add_special_tokens: bool = False,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
        dropout: float | None = None,
        seed: int | None = None,
        threads: int = 0,
        max_tokens: None = None,
    ) -> list[int]: ...

    @overload
    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
        max_tokens: int,
    ) -> tuple[list[int], int]: ...

    def encode(
        self,
        text: str,
        pair: str | None = None,
        *,
        add_special_tokens: bool = False,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
        dropout: float | None = None,
        seed: int | None = None,
        threads: int = 0,
        max_tokens: int | None = None,
    ) -> list[int] | tuple[list[int], int]:
        """Returns the ids of `text`, with special tokens recognised; with `pair`, the ids of both texts.

        The post-processor of a tokenizer.json can put the second text first.

        add_special_tokens: add the special tokens that the post-processor of a tokenizer.json puts around texts
        (BOS, EOS).
        allowed_special: the special tokens that become their ids, "all" by default; the others are plain text.
        disallowed_special: the special tokens that raise SpecialTokenError; "all" means all that are not allowed.
        dropout: BPE-dropout, for training models: the probability (0 to 1) of skipping each possible merge at each
        step. The ids still decode to the same text. seed: an int, required with dropout; equal seeds give equal ids on
        every machine.
        threads: used for a text of half a megabyte or more; 0 means all cores.
        max_tokens: return (ids, n_chars): the first `max_tokens` ids, and how many characters of `text` they cover
        completely. Little of the remaining text is read, unless special tokens are disallowed.
        Raises SpecialTokenError, UnicodeEncodeError for lone surrogates, MissingByteError, PatternError if the pattern
        gives up on the text, ValueError and TypeError for invalid arguments (such as dropout without seed).
        """
        if pair is None and add_special_tokens is False and dropout is None and seed is None and max_tokens is None:
            # The common case, without a policy lookup, which would take a third of the time.
            if allowed_special is ALL and disallowed_special is NONE and threads is _ALL:
                return self._core.encode(text)
            policy = self._policy(allowed_special, disallowed_special)
            return self._core.encode(text, policy, _resolved(threads))
        check_bool("add_special_tokens", add_special_tokens)
        policy = self._policy(allowed_special, disallowed_special)
        if max_tokens is not None:
            if pair is not None or add_special_tokens or dropout is not None or seed is not None:
                raise ValueError(
                    "max_tokens needs one text without added tokens around it; truncate the ids that encode returns"
                )
            return self._first_tokens(text, check_int("max_tokens", max_tokens, least=0), policy)
        if dropout is None and seed is None:
            ids = self._core.encode(text, policy, _resolved(threads))
        elif pair is not None:
            raise ValueError("dropout needs one text; encode the two texts of the pair separately")
        else:
            ids = self._encode_with_dropout(text, policy, dropout, seed)
        second = None if pair is None else self._core.encode(check_str("pair", pair), policy)
        if not add_special_tokens and (second is None or self._model.post_processor is None):
            return ids + (second or [])
        if self._post_processor is None:
            from pairloom.post_processing import post_processor_of

            self._post_processor = post_processor_of(self._model.post_processor)
        return self._post_processor.surrounded(ids, second, add_special_tokens)

    def _encode_with_dropout(
        self, text: str, policy: _core.SpecialPolicy | None, dropout: float | None, seed: int | None
    ) -> list[int]:
        """Returns the ids of `text`; `pairloom.reference.dropout` defines them."""
        if dropout is None:
            raise ValueError("seed needs dropout; pass dropout=, a probability")
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise TypeError(f"dropout must be a float, not {type(dropout).__name__}")
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout is {shown(dropout)}, but must be a probability, from 0 to 1")
        if seed is None:
            raise ValueError(
                "dropout needs seed=, an integer; equal seeds produce equal ids, so pass a different one for each text "
                "and epoch"
            )
        check_int("seed", seed, least=0)
        if dropout == 0:
            return self._core.encode(text, policy)
        # The core compares 53 random bits.
        return self._core.encode_with_dropout(text, int(dropout * 2**53), seed, policy)

    def _first_tokens(self, text: str, max_tokens: int, policy: _core.SpecialPolicy | None) -> tuple[list[int], int]:
        from pairloom.offsets import char_spans

        ids, n_chars = self._core.encode_beginning(text, max_tokens, policy)
        if len(ids) <= max_tokens:
            return ids, n_chars
        read = text[:n_chars]
        return ids[:max_tokens], int(char_spans(read, self._token_spans().byte_spans_of(read, ids))[max_tokens, 0])

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the ids of `text`, with special tokens taken as plain text."""
        return self._core.encode_ordinary(text)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> list[list[int]]:
        """Returns the ids of each text, computed on `threads` threads (0: all cores)."""
        policy = self._policy(allowed_special, disallowed_special)
        return self._core.encode_batch(text_list(texts), resolve_threads(threads), policy)

    def encode_ordinary_batch(self, texts: Sequence[str], *, threads: int = 0) -> list[list[int]]:
        """Returns the ids of each text, with special tokens taken as plain text."""
        return self.encode_batch(texts, threads=threads, allowed_special=())

    def encode_to_numpy(
        self, text: str, *, threads: int = 0, allowed_special: Allowed = ALL, disallowed_special: Allowed = NONE
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Returns the ids of `text` as an array [n] of `id_dtype`; threads: as in `encode`."""
        policy = self._policy(allowed_special, disallowed_special)
        return self._core.encode_to_numpy(text, policy, _resolved(threads))

    def encode_batch_to_numpy(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64]]:
        """Returns (ids, offsets): all ids in one array of `id_dtype`; text i has ids[offsets[i]:offsets[i + 1]].

        ids: [total]; offsets: int64 [n + 1].
        """
        policy = self._policy(allowed_special, disallowed_special)
        return self._core.encode_batch_to_numpy(text_list(texts), resolve_threads(threads), policy)

    def encode_with_offsets(
        self,
        text: str,
        *,
        unit: str = "char",
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> tuple[list[int], npt.NDArray[np.int64]]:
        """Returns (ids, spans): the ids of `text`, and the span of each token in it, int64 [n, 2] of start and end.

        unit: "char" counts characters, "byte" UTF-8 bytes. If tokens share a character, the span of each includes it.
        Raises ValueError for a text that the tokenizer's normaliser changes.
        """
        from pairloom.offsets import char_spans

        check_choice("unit", unit, ("char", "byte"))
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        spans = self._token_spans().byte_spans_of(text, ids)
        return ids, char_spans(text, spans) if unit == "char" else spans

    def encode_batch_with_offsets(
        self,
        texts: Sequence[str],
        *,
        unit: str = "char",
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> tuple[npt.NDArray[np.unsignedinteger[Any]], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns (ids, offsets, spans): text i has ids[offsets[i]:offsets[i + 1]] and the same rows of spans.

        ids: [total] of `id_dtype`; offsets: int64 [n + 1]; spans: int64 [total, 2], relative to the start of each text.
        """
        import numpy as np

        from pairloom.offsets import char_spans

        check_choice("unit", unit, ("char", "byte"))
        texts = text_list(texts)
        ids, offsets = self.encode_batch_to_numpy(
            texts, threads=threads, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        parts = []
        for text, start, end in zip(texts, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            spans = self._token_spans().byte_spans_of(text, ids[start:end])
            parts.append(char_spans(text, spans) if unit == "char" else spans)
        return ids, offsets, np.concatenate([np.zeros((0, 2), np.int64), *parts])

    def encode_arrow(
        self,
        texts: Any,
        *,
        type: Any = None,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> Any:
        """Encodes each row of an Arrow column of text, and returns a column of lists, without Python objects for rows.

        texts: anything with `__arrow_c_stream__` or `__arrow_c_array__` (pyarrow, polars, DuckDB, pandas, nanoarrow):
        string or binary in any layout, chunked or not, or a table of one such column. Nulls stay null.
        type: list or large_list of uint16, uint32, int32 or int64; None means list of `id_dtype` (large_list from 2**31
        ids on). Returns a pyarrow.Array, and needs pyarrow. Raises TypeError for anything but an Arrow column,
        ValueError for another type of column or `type`, UnicodeDecodeError for bytes that are not UTF-8.
        """
        policy = self._policy(allowed_special, disallowed_special)
        from pairloom._internal import arrow

        return arrow.encoded(self._core, texts, type, resolve_threads(threads), policy)

    def encode_iterable(self, iterable: Iterable[str], *, specials: str = "recognise") -> Iterator[int]:
        """Yields the ids of the joined texts; the memory needed depends only on the longest pretoken.

        specials: encode special tokens as their ids ("recognise") or as plain text ("ordinary"), or raise
        SpecialTokenError ("error").
        """
        check_texts("iterable", iterable)
        check_choice("specials", specials, SPECIALS)
        return _stream(self._core.encode_stream(specials), iterable)

    def session(self, text: str = "", *, allowed_special: Allowed = ALL, disallowed_special: Allowed = NONE) -> Session:
        """Returns a `Session`: a text that grows at its end, whose ids always equal those of `encode`.

        Appending costs about as much as encoding the new text. allowed_special, disallowed_special and the errors are
        those of `encode`.
        """
        from pairloom.sessions import Session

        session = Session(self._core.session(self._policy(allowed_special, disallowed_special)))
        if text != "":
            session.append(text)
        return session

    def encode_file(
        self, path: PathLike, *, threads: int = 0, progress: Progress = None, specials: str = "recognise"
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Returns the ids of a whole UTF-8 file as an array [n] of `id_dtype`.

        specials: encode special tokens as their ids ("recognise") or as plain text ("ordinary"), or raise
        SpecialTokenError ("error"). Raises OSError, and CorpusError (file, byte offset) for invalid UTF-8.
        """
        from pairloom.corpus import first_bytes, streams

        check_choice("specials", specials, SPECIALS)
        file = check_path("path", path)
        if streams.is_stream(file):
            return self._encode_pipe(file, self.block_encoder(specials=specials, threads=threads))
        with reporter(progress) as report:
            first_bytes.warn_of(first_bytes.doubtful_files([file], is_meant=True))
            return self._core.encode_file(file, resolve_threads(threads), report, specials)

    @staticmethod
    def _encode_pipe(path: str, encoder: _core.BlockEncoder) -> npt.NDArray[np.unsignedinteger[Any]]:
        import numpy as np

        from pairloom.corpus import first_bytes
        from pairloom.errors import CorpusError

        reader = _core.PlainText(path, separator=None, replace=False)
        with open(path, "rb") as file:
            data = file.read()
        if kind := _core.not_text(data[: first_bytes.BEGIN_BYTES]):
            raise CorpusError(f"{path}: {kind}")
        text = reader.push(data)
        return np.concatenate([encoder.push(part, name=path)[0].copy() for part in (text, reader.finish())])

    def count_tokens(
        self,
        text: str,
        *,
        limit: int | None = None,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> int:
        """Returns the number of ids of `text`, at most `limit`; with a limit, little more text than needed is read.

        threads: as in `encode`; unused with a limit.
        """
        if limit is None and allowed_special is ALL and disallowed_special is NONE and threads is _ALL:
            return self._core.count_tokens(text, None)
        if limit is not None:
            check_int("limit", limit, least=0)
        policy = self._policy(allowed_special, disallowed_special)
        return self._core.count_tokens(text, limit, policy, _resolved(threads))

    def count_tokens_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> npt.NDArray[np.int64]:
        """Returns the number of ids of each text: int64 [n]."""
        policy = self._policy(allowed_special, disallowed_special)
        return self._core.count_tokens_batch(text_list(texts), resolve_threads(threads), policy)

    def count_tokens_arrow(
        self,
        texts: Any,
        *,
        threads: int = 0,
        allowed_special: Allowed = ALL,
        disallowed_special: Allowed = NONE,
    ) -> Any:
        """Returns the number of ids of each row of an Arrow column of text, as an int64 column; nulls stay null.

        texts, the type of the result and the errors are as in `encode_arrow`.
        """
        policy = self._policy(allowed_special, disallowed_special)
        from pairloom._internal import arrow

        return arrow.n_tokens(self._core, texts, resolve_threads(threads), policy)

    def block_encoder(
        self,
        *,
        begin_id: int | None = None,
        end_id: int | None = None,
        specials: str = "recognise",
        threads: int = 0,
    ) -> _core.BlockEncoder:
        """Returns an encoder for blocks of documents, which a `Corpus` reads.

        begin_id and end_id are put before and after each document. specials: encode special tokens as their ids
        ("recognise") or as plain text ("ordinary"), or raise SpecialTokenError ("error"). Raises ValueError for an id
        that the tokenizer does not have. Use the encoder from one thread at a time: a concurrent call raises
        RuntimeError.
        """
        for name, id in (("begin_id", begin_id), ("end_id", end_id)):
            if id is not None and check_int(name, id, least=0) >= self.n_vocab:
                raise ValueError(
                    f"{name} is {id}, which is not an id of this tokenizer; its ids are below {self.n_vocab}"
                )
        check_choice("specials", specials, SPECIALS)
        return _core.BlockEncoder(
            self._core,
            begin_id=begin_id,
            end_id=end_id,
            specials=specials,
            threads=resolve_threads(threads),
        )


def _resolved(threads: int) -> int | None:
    """Returns the thread count for one text; None lets the core decide, which it does only for a long text."""
    return None if threads is _ALL else resolve_threads(threads)


def _stream(stream: _core.StreamEncoder, pieces: Iterable[str]) -> Iterator[int]:
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


def text_list(texts: Any) -> list[str]:
    """Returns the texts as a list; TypeError for a bare str."""
    if isinstance(texts, list):
        return texts
    check_texts("texts", texts)
    return list(texts)
