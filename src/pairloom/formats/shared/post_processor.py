"""The post_processor of a tokenizer.json: what HuggingFace adds around a text on request, such as BOS and EOS.

It does not change the ids of `encode(text, add_special_tokens=False)`, which are pairloom's. So a Model keeps it as
JSON text for the next tokenizer.json, and formats that cannot store it refuse the model.
"""

import json
from typing import Any

from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import Model


def write_post_processor(post_processor: str | None) -> Any:
    """The value of the key `post_processor` of a tokenizer.json."""
    return None if post_processor is None else json.loads(post_processor)


def adds_ids(post_processor: str | None) -> bool:
    """Whether it may add ids to a text; a ByteLevel one only trims the offsets that HuggingFace gives."""
    node = write_post_processor(post_processor)
    steps = node.get("processors") if node is not None and node.get("type") == "Sequence" else [node]
    return node is not None and not (
        isinstance(steps, list) and all(isinstance(step, dict) and step.get("type") == "ByteLevel" for step in steps)
    )


def check_none(model: Model, what: str) -> None:
    """Raises FormatError where the model has what `what` has not: a normaliser, rules of special tokens, or a
    post-processor that adds ids.
    """
    if model.normalizer:
        raise FormatError(
            f"{what} cannot hold the normalizer {', '.join(model.normalizer_names)}; save as 'huggingface' or"
            " 'pairloom', or drop it first: tokenizer.with_normalizer(None)"
        )
    if model.special_rules:
        literal, rule = model.special_rules[0]
        raise FormatError(
            f"{what} cannot say that special token {shown(literal)} has the rule {rule!r}; save as 'huggingface' or"
            " 'pairloom'"
        )
    if adds_ids(model.post_processor):
        raise FormatError(
            f"{what} cannot hold the post-processor {shown(model.post_processor)}; save as 'huggingface' or 'pairloom',"
            " or drop it first: tokenizer.without_post_processor()"
        )
