"""Writes HuggingFace's tokenizer.json, and converts to and from objects of the library `tokenizers`.

Ids are those of `encode(text, add_special_tokens=False)`. The Model keeps the post_processor, truncation and padding
for the next tokenizer.json; encoding here does not apply truncation and padding. The file does not store
decode_errors. All added tokens become special tokens, even those that the file does not mark as special. A tokenizer
that cannot be expressed exactly is refused with the reason.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pairloom._internal.byte_alphabet import to_alphabet
from pairloom._internal.optional_deps import import_optional
from pairloom.errors import FormatError
from pairloom.formats import pretrained, ranks
from pairloom.formats.reader import read
from pairloom.formats.shared import characters
from pairloom.formats.shared.added_tokens import with_special_tokens, write_added_tokens
from pairloom.formats.shared.pre_tokenizer import write_normalizer, write_splitters, write_words
from pairloom.model import CHARACTERS, KEPT_TOKENIZER_JSON, Model, config_of

if TYPE_CHECKING:
    import tokenizers

FILE_NAME = "tokenizer.json"
"""The file's name in a model folder."""

_KEPT_KEYS = ("truncation", "padding")
_WORD_END, _SPACE = "</w>", to_alphabet(b" ")
_FILE_KIND = "a tokenizer.json"


def write(model: Model, indent: int | None = None) -> bytes:
    """Returns the file's bytes. Raises FormatError if no tokenizer.json gives the same ids for every text."""
    is_characters = model.pattern == CHARACTERS
    settings = characters.settings(model) if is_characters else _settings(model)
    rows = ranks.pairs(model) if model.rule == "ranks" else model.merges
    unknown, is_fused = model.unknown or (None, False)
    text_of, added, vocab = _vocabulary(model)
    has_word_ends = not is_characters and model.words is not None
    kept = config_of(model).get(KEPT_TOKENIZER_JSON)
    file = {
        "version": "1.0",
        **{key: kept.get(key) if isinstance(kept, dict) else None for key in _KEPT_KEYS},
        "added_tokens": added,
        "normalizer": settings["normalizer"],
        "pre_tokenizer": settings["pre_tokenizer"],
        "post_processor": model.post_processor and json.loads(model.post_processor),
        "decoder": settings["decoder"],
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if unknown is None else text_of[unknown],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": _WORD_END if has_word_ends else None,
            "fuse_unk": is_fused,
            "byte_fallback": is_characters and unknown is None,
            "ignore_merges": model.ignore_merges,
            "vocab": vocab,
            # The file has no separate token for the end of a word, so skip the merges with it.
            "merges": [
                f"{text_of[left]} {text_of[right]}"
                for left, right, _ in rows.tolist()
                if not (has_word_ends and text_of[right] == _SPACE)
            ],
        },
    }
    separators = (",", ":") if indent is None else None
    return json.dumps(file, ensure_ascii=False, indent=indent, separators=separators).encode()


def _vocabulary(model: Model) -> tuple[dict[int, str], list[dict[str, Any]], dict[str, int]]:
    """Returns the ordinary tokens by id, the file's added tokens, and its vocabulary in ascending order of ids."""
    is_characters = model.pattern == CHARACTERS
    text_of = _spelled(model)
    if model.unknown is not None:
        text_of[model.unknown[0]] = texts_of(model)[model.unknown[0]]
    specials = model.special_tokens, model.plain_specials, text_of, model.special_rules
    added, entries = write_added_tokens(*specials, is_alphabet=not is_characters)
    vocab = with_special_tokens(text_of, entries, _FILE_KIND)
    return text_of, added, dict(sorted(vocab.items(), key=lambda entry: entry[1]))


def vocab_without_added(model: Model) -> dict[str, int]:
    """Returns the vocabulary that `write` writes: of the special tokens, only those that need it to keep their ids."""
    return _vocabulary(model.replaced(special_rules=()))[2]


def _settings(model: Model) -> dict[str, Any]:
    """Returns the values of "normalizer", "pre_tokenizer" and "decoder" for byte-level BPE."""
    return {
        "normalizer": write_normalizer(model.normalizer),
        "pre_tokenizer": write_splitters(model.pattern, "prefix_space" in model.normalizer)
        if model.words is None
        else write_words(model.words, is_byte_level=True),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    }


def texts_of(model: Model) -> dict[int, str]:
    """Returns all ids -> tokens in ascending order, spelled as in a tokenizer.json; special tokens are their text.

    Two tokens can have one spelling.
    """
    entries = _spelled(model)
    entries.update((token_id, literal) for literal, token_id in model.special_tokens.items())
    return dict(sorted(entries.items()))


def _spelled(model: Model) -> dict[int, str]:
    """Returns the ordinary tokens as a tokenizer.json spells them."""
    spelled = characters.spell if model.pattern == CHARACTERS else to_alphabet
    if model.words is not None and model.pattern != CHARACTERS:
        spelled = _spell_word
    return {token_id: spelled(token) for token_id, token in model.tokens().items()}


def _spell_word(token: bytes) -> str:
    """Spells a token of CLIP, where a space at the end of a token ends a word."""
    word = token[:-1]
    return to_alphabet(word) + _WORD_END if word and token[-1:] == b" " else to_alphabet(token)


def to_huggingface(model: Model) -> tokenizers.Tokenizer:
    """Returns a tokenizers.Tokenizer with the same ids. FormatError if none has; ImportError without the library."""
    library = import_optional("tokenizers", "to_huggingface")
    rules = tuple(rule for rule in model.special_rules if rule[1] != "ordinary")
    made: tokenizers.Tokenizer = library.Tokenizer.from_str(write(model.replaced(special_rules=rules)).decode())
    ordinary = {literal for literal, rule in model.special_rules if rule == "ordinary"}
    if ordinary:
        if ordinary != model.special_tokens.keys() - model.plain_specials:
            raise FormatError(
                "a tokenizers.Tokenizer encodes either all of its special tokens as text or none of them; save as "
                "'pairloom'"
            )
        made.encode_special_tokens = True
    return made


def undeclared_specials(backend: Any) -> dict[int, Any]:
    """Returns the added tokens that `backend` skips when decoding although its file does not call them special.

    It remembers whether a token was ever added as special; adding it again changes only its other settings.
    """
    return {
        token_id: added
        for token_id, added in getattr(backend, "get_added_tokens_decoder", dict)().items()
        # A decoder can turn a token into no text without skipping it, so compare with decoding unskipped.
        if not added.special and backend.decode([token_id]) == "" != backend.decode([token_id], False)
    }


def from_huggingface(source: Any) -> Model:
    """Makes the Model from a tokenizers.Tokenizer or a fast transformers tokenizer."""
    backend = getattr(source, "backend_tokenizer", source)
    if not hasattr(backend, "to_str"):
        raise TypeError(f"source must be a tokenizers.Tokenizer or a path, not {type(source).__name__}")
    name = f"the {type(source).__name__}"
    # transformers sets encode_special_tokens from split_special_tokens whenever it encodes, so look at both.
    flags = ((backend, "encode_special_tokens"), (source, "split_special_tokens"))
    are_ordinary = any(getattr(holder, flag, False) is True for holder, flag in flags)
    data = backend.to_str()
    if special := undeclared_specials(backend):
        file = json.loads(data)
        for entry in file["added_tokens"]:
            entry["special"] |= entry["id"] in special
        data = json.dumps(file)
    model = read("huggingface", data.encode(), name, are_ordinary=are_ordinary)
    return pretrained.apply(model, pretrained.settings_of(source), name)
