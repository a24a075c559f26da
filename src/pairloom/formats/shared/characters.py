"""Writes the tokenizer.json settings of tokenizers whose merging starts with characters, such as SentencePiece's."""

from typing import Any

from pairloom.errors import FormatError
from pairloom.formats.shared.pre_tokenizer import write_normalizer, write_words
from pairloom.model import KEPT_TOKENIZER_JSON, UNKNOWN, UNKNOWN_EACH, Model, config_of

_SYMBOL = "\u2581"
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": _SYMBOL}
_UNDO = {"type": "Replace", "pattern": {"String": _SYMBOL}, "content": " "}
_SCHEMES = {"prefix_space": "always", "first_prefix": "first"}


def splits_words(model: Model) -> bool:
    """Returns whether a Metaspace splits the text into words, as in the tokenizer.json that the model was read from."""
    kept = config_of(model).get(KEPT_TOKENIZER_JSON)
    return isinstance(kept, dict) and "pre_tokenizer" in kept


def spell(token: bytes) -> str:
    """Spells the token as in the file, with U+2581 for a space."""
    return token.decode().replace(" ", _SYMBOL)


def settings(model: Model) -> dict[str, Any]:
    """Returns the values of "normalizer", "pre_tokenizer" and "decoder". FormatError if the ids would differ."""
    if model.rule != "pairs":
        raise FormatError(
            "a tokenizer.json merges pairs in the order of a list, but SentencePiece merges the leftmost pair of "
            "those with equal scores, so some texts would get other ids; save as 'pairloom', or load the "
            "tokenizer.json published with the model"
        )
    if model.words is not None:
        return {
            "normalizer": write_normalizer(model.normalizer),
            "pre_tokenizer": write_words(model.words, is_byte_level=False),
            "decoder": None,
        }
    own = ("spaces", "dummy_prefix", *_SCHEMES)
    forms = tuple(step for step in model.normalizer if not step.startswith((*own, UNKNOWN, UNKNOWN_EACH)))
    if "spaces" not in model.normalizer or any(
        step not in ("nfc", "nfd", "nfkc", "nfkd", "lowercase") for step in forms
    ):
        raise FormatError(
            f"a tokenizer.json cannot express the normalizer {model.normalizer_names}; save as 'pairloom'"
        )
    never = "never" if splits_words(model) else None
    scheme = next((_SCHEMES[step] for step in model.normalizer if step in _SCHEMES), never)
    steps = [] if not forms else [write_normalizer(forms)]
    if "dummy_prefix" in model.normalizer:
        steps.append({"type": "Prepend", "prepend": _SYMBOL})
    if scheme is None or "dummy_prefix" in model.normalizer:
        steps.append(_REPLACE)
    has_prefix = not {"dummy_prefix", *_SCHEMES}.isdisjoint(model.normalizer)
    undo = [_UNDO, {"type": "ByteFallback"}, {"type": "Fuse"}]
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if has_prefix else []
    metaspace = {"type": "Metaspace", "replacement": _SYMBOL, "prepend_scheme": scheme, "split": splits_words(model)}
    return {
        "normalizer": None
        if not steps
        else steps[0]
        if len(steps) == 1
        else {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": metaspace if scheme else None,
        "decoder": {"type": "Sequence", "decoders": [*undo, *strip]},
    }
