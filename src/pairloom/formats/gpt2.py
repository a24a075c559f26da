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
from pairloom.formats.shared.json_text import check_not_pickle, model_of, parse, shown
from pairloom.formats.shared.post_processor import check_none
from pairloom.formats.shared.special_entries import with_special_tokens
from pairloom.formats.shared.string_vocabulary import check_entries, merge_rows, ordinary_entries, token_columns
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
    if (taken := _taken_by_core(vocab, merges, special_tokens or {})) is not None:
        found, specials = taken
        with model_of(str(vocab_path)):
            return Model.from_columns(found, special_tokens=specials, **fields)
    entries = check_entries(parse(vocab, str(vocab_path)), str(vocab_path))
    lefts, rights, lines = _pairs(merges, str(merges_path), entries)
    rows = merge_rows(lefts, rights, entries, lambda rank: f"{merges_path}: line {lines[rank]}")
    try:
        specials = _special_ids(entries, special_tokens or {})
    except ValueError as error:
        raise FormatError(f"{vocab_path}: {error}") from error
    ordinary = ordinary_entries(entries, specials, rows, str(vocab_path))
    columns = token_columns(ordinary, str(vocab_path))
    with model_of(str(vocab_path)):
        return Model(**columns, merges=rows, rule="pairs", special_tokens=specials, **fields)


_NOTHING_ELSE = b'{"model":{"vocab":{},"merges":[]}}'


def _taken_by_core(
    vocab: bytes, merges: bytes, special_tokens: Specials
) -> tuple[_core.ModelColumns, dict[str, int]] | None:
    """Columns and special tokens of files as they should be, by the core's reader of tokenizer.json.

    None: the reader in Python takes them, or names what is wrong with them.
    """
    lines = merges.partition(b"\n")[2] if merges.startswith(b"#version") else merges
    quoted = lines.removesuffix(b"\n").replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b'","')
    listed = b'"%b"' % quoted if lines else b""
    taken = _core.TokenizerJson.read(b'{"model":{"vocab":%b,"merges":[%b]}}' % (vocab, listed))
    # What else there is stood in vocab.json, behind the end of its object.
    if taken is None or taken[1] != _NOTHING_ELSE:
        return None
    entries = taken[0]
    try:
        literals = check_special_tokens(special_tokens)
    except (TypeError, ValueError):
        return None
    alphabet = {literal: to_alphabet(literal.encode()) for literal in literals}
    id_of = entries.ids_of([*literals, *alphabet.values()])
    assigned = {
        literal: token_id
        for literal, text in alphabet.items()
        if (token_id := id_of.get(literal, id_of.get(text))) is not None
    }
    if not isinstance(special_tokens, Mapping):
        # The next free id of one that is no entry follows from all entries.
        if len(assigned) < len(literals) or len(set(assigned.values())) < len(literals):
            return None
        special_tokens = assigned
    try:
        specials = assign_special_ids({}, special_tokens)
    except (TypeError, ValueError):
        return None
    columns = entries.columns(list(specials.items()))
    return None if columns is None else (columns, specials)


def _special_ids(entries: Mapping[str, int], special_tokens: Specials) -> dict[str, int]:
    """A special token of a list takes the id of the entry that is its text, or else its bytes, or else the next id."""
    found = {max(entries.values(), default=-1): b""} if entries else {}
    for literal in check_special_tokens(special_tokens):
        token_id = entries.get(literal, entries.get(to_alphabet(literal.encode())))
        if token_id is not None:
            found[token_id] = literal.encode()
    return assign_special_ids(found, special_tokens)


def _pairs(data: bytes, name: str, entries: Mapping[str, int]) -> tuple[list[str], list[str], Sequence[int]]:
    """merges.txt: the left and the right tokens in rank order, and their line numbers."""
    check_not_pickle(data, name)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    first = 1
    if text.startswith("\ufeff"):
        raise FormatError(f"{name}: begins with a byte order mark (BOM); save it as UTF-8 without one")
    if text.startswith("#version"):
        text = text.partition("\n")[2]
        first = 2
    fields = text.split()
    lefts, rights = fields[::2], fields[1::2]
    # The file as it should be: two tokens a line. Only in any other is each line looked at.
    if len(lefts) == len(rights) and "".join(map("%s %s\n".__mod__, zip(lefts, rights, strict=True))) == text:
        return lefts, rights, range(first, first + len(lefts))
    lefts, rights, lines = [], [], []
    for number, line in enumerate(text.split("\n"), start=first):
        if line := line.removesuffix("\r"):
            left, _, right = line.partition(" ")
            if not left or not right or " " in right:
                left, right = _cut(line, entries, f"{name}: line {number}")
            lefts.append(left)
            rights.append(right)
            lines.append(number)
    return lefts, rights, lines


def _cut(line: str, entries: Mapping[str, int], where: str) -> tuple[str, str]:
    """Splits a line with several spaces: at the only space where both parts are entries of the vocabulary."""
    spaces = [at for at, character in enumerate(line[:4096]) if character == " "]
    cuts = [(line[:at], line[at + 1 :]) for at in spaces]
    cuts = [(left, right) for left, right in cuts if left in entries and right in entries and left + right in entries]
    if len(cuts) != 1:
        raise FormatError(f"{where} is {shown(line)}, not two tokens of the vocabulary with a space between them")
    return cuts[0]


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
