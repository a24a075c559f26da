"""Corpus to documents, and text to the segments between special tokens.

A pretoken never crosses the end of a document. The longest special token wins, left to right; an incomplete one is
plain text. Files are read in blocks, so memory is bounded by the longest document, not by the file.
"""

import os
from collections.abc import Collection, Iterator
from typing import Literal

import regex

BLOCK_BYTES = 50_000
"""How much of a file is read at a time."""


def check_special_tokens(special_tokens: Collection[str]) -> None:
    """Raises ValueError unless the special tokens are non-empty, distinct str."""
    if isinstance(special_tokens, str):
        raise TypeError(f"special_tokens must be a list of str, not the str {special_tokens!r}")
    seen = set()
    for token in special_tokens:
        if not isinstance(token, str) or token == "":
            raise ValueError(f"special token {token!r} must be a str of at least one character")
        if token in seen:
            raise ValueError(f"special token {token!r} is given twice; name it once")
        seen.add(token)


def split_on_special_tokens(text: str, special_tokens: Collection[str]) -> list[str]:
    """Cuts a text before and after each special token; the special tokens stay as pieces.

    >>> split_on_special_tokens("one<|end|>two<|end", ["<|end|>"])
    ['one', '<|end|>', 'two<|end']
    >>> split_on_special_tokens("<a><a><a>", ["<a>", "<a><a>"])  # the longest first
    ['<a><a>', '<a>']

    A piece is a special token exactly if it equals one: plain pieces hold none.
    """
    if not special_tokens:
        return [text] if text else []
    pieces: list[str] = regex.split(f"({_any_of(special_tokens)})", text)
    return [piece for piece in pieces if piece]


def documents_of(text: str, special_tokens: Collection[str]) -> list[str]:
    """Cuts a text into documents: the special tokens are removed.

    >>> documents_of("one<|end|>two<|end|>", ["<|end|>"])
    ['one', 'two']
    """
    specials = set(special_tokens)
    return [piece for piece in split_on_special_tokens(text, specials) if piece not in specials]


def read_documents(
    path: str | os.PathLike[str],
    special_tokens: Collection[str],
    *,
    block_bytes: int = BLOCK_BYTES,
    input_errors: Literal["strict", "replace"] = "strict",
) -> Iterator[str]:
    """Gives the documents of a file, reading `block_bytes` at a time.

    The buffer is split after its last special token, and the rest is kept for the next block,
    as does all of it while it holds no special token: no document is ever cut. A special token near
    the end of the buffer is kept too, since more bytes may make it a longer one.

    Raises ValueError naming the file and the byte offset where the file is not UTF-8.
    """
    longest = max((len(token.encode()) for token in special_tokens), default=0)
    pending, offset = b"", 0
    with open(path, "rb") as file:
        while block := file.read(block_bytes):
            pending += block
            cut = _end_of_last_special(pending, special_tokens, decided=len(pending) - longest)
            yield from documents_of(_text(pending[:cut], path, offset, input_errors), special_tokens)
            pending, offset = pending[cut:], offset + cut
    yield from documents_of(_text(pending, path, offset, input_errors), special_tokens)


def _any_of(special_tokens: Collection[str]) -> str:
    """A regular expression for any special token; of two that start alike the longer comes first."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    return "|".join(regex.escape(token) for token in longest_first)


def _end_of_last_special(data: bytes, special_tokens: Collection[str], *, decided: int) -> int:
    """The offset after the last special token that starts at or before `decided`; 0 without any."""
    end = 0
    if special_tokens:
        for match in regex.finditer(_any_of(special_tokens).encode(), data):
            if match.start() > decided:
                break
            end = match.end()
    return end


def _text(data: bytes, path: str | os.PathLike[str], offset: int, input_errors: str) -> str:
    try:
        return data.decode("utf-8", input_errors)
    except UnicodeDecodeError as error:
        position = offset + error.start
        raise ValueError(f"{os.fspath(path)}: byte {position} is not UTF-8 ({error.reason})") from error
