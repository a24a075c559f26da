"""The native file, schema 1 and 2, specified in plain Python: the oracle for the core's parser.

A missing key is a MissingKeyError; every other defect is a FormatError with the cause, the location and the remedy.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from pairloom._core import UNICODE_VERSION
from pairloom.errors import FormatError, MissingKeyError
from pairloom.formats.shared import json_text
from pairloom.formats.shared.json_text import shown, take_id
from pairloom.model import LARGEST_ID, SPECIAL_RULES, Model, Pattern
from pairloom.patterns import GPT2

if TYPE_CHECKING:
    from pairloom.model import DecodeErrors, MergeRule

__all__ = ["read"]

T = TypeVar("T")
Tokens = dict[int, bytes]
Rows = list[tuple[int, int, int]]

KEYS_1 = frozenset(
    ("mergeable_vocab_size", "merges", "pretokenizer_pattern", "schema_version", "special_tokens", "vocab")
)
KEYS_2 = frozenset(
    (
        *("decode_errors", "ignore_merges", "made_ids", "merges", "pattern", "plain_specials", "rule"),
        *("schema_version", "special_tokens", "token_bytes", "token_ids", "token_lengths", "unicode_version"),
    )
)
OPTIONAL_KEYS = frozenset(("normalizer", "post_processor", "special_rules", "tokenizer_config", "training"))
SPECIAL = "<|endoftext|>"
LONGEST_DERIVED = 256
_NAMES: dict[type, str] = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "true or false"}


def parse(data: bytes, name: str) -> Any:
    """The value that `data` holds; FormatError for a key that is given twice, and for NaN and Infinity."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(built := dict(pairs)) < len(pairs):
            raise FormatError(f"{name}: a key of {shown(pairs)} is given twice; keep one of them")
        return built

    def refuse(constant: str) -> NoReturn:
        raise FormatError(f"{name}: {constant} is not JSON; write a finite number")

    json_text.parse(data, name)
    return json.loads(data, object_pairs_hook=distinct, parse_constant=refuse)


def take(value: dict[str, Any], key: str, kind: type[T], where: str) -> T:
    """`value[key]`, which must be there and of exactly the type `kind` (a bool is no int)."""
    if key not in value:
        raise MissingKeyError(f"{where}: key {key!r} is missing")
    found = value[key]
    if type(found) is not kind:
        raise FormatError(f"{where}: {key!r} must be {_NAMES[kind]}, not {shown(found)}")
    if isinstance(found, str):
        try:
            found.encode()
        except UnicodeEncodeError:
            raise FormatError(f"{where}: {key!r} is half of a surrogate pair, which is not text") from None
    return found


def read(data: bytes, name: str) -> Model:
    """The Model that the file holds."""
    file = parse(data, name)
    if type(file) is not dict:
        raise FormatError(f"{name}: a tokenizer file is a JSON object, not {shown(file)}")
    if "schema_version" not in file:
        raise MissingKeyError(
            f"{name}: key 'schema_version' is missing; is this a pairloom tokenizer? (Of a vocab.json or a"
            " tokenizer_config.json give the folder, which holds more.)"
        )
    version = file["schema_version"]
    if type(version) is not int or version not in (1, 2):
        raise FormatError(
            f"{name}: schema_version {shown(version)} is unknown; this pairloom reads 1 and 2: update it,"
            " or save the file again"
        )
    keys = KEYS_1 if version == 1 else KEYS_2
    for key in sorted(keys):
        if key not in file:
            raise MissingKeyError(f"{name}: key {key!r} is missing; save the tokenizer again")
    optional = OPTIONAL_KEYS if version == 2 else frozenset()
    for key in file:
        if key not in keys and key not in optional:
            raise FormatError(f"{name}: key {shown(key)} does not belong to schema {version}; remove it")
    return _schema1(file, name) if version == 1 else _schema2(file, name)


def _schema1(file: dict[str, Any], name: str) -> Model:
    if take(file, "pretokenizer_pattern", str, name) != GPT2:
        raise FormatError(f"{name}: pretokenizer_pattern is not GPT-2's; schema 1 allows no other: save as schema 2")
    pairs = take(file, "merges", list, name)
    vocab = take(file, "vocab", dict, name)
    n = 256 + len(pairs)
    if take(file, "mergeable_vocab_size", int, name) != n:
        raise FormatError(f"{name}: mergeable_vocab_size is not 256 + {len(pairs)} merges = {n}; a merge is lost")
    if len(vocab) != n + 1:
        raise FormatError(f"{name}: vocab has {len(vocab)} entries where {n} tokens and a special one make {n + 1}")
    tokens: Tokens = {}
    for token_id in range(n + 1):
        values = vocab.get(str(token_id))
        where = f"{name}: vocab[{str(token_id)!r}]"
        if values is None:
            raise FormatError(f"{where} is missing; ids run from 0 to {n} without a gap")
        if type(values) is not list or not values:
            raise FormatError(f"{where} must be a list of bytes, not {shown(values)}")
        for byte in values:
            if type(byte) is not int or not 0 <= byte <= 255:
                raise FormatError(f"{where} holds {shown(byte)}, which is not an integer of 0 to 255")
        tokens[token_id] = bytes(values)
    if tokens.pop(n) != SPECIAL.encode():
        raise FormatError(f"{name}: vocab['{n}'] is not the bytes of the special token {SPECIAL!r}")
    for byte in range(256):
        if tokens[byte] != bytes((byte,)):
            raise FormatError(f"{name}: vocab['{byte}'] must be [{byte}]: ids 0 to 255 are the bytes")
    rows: Rows = []
    for rank, pair in enumerate(pairs):
        where = f"{name}: merges[{rank}]"
        if type(pair) is not list or len(pair) != 2:
            raise FormatError(f"{where} must be [left id, right id], not {shown(pair)}")
        left, right = (take_id(part, where) for part in pair)
        merged_id = 256 + rank
        if left >= merged_id or right >= merged_id:
            raise FormatError(f"{where} refers forward to id {max(left, right)}; it may use ids below {merged_id}")
        if tokens[left] + tokens[right] != tokens[merged_id]:
            raise FormatError(
                f"{name}: vocab['{merged_id}'] is not the bytes of merges[{rank}]; one of them is damaged"
            )
        rows.append((left, right, merged_id))
    specials = take(file, "special_tokens", dict, name)
    if set(specials) != {SPECIAL} or type(specials[SPECIAL]) is not int or specials[SPECIAL] != n:
        raise FormatError(f"{name}: special_tokens must be exactly {{{SPECIAL!r}: {n}}}, not {shown(specials)}")
    _check_distinct(tokens, rows, name)
    return Model.from_tokens(
        tokens, rows, special_tokens=specials, pattern=GPT2, decode_errors="strict", training='{"profile":"bpetite"}'
    )


def _schema2(file: dict[str, Any], name: str) -> Model:
    unicode_version = take(file, "unicode_version", str, name)
    if unicode_version != UNICODE_VERSION:
        raise FormatError(
            f"{name}: unicode_version is {shown(unicode_version)}; this pairloom splits text by"
            f" {UNICODE_VERSION} and might give other ids: use the version that saved the file"
        )
    rule = _one_of(file, "rule", ("pairs", "ranks"), name)
    decode_errors = _one_of(file, "decode_errors", ("strict", "replace", "ignore"), name)
    ignore_merges = take(file, "ignore_merges", bool, name)
    lengths = take(file, "token_lengths", list, name)
    blob = _base64(take(file, "token_bytes", str, name), f"{name}: token_bytes")
    ids = _expand(take(file, "token_ids", list, name), len(lengths), f"{name}: token_ids")
    tokens: Tokens = {}
    start = 0
    previous = -1
    for index, (token_id, length) in enumerate(zip(ids, lengths, strict=True)):
        if type(length) is not int or length < 1 or start + length > len(blob):
            raise FormatError(f"{name}: token_lengths[{index}] is {shown(length)}; {len(blob) - start} bytes are left")
        if token_id <= previous:
            raise FormatError(f"{name}: token_ids has {token_id} after {previous}; ids ascend")
        tokens[token_id] = blob[start : start + length]
        start += length
        previous = token_id
    if start != len(blob):
        raise FormatError(f"{name}: token_bytes has {len(blob)} bytes but token_lengths add up to {start}")
    flat = take(file, "merges", list, name)
    if rule == "ranks" and flat:
        raise FormatError(f"{name}: rule 'ranks' has no merges, but {len(flat)} numbers are given; empty the list")
    if len(flat) % 2:
        raise FormatError(f"{name}: merges holds {len(flat)} numbers; it takes two for each merge")
    made_ids = _expand(take(file, "made_ids", list, name), len(flat) // 2, f"{name}: made_ids")
    rows: Rows = []
    for rank, merged_id in enumerate(made_ids):
        left, right = (take_id(flat[2 * rank + side], f"{name}: merges[{2 * rank + side}]") for side in (0, 1))
        if merged_id not in tokens:
            for part in (left, right):
                if part not in tokens:
                    raise FormatError(
                        f"{name}: merge {rank} uses id {part}, which is neither listed nor made by an earlier merge"
                    )
            tokens[merged_id] = tokens[left] + tokens[right]
            if len(tokens[merged_id]) > LONGEST_DERIVED:
                raise FormatError(
                    f"{name}: merge {rank} makes a token of {len(tokens[merged_id])} bytes;"
                    f" tokens above {LONGEST_DERIVED} bytes must be listed"
                )
        rows.append((left, right, merged_id))
    for rank, (left, right, merged_id) in enumerate(rows):
        for part in (left, right):
            if part not in tokens:
                raise FormatError(f"{name}: merge {rank} uses id {part}, which is no token")
        if tokens[left] + tokens[right] != tokens[merged_id]:
            raise FormatError(f"{name}: the bytes of id {merged_id} are not those of the parts of merge {rank}")
    _check_distinct(tokens, rows, name)
    specials = take(file, "special_tokens", dict, name)
    _check_specials(specials, tokens, name)
    added = take(file, "plain_specials", list, name)
    for literal in added:
        if type(literal) is not str or literal not in specials:
            raise FormatError(f"{name}: plain_specials holds {shown(literal)}, which is no special token")
    if added != sorted(set(added)):
        raise FormatError(f"{name}: plain_specials must ascend, each once")
    return Model.from_tokens(
        tokens,
        rows,
        rule=cast("MergeRule", rule),
        ignore_merges=ignore_merges,
        special_tokens=specials,
        pattern=_pattern(file["pattern"], name),
        decode_errors=cast("DecodeErrors", decode_errors),
        plain_specials=added,
        post_processor=_json_text(file, "post_processor", name),
        tokenizer_config=_json_text(file, "tokenizer_config", name),
        training=_json_text(file, "training", name),
        special_rules=_rules(take(file, "special_rules", list, name), specials, name)
        if "special_rules" in file
        else (),
        normalizer=tuple(take(file, "normalizer", list, name)) if "normalizer" in file else (),
    )


def _rules(texts: list[Any], specials: dict[str, int], name: str) -> list[tuple[str, str]]:
    literals, rules = texts[::2], texts[1::2]
    if len(texts) % 2 or not all(type(text) is str for text in texts):
        raise FormatError(f"{name}: special_rules holds {len(texts)} values; it takes two texts for each rule")
    if not (set(literals) <= specials.keys() and set(rules) <= set(SPECIAL_RULES)):
        raise FormatError(f"{name}: special_rules holds an unknown rule, or the rule of a literal that is unknown")
    return list(zip(literals, rules, strict=True))


def _json_text(file: dict[str, Any], key: str, name: str) -> str | None:
    if key not in file:
        return None
    text = take(file, key, str, name)
    value = parse(text.encode(), f"{name}: {key}")
    if type(value) is not dict or json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) != text:
        raise FormatError(f"{name}: {key} is not the canonical JSON of an object")
    return text


def _one_of(file: dict[str, Any], key: str, choices: Sequence[str], name: str) -> str:
    value = take(file, key, str, name)
    if value not in choices:
        raise FormatError(f"{name}: {key} must be one of {', '.join(map(repr, choices))}, not {shown(value)}")
    return value


def _base64(text: str, where: str) -> bytes:
    try:
        data = base64.b64decode(text.encode("ascii", "replace"), validate=True)
    except binascii.Error as error:
        raise FormatError(f"{where} is not base64: {error}") from None
    if base64.b64encode(data).decode() != text:
        raise FormatError(f"{where} is not base64 in its one canonical form; the file is damaged")
    return data


def _expand(runs: list[Any], n: int, where: str) -> list[int]:
    """The ids of the runs, which must be `n` in all: known before anything is expanded."""
    if len(runs) % 2:
        raise FormatError(f"{where} holds {len(runs)} numbers; it takes two for each run")
    left = n
    for index in range(0, len(runs), 2):
        first, count = take_id(runs[index], where), runs[index + 1]
        if type(count) is not int or not 1 <= count <= left or first + count - 1 > LARGEST_ID:
            raise FormatError(f"{where}[{index + 1}]: a run of {shown(count)} ids, where {left} are left of {n}")
        left -= count
    if left:
        raise FormatError(f"{where}: the runs hold {n - left} ids where {n} are needed")
    return [i for k in range(0, len(runs), 2) for i in range(runs[k], runs[k] + runs[k + 1])]


def _pattern(value: Any, name: str) -> Pattern:
    texts = [value] if type(value) is str else value
    if type(texts) is not list or not texts or not all(type(text) is str for text in texts):
        raise FormatError(f"{name}: pattern must be a string or a list of strings, not {shown(value)}")
    for text in texts:
        _check_text(text, f"{name}: pattern")
    return value if type(value) is str else tuple(texts)


def _check_text(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FormatError(f"{where} {shown(text)} holds a lone surrogate, which is not text") from None


def _check_specials(specials: dict[str, Any], tokens: Mapping[int, bytes], name: str) -> None:
    text_of: dict[int, str] = {}
    for text, token_id in specials.items():
        where = f"{name}: special_tokens[{shown(text)}]"
        if not text:
            raise FormatError(f"{where} is empty; a special token has at least one character")
        _check_text(text, f"{name}: special token")
        take_id(token_id, where)
        if token_id in text_of:
            raise FormatError(f"{where} has id {token_id}, as has {shown(text_of[token_id])}; ids are distinct")
        text_of[token_id] = text
        if tokens.get(token_id, text.encode()) != text.encode():
            raise FormatError(f"{where} has id {token_id}, which the vocabulary gives to {shown(tokens[token_id])}")


def _check_distinct(tokens: Mapping[int, bytes], rows: Rows, name: str) -> None:
    if len(set(tokens.values())) < len(tokens):
        id_of: dict[bytes, int] = {}
        for token_id, token in sorted(tokens.items()):
            if token in id_of:
                raise FormatError(f"{name}: ids {id_of[token]} and {token_id} have the same bytes {shown(token)}")
            id_of[token] = token_id
    if len({row[:2] for row in rows}) < len(rows):
        rank_of: dict[tuple[int, int], int] = {}
        for rank, (left, right, _) in enumerate(rows):
            if (left, right) in rank_of:
                raise FormatError(f"{name}: merges {rank_of[left, right]} and {rank} are the same pair; keep the first")
            rank_of[left, right] = rank
