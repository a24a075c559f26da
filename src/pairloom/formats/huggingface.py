"""HuggingFace's tokenizer.json for byte-level BPE, and the bridges to the library `tokenizers`.

Ids are those of `encode(text, add_special_tokens=False)`. The post_processor is kept in the Model and written to the
next tokenizer.json; so are truncation and padding, which encoding here does not apply. The file does not store
decode_errors. All added tokens become special tokens, also those that the file does not call special. What cannot be
expressed exactly is refused with the reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats import pretrained, ranks
from pairloom.formats.shared.added_tokens import check_assigned, read_added_tokens, write_added_tokens
from pairloom.formats.shared.byte_alphabet import ALPHABET, to_alphabet
from pairloom.formats.shared.json_text import check_keys, model_of, parse, shown, take
from pairloom.formats.shared.normalizer import read_normalizer, write_normalizer
from pairloom.formats.shared.post_processor import read_post_processor, write_post_processor
from pairloom.formats.shared.pre_tokenizer import read_splitters, write_splitters
from pairloom.formats.shared.special_entries import with_special_tokens
from pairloom.formats.shared.string_vocabulary import check_entries, merge_rows, ordinary_entries, token_columns
from pairloom.model import Model, canonical_json, config_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers

__all__ = ["FILE_NAME", "from_huggingface", "read", "sniff", "texts_of", "to_huggingface", "vocab_of", "write"]

FILE_NAME = "tokenizer.json"
"""The name by which the file goes in a folder."""

_FIRST_KEYS = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "model")
_KEYS = frozenset((*_FIRST_KEYS, "post_processor", "decoder"))
# unk_token, fuse_unk and byte_fallback say what becomes of a byte that is no token; the library itself refuses a file
# with other keys.
_MODEL_KEYS = frozenset(
    (
        *("type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk"),
        *("byte_fallback", "ignore_merges", "vocab", "merges"),
    )
)
_CARRIED = ("truncation", "padding")
_WHAT = "a tokenizer.json"


def sniff(head: bytes, path: Path) -> bool:
    """Whether the object's first key is one of a tokenizer.json's."""
    compact = head.lstrip(b" \t\r\n")[1:].lstrip(b" \t\r\n")
    return head.lstrip(b" \t\r\n").startswith(b"{") and compact.startswith(
        tuple(f'"{key}"'.encode() for key in _FIRST_KEYS)
    )


def read(
    data: bytes,
    name: str = "tokenizer.json",
    *,
    are_ordinary: bool = False,
    beside: pretrained.Companions | None = None,
) -> Model:
    """The Model of the file; messages call it `name`.

    are_ordinary: its special tokens stay text (`special_rules`). beside: what other files of the folder say.
    """
    # Fast path: the core reads the vocabulary and the merges of a file as it should be. Any other is read here, which
    # names what is wrong with it.
    taken = _core.TokenizerJson.read(data)
    model = taken and _read(taken[1], name, taken[0], are_ordinary, beside)
    if model is None:
        model = _read(data, name, None, are_ordinary, beside)
        assert model is not None
    if carried := config_of(model).get(pretrained.CARRIED):
        warn(f"{name} sets {' and '.join(carried)}: kept for the next {FILE_NAME}, not applied when encoding here")
    return model


def _read(
    data: bytes,
    name: str,
    vocabulary: _core.TokenizerJson | None,
    are_ordinary: bool = False,
    beside: pretrained.Companions | None = None,
) -> Model | None:
    """The Model of a file, or of one whose vocabulary and merges the core has read; None where the core leaves it."""
    file = parse(data, name)
    if type(file) is not dict:
        raise FormatError(f"{name}: a tokenizer.json is an object, not {shown(file)}")
    if "schema_version" in file:
        raise FormatError(
            f"{name}: this is a file in pairloom's own format, not a tokenizer.json; load it with Tokenizer.load(path)"
        )
    check_keys(file, _KEYS, name)
    bpe = take(file, "model", dict, name)
    _check_model(bpe, name)
    _check_around(file, name)
    where = f"{name}: model"
    vocab = {} if vocabulary else check_entries(take(bpe, "vocab", dict, where), where)
    pattern, prefix = read_splitters(file.get("pre_tokenizer"), name)
    forms = read_normalizer(file.get("normalizer"), name)
    entries = file.get("added_tokens") or []
    if beside:
        entries = pretrained.said_again(entries, beside)
    added = read_added_tokens(entries, name, forms, are_ordinary=are_ordinary)
    specials = added.ids
    ignore_merges = bpe.get("ignore_merges", False)
    if type(ignore_merges) is not bool:
        raise FormatError(f"{where}: ignore_merges must be true or false, not {shown(ignore_merges)}")
    if vocabulary is not None:
        check_assigned(specials, vocabulary.ids_of(list(specials)), len(vocabulary), name)
        columns = vocabulary.columns(list(specials.items()))
        if columns is None:
            return None
    else:
        check_assigned(specials, vocab, len(vocab), name)
        columns = _columns(bpe, vocab, specials, ignore_merges, where)
    post_processor = read_post_processor(file.get("post_processor"), name)
    carried = {key: take(file, key, dict, name) for key in _CARRIED if file.get(key) is not None}
    with model_of(name):
        model = Model.from_columns(
            columns,
            ignore_merges=ignore_merges,
            special_tokens=specials,
            pattern=pattern,
            decode_errors="replace",
            plain_specials=added.plain,
            post_processor=post_processor,
            tokenizer_config=canonical_json({pretrained.CARRIED: carried}) if carried else None,
            special_rules=added.rules,
            normalizer=(*forms, "prefix_space") if prefix else forms,
        )
    return model.one_form()


def _columns(
    bpe: dict[str, Any], vocab: dict[str, int], specials: dict[str, int], ignore_merges: bool, where: str
) -> _core.ModelColumns:
    """The tokens and merges of a vocabulary and merges as the file has them."""
    rows = _merges(take(bpe, "merges", list, where), vocab, f"{where}: merges")
    ordinary = ordinary_entries(vocab, specials, rows, where)
    columns = token_columns(ordinary, where)
    if ignore_merges:
        # A token that is not written in the alphabet is never met in a text there, and its own text would be here.
        characters = frozenset(ALPHABET)
        foreign = next((text for text in ordinary if not characters.issuperset(text)), None)
        if foreign is not None:
            raise FormatError(f"{where}: token {shown(foreign)} is not written in the GPT-2 byte alphabet")
    with model_of(where):
        return _core.ModelColumns(**columns, merges=rows, ranks=False)


def _check_model(bpe: dict[str, Any], name: str) -> None:
    kind = bpe.get("type", "BPE")
    if kind != "BPE":
        raise FormatError(f"{name}: model: type {shown(kind)} is no byte-level BPE; only BPE can be expressed")
    check_keys(bpe, _MODEL_KEYS, f"{name}: model")
    for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if bpe.get(key) not in (None, "", 0, 0.0):
            raise FormatError(f"{name}: model: {key} is {shown(bpe[key])}, which cannot be expressed")


def _check_around(file: dict[str, Any], name: str) -> None:
    """Refuses what changes the text or the ids outside of the model."""
    decoder = file.get("decoder")
    steps = decoder.get("decoders") if type(decoder) is dict and decoder.get("type") == "Sequence" else [decoder]
    if decoder is not None and [type(s) is dict and s.get("type") for s in steps or []] != ["ByteLevel"]:
        raise FormatError(f"{name}: decoder {shown(decoder)} is not ByteLevel, which byte-level BPE is decoded by")


def _merges(merges: list[Any], vocab: dict[str, int], where: str) -> npt.NDArray[np.uint32]:
    """The rows of merges that are written "left right" or [left, right]."""
    pairs = [merge.split(" ") if type(merge) is str else merge for merge in merges]
    for rank, pair in enumerate(pairs):
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not str:
            raise FormatError(f"{where}[{rank}] must be two tokens, not {shown(merges[rank])}")
    lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
    return merge_rows(lefts, rights, vocab, lambda rank: f"{where}[{rank}]")


def write(model: Model, indent: int | None = None) -> bytes:
    """The file; raises FormatError where no tokenizer.json gives the same ids for every text."""
    rows = model.merges if model.rule == "pairs" else ranks.pairs(model)
    text_of = {token_id: to_alphabet(token) for token_id, token in model.tokens().items()}
    added, entries = write_added_tokens(model.special_tokens, model.plain_specials, text_of, model.special_rules)
    vocab = with_special_tokens(text_of, entries, _WHAT)
    carried = config_of(model).get(pretrained.CARRIED)
    file = {
        "version": "1.0",
        **{key: carried.get(key) if isinstance(carried, dict) else None for key in _CARRIED},
        "added_tokens": added,
        "normalizer": write_normalizer(model.normalizer),
        "pre_tokenizer": write_splitters(model.pattern, "prefix_space" in model.normalizer),
        "post_processor": write_post_processor(model.post_processor),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.ignore_merges,
            "vocab": dict(sorted(vocab.items(), key=lambda entry: entry[1])),
            "merges": [f"{text_of[left]} {text_of[right]}" for left, right, _ in rows.tolist()],
        },
    }
    separators = (",", ":") if indent is None else None
    return json.dumps(file, ensure_ascii=False, indent=indent, separators=separators).encode()


def vocab_of(model: Model) -> dict[str, int]:
    """All tokens -> ids by ascending id: in the byte alphabet, special tokens as their text."""
    return {text: token_id for token_id, text in texts_of(model).items()}


def texts_of(model: Model) -> dict[int, str]:
    """All ids, ascending -> tokens, written as in `vocab_of`: two may be written alike."""
    entries = {token_id: to_alphabet(token) for token_id, token in model.tokens().items()}
    entries.update((token_id, literal) for literal, token_id in model.special_tokens.items())
    return dict(sorted(entries.items()))


def to_huggingface(model: Model) -> tokenizers.Tokenizer:
    """A tokenizers.Tokenizer that gives the same ids; FormatError where there is none, ImportError without it."""
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError("this needs tokenizers: pip install pairloom[huggingface]") from error
    rules = tuple(rule for rule in model.special_rules if rule[1] != "ordinary")
    made = tokenizers.Tokenizer.from_str(write(model.replaced(special_rules=rules)).decode())
    ordinary = {literal for literal, rule in model.special_rules if rule == "ordinary"}
    if ordinary:
        if ordinary != model.special_tokens.keys() - model.plain_specials:
            raise FormatError(
                "a tokenizers.Tokenizer takes all of its special tokens for text or none; save as 'pairloom'"
            )
        made.encode_special_tokens = True
    return made


def from_huggingface(source: Any) -> Model:
    """The Model of a tokenizers.Tokenizer, of a fast tokenizer of transformers, or of a path.

    The path is that of a tokenizer.json or of a folder with one in it.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            file, beside = path / FILE_NAME, pretrained.read(path)
            return pretrained.apply(read(file.read_bytes(), str(file), beside=beside), beside, str(path))
        return read(path.read_bytes(), str(path))
    backend = getattr(source, "backend_tokenizer", source)
    if not hasattr(backend, "to_str"):
        raise TypeError(f"source must be a tokenizers.Tokenizer or a path, not {type(source).__name__}")
    name = f"the {type(source).__name__}"
    # transformers sets the one by the other whenever it encodes.
    flags = ((backend, "encode_special_tokens"), (source, "split_special_tokens"))
    are_ordinary = any(getattr(holder, flag, False) is True for holder, flag in flags)
    model = read(backend.to_str().encode(), name, are_ordinary=are_ordinary)
    return pretrained.apply(model, pretrained.settings_of(source), name)
