"""The post_processor of a tokenizer.json: what HuggingFace adds around a text on request, such as BOS and EOS.

It does not affect pairloom's ids, which are those of `encode(text, add_special_tokens=False)`. So a Model keeps it as
JSON text for the next tokenizer.json, and formats that cannot store it refuse the model.
"""

import json
from typing import Any

from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import Model


def write_post_processor(post_processor: str | None) -> Any:
    """Returns the value of a tokenizer.json's key `post_processor`."""
    return None if post_processor is None else json.loads(post_processor)


def adds_ids(post_processor: str | None) -> bool:
    """Returns whether it can add ids to a text. ByteLevel cannot: it only trims offsets in HuggingFace's library."""
    node = write_post_processor(post_processor)
    steps = node.get("processors") if node is not None and node.get("type") == "Sequence" else [node]
    return node is not None and not (
        isinstance(steps, list) and all(isinstance(step, dict) and step.get("type") == "ByteLevel" for step in steps)
    )


def check_none(model: Model, what: str) -> None:
    """Raises FormatError if the model has what `what` cannot hold: a normalizer, rules for special tokens, or a
    post-processor that adds ids.
    """
    if model.normalizer:
        raise FormatError(
            f"{what} cannot store the normalizer {', '.join(model.normalizer_names)}; save as 'huggingface' or"
            " 'pairloom', or drop it first: tokenizer.with_normalizer(None)"
        )
    if model.special_rules:
        literal, rule = model.special_rules[0]
        raise FormatError(
            f"{what} cannot store the rule {rule!r} of special token {shown(literal)}; save as 'huggingface' or"
            " 'pairloom'"
        )
    if adds_ids(model.post_processor):
        raise FormatError(
            f"{what} cannot store the post-processor {shown(model.post_processor)}; save as 'huggingface' or "
            "'pairloom', or drop it first: tokenizer.without_post_processor()"
        )
