"""Refuses models that a format cannot store because of their normalizer, rules for special tokens or post-processor."""

from pairloom._internal.arguments import shown
from pairloom.errors import FormatError
from pairloom.model import CHARACTERS, Model


def check_none(model: Model, what: str) -> None:
    """Raises FormatError if the model has what `what` cannot hold: a normalizer, rules for special tokens, or a
    post-processor that adds ids.
    """
    if model.pattern == CHARACTERS:
        raise FormatError(f"{what} cannot store a tokenizer that merges characters; save as 'pairloom'")
    if model.normalizer:
        raise FormatError(
            f"{what} cannot store the normalizer {', '.join(model.normalizer_names)}; save as 'huggingface' or"
            " 'pairloom', or drop it first: tokenizer.with_normalizer(None)"
        )
    if model.special_rules:
        literal, rule = model.special_rules[0]
        others = "'pairloom'" if "ordinary" in dict(model.special_rules).values() else "'huggingface' or 'pairloom'"
        raise FormatError(f"{what} cannot store the rule {rule!r} of special token {shown(literal)}; save as {others}")
    # Imported here because it is slow to import.
    from pairloom.post_processing import PLAIN, post_processor_of

    found = post_processor_of(model.post_processor)
    if (found.single, found.pair) != (PLAIN.single, PLAIN.pair):
        raise FormatError(
            f"{what} cannot store the post-processor {shown(model.post_processor)}; save as 'huggingface' or "
            "'pairloom', or drop it first: tokenizer.without_post_processor()"
        )
