"""Compares two tokenizers: how many documents differ, and where the first difference is.

Each side is a tokenizer of pairloom, tiktoken or tokenizers. Two things are compared: ids, which decide whether one
tokenizer can replace the other, and token boundaries, which also work if the vocabularies have different ids.
Cost: both sides encode each document; one document is in memory at a time.
"""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom._internal.byte_alphabet import from_alphabet, to_alphabet
from pairloom._internal.optional_deps import import_optional
from pairloom.corpus import Corpus
from pairloom.errors import FormatError
from pairloom.tokenizer import Tokenizer

LIBRARIES = ("tiktoken:", "hf:")
"""The prefixes of side names that are not files."""

_WINDOW_BEFORE, _WINDOW_AFTER = 3, 5
_SPACE = to_alphabet(b" ")
_CONTEXT_BYTES = 40


@dataclass(frozen=True)
class Side:
    """One of the two tokenizers.

    encode: text -> ids [n]. encode_around: the same with the post-processor's special tokens (BOS, EOS). token: the
    bytes of an id. lengths: int64 [largest id + 1], bytes of each id. decode_bytes: the bytes that ids decode to.
    """

    name: str
    encode: Callable[[str], npt.NDArray[Any]]
    encode_around: Callable[[str], npt.NDArray[Any]]
    token: Callable[[int], bytes]
    lengths: npt.NDArray[np.int64]
    decode_bytes: Callable[[npt.NDArray[Any]], bytes]


def compare(first: Side, second: Side, documents: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Encodes each document (name, text) with both sides, recognising special tokens, and compares the results.

    Returns JSON values; lists of two are of the first and the second side. bytes_per_token: None without tokens.
    n_differing_ids, n_differing_cuts: the number of documents whose ids, or token boundaries ("cuts"), differ.
    n_altered: the number of documents whose tokens do not spell the text (because of a normaliser or an unknown token).
    ids, cuts: the first difference of each kind (`_difference`); None if nothing differs.
    """
    sides = (first, second)
    n_documents = n_bytes = 0
    n_tokens, n_altered = [0, 0], [0, 0]
    n_differing = {"ids": 0, "cuts": 0}
    differences: dict[str, dict[str, Any] | None] = {"ids": None, "cuts": None}
    for name, text in documents:
        data = text.encode()
        ids = [side.encode(text) for side in sides]
        ends = [np.cumsum(side.lengths[found]) for side, found in zip(sides, ids, strict=True)]
        whole = [side.decode_bytes(found) == data for side, found in zip(sides, ids, strict=True)]
        # Subtract the space that SentencePiece puts before a text and decoding drops; it is not in the text.
        ends = [
            np.maximum(end - end[-1] + len(data), 0) if is_whole and data else end
            for end, is_whole in zip(ends, whole, strict=True)
        ]
        n_documents += 1
        n_bytes += len(data)
        for which in (0, 1):
            n_tokens[which] += len(ids[which])
            n_altered[which] += not whole[which]
        # Take offsets from a side whose tokens spell the text, if there is one.
        whole_side = 0 if whole[0] or not whole[1] else 1
        for kind, (left, right) in {"ids": ids, "cuts": ends}.items():
            index = _first_different(left, right)
            if index is not None:
                n_differing[kind] += 1
                differences[kind] = differences[kind] or _difference(name, data, sides, ids, ends[whole_side], index)
    return {
        "names": [side.name for side in sides],
        "n_documents": n_documents,
        "n_bytes": n_bytes,
        "n_tokens": n_tokens,
        "n_altered": n_altered,
        **{f"n_differing_{kind}": n for kind, n in n_differing.items()},
        **differences,
        "bytes_per_token": [n_bytes / n if n else None for n in n_tokens],
    }


def _first_different(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> int | None:
    """Returns the first index at which the arrays differ (the shorter length if one is a prefix); None if equal."""
    shorter = min(len(left), len(right))
    unequal = np.flatnonzero(left[:shorter] != right[:shorter])
    if len(unequal):
        return int(unequal[0])
    return None if len(left) == len(right) else shorter


def _difference(
    name: str,
    data: bytes,
    sides: tuple[Side, Side],
    ids: list[npt.NDArray[Any]],
    ends: npt.NDArray[np.int64],
    index: int,
) -> dict[str, Any]:
    """Returns the document, the byte offset of the differing tokens, the text around it, and a window for each side.

    A window is the tokens around the difference; `at` is the index of the first one that differs, if the side has it.
    """
    offset = int(ends[index - 1]) if index else 0
    start = max(index - _WINDOW_BEFORE, 0)
    around = [found[start : index + _WINDOW_AFTER].tolist() for found in ids]
    return {
        "document": name,
        "byte_offset": offset,
        "before": data[max(offset - _CONTEXT_BYTES, 0) : offset].decode(errors="replace"),
        "after": data[offset : offset + _CONTEXT_BYTES].decode(errors="replace"),
        "windows": [
            {"ids": near, "tokens": [list(side.token(token_id)) for token_id in near], "at": index - start}
            for side, near in zip(sides, around, strict=True)
        ],
    }


def named_documents(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Yields (name, text) of each document; the name is the file, plus the document's number from 1 if it has several.

    One document is in memory at a time. Warns if records were skipped. Raises OSError, and CorpusError with file and
    location.
    """
    reading = corpus.read()
    parts: list[str] = []
    for block in reading:
        name = corpus.names[block.source]
        is_whole = corpus.is_one_document(block.source)
        for number, text in enumerate(block.documents.texts(), start=block.first + 1):
            yield (name if is_whole else f"{name}, document {number}"), "".join([*parts, text])
            parts.clear()
        parts.append(block.documents.open_text())
    reading.warn()


def load_side(name: str) -> Side:
    """Loads "tiktoken:NAME" or "hf:PATH_OR_NAME", which encode with the libraries tiktoken and tokenizers themselves.

    Raises ImportError that names the extra, OSError, FormatError.
    """
    kind, _, rest = name.partition(":")
    return side_of(_tiktoken_encoding(rest) if kind == "tiktoken" else _huggingface_tokenizer(rest), name)


def _tiktoken_encoding(name: str) -> Any:
    tiktoken = import_optional("tiktoken", f"tiktoken:{name}")
    try:
        return tiktoken.get_encoding(name)
    except ValueError as error:
        known = ", ".join(tiktoken.list_encoding_names())
        raise ValueError(f"tiktoken:{name}: tiktoken has no encoding of that name; it has {known}") from error
    except OSError as error:
        raise OSError(f"tiktoken:{name}: tiktoken could not download it: {error}") from error


def _huggingface_tokenizer(name: str) -> Any:
    tokenizers = import_optional("tokenizers", f"hf:{name}")
    path = Path(name)
    if path.is_dir():
        path /= "tokenizer.json"
    if not path.is_file() and (path.suffix == ".json" or path.is_absolute() or name.startswith(".")):
        # A path, not a name of the hub; without a network, asking the hub would take half a minute.
        raise FileNotFoundError(errno.ENOENT, "no such tokenizer.json", str(path))
    try:
        if path.is_file():
            return tokenizers.Tokenizer.from_file(str(path))
        return tokenizers.Tokenizer.from_pretrained(name)
    except MemoryError:
        raise
    except Exception as error:  # tokenizers raises plain Exception for every failure
        raise FormatError(f"hf:{name}: neither a tokenizer.json nor a name that can be downloaded: {error}") from error


def side_of(tokenizer: Any, name: str) -> Side:
    """Makes a side of a pairloom.Tokenizer, a tiktoken.Encoding or a tokenizers.Tokenizer."""
    if isinstance(tokenizer, Tokenizer):
        return Side(
            name,
            tokenizer.encode_to_numpy,
            lambda text: np.array(tokenizer.encode(text, add_special_tokens=True), dtype=np.int64),
            tokenizer.id_to_token,
            tokenizer.token_byte_lengths(count_specials=True),
            tokenizer.decode_bytes,
        )
    if hasattr(tokenizer, "decode_single_token_bytes"):
        return _side_of_tiktoken(tokenizer, name)
    return _side_of_huggingface(tokenizer, name)


def _side_of_tiktoken(encoding: Any, name: str) -> Side:
    tokens = {rank: token for token, rank in encoding._mergeable_ranks.items()}
    tokens.update({i: text.encode() for text, i in encoding._special_tokens.items()})

    def encode(text: str) -> npt.NDArray[Any]:
        return np.array(encoding.encode(text, allowed_special="all"), dtype=np.int64)

    return Side(name, encode, encode, tokens.__getitem__, _lengths(tokens), partial(_concatenated, tokens))


def _side_of_huggingface(tokenizer: Any, name: str) -> Side:
    tokens = {}
    has_bytes = getattr(tokenizer.model, "byte_fallback", False) and tokenizer.token_to_id("<0x00>") is not None
    steps = [tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder]
    # The repr of a step would panic if it cuts a long pattern inside a character.
    has_byte_level = any(b'"ByteLevel"' in step.__getstate__() for step in steps if step is not None)
    # WordPiece marks what continues a word: its tokens do not spell the text.
    is_characters = not has_byte_level and not getattr(tokenizer.model, "continuing_subword_prefix", None)
    # Without a decoder, decoding puts a space between tokens; in CLIP's file, a token's </w> stands for one.
    is_joined = is_characters and tokenizer.decoder is None
    has_word_ends = getattr(tokenizer.model, "end_of_word_suffix", None) == "</w>"
    for text, token_id in tokenizer.get_vocab(with_added_tokens=False).items():
        if is_characters:
            byte = re.fullmatch("<0x([0-9A-F]{2})>", text) if has_bytes else None
            shown = text if is_joined else text.replace("\u2581", " ")
            tokens[token_id] = bytes.fromhex(byte[1]) if byte else shown.encode()
            continue
        token = from_alphabet(re.sub("(?<=.)</w>$", _SPACE, text) if has_word_ends else text)
        tokens[token_id] = text.encode() if token is None else token
    tokens.update({i: added.content.encode() for i, added in tokenizer.get_added_tokens_decoder().items()})

    def encode(text: str, around: bool = False) -> npt.NDArray[Any]:
        return np.array(tokenizer.encode(text, add_special_tokens=around).ids, dtype=np.int64)

    around = partial(encode, around=True)

    def decode(ids: npt.NDArray[Any]) -> bytes:
        return str(tokenizer.decode(ids.tolist(), skip_special_tokens=False)).encode()

    decode_bytes = decode if is_characters else partial(_concatenated, tokens)
    lengths = _lengths(tokens)
    lengths += is_joined & (lengths > 0)
    return Side(name, encode, around, tokens.__getitem__, lengths, decode_bytes)


def _concatenated(tokens: dict[int, bytes], ids: npt.NDArray[Any]) -> bytes:
    return b"".join(map(tokens.__getitem__, ids.tolist()))


def _lengths(tokens: dict[int, bytes]) -> npt.NDArray[np.int64]:
    lengths = np.zeros(max(tokens, default=-1) + 1, dtype=np.int64)
    for token_id, token in tokens.items():
        lengths[token_id] = len(token)
    return lengths
