"""Writes the normalizer of a tokenizer.json: Unicode normalisation forms, alone or in a sequence."""

from __future__ import annotations

from typing import Any

__all__ = ["write_normalizer"]


def write_normalizer(steps: tuple[str, ...]) -> Any:
    """The value of the key `normalizer`; a space before the text is the pre-tokenizer's."""
    nodes = [{"type": step.upper()} for step in steps if step != "prefix_space"]
    return None if not nodes else nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}
