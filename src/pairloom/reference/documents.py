"""Splits a corpus into documents.

A pretoken never crosses the end of a document. Special tokens are matched left to right, the longest first; an
incomplete one is plain text.
"""

import os
from collections.abc import Collection
from pathlib import Path

from pairloom.reference.special_rules import split_by_rules


def documents_of(text: str, special_tokens: Collection[str]) -> list[str]:
    """Cuts a text into documents at its special tokens, which are removed.

    >>> documents_of("one<|end|>two<|end|>", ["<|end|>"])
    ['one', 'two']
    """
    return [piece for piece, literal in split_by_rules(text, special_tokens, ()) if literal is None]


def read_documents(path: str | os.PathLike[str], special_tokens: Collection[str]) -> list[str]:
    """Returns the documents of a file; if it is not UTF-8, a ValueError names the file and the byte offset."""
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)}: byte {error.start} is not UTF-8 ({error.reason})") from error
    return documents_of(text, special_tokens)
