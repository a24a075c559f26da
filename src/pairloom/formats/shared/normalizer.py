"""Writes the normalizer of a tokenizer.json: Unicode normalisation forms, alone or in a sequence."""

from __future__ import annotations

from typing import Any

from pairloom.model import DROP_STEP

__all__ = ["write_normalizer"]


def write_normalizer(steps: tuple[str, ...]) -> Any:
    """The value of the key `normalizer`; a space before the text is the pre-tokenizer's, and missing bytes are left out
    anyway."""
    nodes = [{"type": step.upper()} for step in steps if step not in ("prefix_space", DROP_STEP)]
    return None if not nodes else nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}
