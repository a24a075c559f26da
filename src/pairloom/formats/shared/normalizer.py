"""Writes the normalizer of a tokenizer.json: Unicode normalisation forms and lower case, alone or in a sequence."""

from typing import Any

from pairloom.model import DROP_STEP, UNKNOWN, UNKNOWN_EACH, WORDS


def write_normalizer(steps: tuple[str, ...]) -> Any:
    """The value of the key `normalizer`; the other steps are the pre-tokenizer's and the model's."""
    others = ("prefix_space", DROP_STEP, UNKNOWN, UNKNOWN_EACH, WORDS)
    nodes = [
        {"type": "Lowercase" if step == "lowercase" else step.upper()} for step in steps if not step.startswith(others)
    ]
    return None if not nodes else nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}
