"""Corpus to documents, and text to the segments between special tokens.

A pretoken never crosses the end of a document. The longest special token wins, left to right; an incomplete one is
plain text.
"""

import os
from collections.abc import Collection
from pathlib import Path

import regex


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
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pieces: list[str] = regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text)
    return [piece for piece in pieces if piece]


def documents_of(text: str, special_tokens: Collection[str]) -> list[str]:
    """Cuts a text into documents: the special tokens are removed.

    >>> documents_of("one<|end|>two<|end|>", ["<|end|>"])
    ['one', 'two']
    """
    specials = set(special_tokens)
    return [piece for piece in split_on_special_tokens(text, specials) if piece not in specials]


def read_documents(path: str | os.PathLike[str], special_tokens: Collection[str]) -> list[str]:
    """The documents of a file; ValueError naming the file and the byte where it is not UTF-8."""
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)}: byte {error.start} is not UTF-8 ({error.reason})") from error
    return documents_of(text, special_tokens)
