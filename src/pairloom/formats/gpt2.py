"""GPT-2's pair of files: vocab.json (token -> id) and merges.txt (a pair a line), in the GPT-2 byte alphabet.

Neither file says which entries are special tokens or which pattern splits the text: special tokens are given by the
caller, and the pattern is GPT-2's unless another is given. merges.txt may begin with a `#version` line. An entry of
vocab.json that is not written in the byte alphabet (a special token with a space in it) is taken as it stands.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pairloom.errors import FormatError
from pairloom.formats.byte_alphabet import from_alphabet, to_alphabet
from pairloom.formats.json_text import is_text, parse, shown, take_id
from pairloom.formats.special_entries import check_entries
from pairloom.model import Model, Pattern
from pairloom.patterns import GPT2
from pairloom.vocabulary import from_bytes

__all__ = ["read", "read_pair", "sniff", "write"]

Specials = Sequence[str] | Mapping[str, int]

VOCAB_NAME = "vocab.json"
MERGES_NAME = "merges.txt"


def sniff(head: bytes, path: Path) -> bool:
    """Whether `path` is a folder, as only this format's is."""
    return path.is_dir()


def read(path: Path, *, pattern: Pattern | None = None, special_tokens: Specials | None = None) -> Model:
    """The Model of the folder's vocab.json and merges.txt."""
    vocab, merges = path / VOCAB_NAME, path / MERGES_NAME
    for file in (vocab, merges):
        if not file.is_file():
            raise FormatError(
                f"{path}: the folder has no {file.name}; a gpt2 folder holds {VOCAB_NAME} and {MERGES_NAME}"
            )
    return read_pair(vocab, merges, pattern=pattern, special_tokens=special_tokens)


def read_pair(
    vocab_path: str | os.PathLike[str],
    merges_path: str | os.PathLike[str],
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
) -> Model:
    """The Model of the two files; a special token takes its entry's id, else the next past the largest."""
    vocab_path, merges_path = Path(vocab_path), Path(merges_path)
    entries = _entries(vocab_path.read_bytes(), str(vocab_path))
    pairs = _pairs(merges_path.read_bytes(), str(merges_path), entries)
    literals = frozenset(special_tokens or ())
    tokens = {i: text.encode() if text in literals else _bytes_of(text) for text, i in entries.items()}
    try:
        model = from_bytes(tokens, pairs, special_tokens, pattern=GPT2, decode_errors="replace")
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{vocab_path} with {merges_path}: {error}") from error
    return model if pattern is None else replace(model, pattern=pattern)


def _entries(data: bytes, name: str) -> dict[str, int]:
    """vocab.json: token -> id, both distinct."""
    entries = parse(data, name)
    if type(entries) is not dict:
        raise FormatError(f"{name}: a vocab.json is an object of tokens and ids, not {shown(entries)}")
    text_of: dict[int, str] = {}
    for text, token_id in entries.items():
        take_id(token_id, f"{name}: entry {shown(text)}")
        if not text:
            raise FormatError(f"{name}: id {token_id} is an empty token; remove the entry")
        if not is_text(text):
            raise FormatError(f"{name}: entry {shown(text)} holds half of a surrogate pair, which is not text")
        if token_id in text_of:
            raise FormatError(
                f"{name}: id {token_id} is given to {shown(text_of[token_id])} and to {shown(text)}; ids are distinct"
            )
        text_of[token_id] = text
    return entries


def _pairs(data: bytes, name: str, entries: Mapping[str, int]) -> list[tuple[bytes, bytes]]:
    """merges.txt: the pairs in rank order."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    first = 1 if lines[0].startswith("#version") else 0
    pairs: list[tuple[bytes, bytes]] = []
    for number, line in enumerate(lines[first:], start=first + 1):
        line = line.removesuffix("\r")
        if not line:
            continue
        left, _, right = line.partition(" ")
        if not left or not right or " " in right:
            left, right = _cut(line, entries, f"{name}: line {number}")
        if left + right not in entries:
            raise FormatError(
                f"{name}: line {number} merges {shown(left)} and {shown(right)}, but {shown(left + right)} is not in"
                " the vocabulary; do the two files belong together?"
            )
        pairs.append((_bytes_of(left), _bytes_of(right)))
    return pairs


def _cut(line: str, entries: Mapping[str, int], where: str) -> tuple[str, str]:
    """Where to cut a line that holds not one space but more: there is one place at which all parts are entries."""
    places = [at for at, character in enumerate(line[:4096]) if character == " "]
    cuts = [(line[:at], line[at + 1 :]) for at in places]
    cuts = [(left, right) for left, right in cuts if left in entries and right in entries and left + right in entries]
    if len(cuts) != 1:
        raise FormatError(f"{where} is {shown(line)}, not two tokens of the vocabulary with a space between them")
    return cuts[0]


def _bytes_of(text: str) -> bytes:
    shown_bytes = from_alphabet(text)
    return text.encode() if shown_bytes is None else shown_bytes


def write(model: Model) -> dict[str, bytes]:
    """The folder's files by name; raises FormatError where they cannot express the model exactly.

    Special tokens become entries as they stand; reading takes them for special tokens when it is told to.
    """
    if model.rule != "pairs" or model.whole_first:
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
    vocab = check_entries(text_of, model.special_tokens, "GPT-2's vocab.json")
    lines = [f"{text_of[left]} {text_of[right]}" for left, right, _ in model.merges.tolist()]
    ordered = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    return {
        VOCAB_NAME: json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode(),
        MERGES_NAME: "\n".join(["#version: 0.2", *lines, ""]).encode(),
    }
