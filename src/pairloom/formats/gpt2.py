"""GPT-2's two files: vocab.json (token -> id) and merges.txt (one pair a line), in the GPT-2 byte alphabet.

Neither file says which entries are special tokens or which pattern splits the text. The caller gives the special
tokens; the pattern is GPT-2's unless the caller gives another. merges.txt may begin with a `#version` line. An entry of
vocab.json that is not written in the byte alphabet (a special token with a space in it) is taken literally.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import check_special_tokens
from pairloom.errors import FormatError
from pairloom.formats.shared.byte_alphabet import to_alphabet
from pairloom.formats.shared.json_text import check_not_pickle, model_of
from pairloom.formats.shared.post_processor import check_none
from pairloom.formats.shared.special_entries import with_special_tokens
from pairloom.model import Model, Pattern, assign_special_ids
from pairloom.patterns import GPT2

if TYPE_CHECKING:
    from pairloom.formats.model_cache import ModelCache

__all__ = ["MERGES_NAME", "VOCAB_NAME", "is_in", "read", "read_pair", "write"]

Specials = Sequence[str] | Mapping[str, int]

VOCAB_NAME = "vocab.json"
MERGES_NAME = "merges.txt"


def is_in(folder: Path) -> bool:
    """Whether the folder holds one of the two files."""
    return (folder / VOCAB_NAME).is_file() or (folder / MERGES_NAME).is_file()


def read(
    path: Path,
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
    cache: ModelCache | None = None,
) -> Model:
    """The Model of the folder's vocab.json and merges.txt."""
    vocab, merges = path / VOCAB_NAME, path / MERGES_NAME
    for file in (vocab, merges):
        if not file.is_file():
            raise FormatError(
                f"{path}: the folder has no {file.name}; a gpt2 folder holds {VOCAB_NAME} and {MERGES_NAME}"
            )
    return read_pair(vocab, merges, pattern=pattern, special_tokens=special_tokens, cache=cache)


def read_pair(
    vocab_path: str | os.PathLike[str],
    merges_path: str | os.PathLike[str],
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
    cache: ModelCache | None = None,
) -> Model:
    """The Model of the two files; a special token takes its entry's id, else the next past the largest."""
    vocab_path, merges_path = Path(vocab_path), Path(merges_path)
    vocab, merges = vocab_path.read_bytes(), merges_path.read_bytes()

    def read() -> Model:
        return _model_of(vocab, merges, vocab_path, merges_path, pattern, special_tokens)

    return read() if cache is None else cache.model("gpt2", [vocab, merges], pattern, special_tokens, read)


def _model_of(
    vocab: bytes,
    merges: bytes,
    vocab_path: Path,
    merges_path: Path,
    pattern: Pattern | None,
    special_tokens: Specials | None,
) -> Model:
    fields: dict[str, Any] = {
        "ignore_merges": False,
        "pattern": GPT2 if pattern is None else pattern,
        "decode_errors": "replace",
    }
    check_not_pickle(vocab, str(vocab_path))
    check_not_pickle(merges, str(merges_path))
    entries = _core.ByteVocabulary.read(vocab, str(vocab_path), merges, str(merges_path))
    try:
        specials = _special_ids(entries, special_tokens or {})
    except ValueError as error:
        raise FormatError(f"{vocab_path}: {error}") from error
    with model_of(str(vocab_path)):
        return Model.from_columns(entries.columns(list(specials.items())), special_tokens=specials, **fields)


def _special_ids(entries: _core.ByteVocabulary, special_tokens: Specials) -> dict[str, int]:
    """A special token of a list takes the id of the entry that is its text, or else its bytes, or else the next id."""
    found = {entries.n_ids - 1: b""} if entries.n_ids else {}
    for literal in check_special_tokens(special_tokens):
        token_id = entries.id_of(literal)
        if token_id is None:
            token_id = entries.id_of(to_alphabet(literal.encode()))
        if token_id is not None:
            found[token_id] = literal.encode()
    return assign_special_ids(found, special_tokens)


def write(model: Model) -> dict[str, bytes]:
    """The folder's files by name; raises FormatError where they cannot express the model exactly.

    Special tokens become literal entries; reading treats them as special if the caller lists them. decode_errors is not
    stored.
    """
    check_none(model, "a folder of GPT-2's files")
    if model.rule != "pairs" or model.ignore_merges:
        raise FormatError(
            "GPT-2's files cannot express a tokenizer that looks whole pretokens up or merges by ranks; save it as"
            " 'huggingface' or 'pairloom'"
        )
    if model.pattern != GPT2:
        raise FormatError(
            "GPT-2's files carry no pattern, and who reads them takes GPT-2's; save a tokenizer of another pattern as"
            " 'huggingface' or 'pairloom'"
        )
    tokens = model.tokens()
    text_of = {token_id: to_alphabet(token) for token_id, token in tokens.items()}
    vocab = with_special_tokens(text_of, model.special_tokens, "GPT-2's vocab.json")
    lines = [f"{text_of[left]} {text_of[right]}" for left, right, _ in model.merges.tolist()]
    ordered = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    return {
        VOCAB_NAME: json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode(),
        MERGES_NAME: "\n".join(["#version: 0.2", *lines, ""]).encode(),
    }
