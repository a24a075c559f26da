"""The normalizer of a tokenizer.json: Unicode normalisation forms, alone or in a sequence.

Others (Lowercase, Strip, Replace, Prepend, ...) are refused by name.
"""

from __future__ import annotations

from typing import Any

from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import shown, take

__all__ = ["is_unchanged", "read_normalizer", "write_normalizer"]

_FORMS = {"NFC": "nfc", "NFD": "nfd", "NFKC": "nfkc", "NFKD": "nfkd"}
_NAMES = {form: name for name, form in _FORMS.items()}
# Of ASCII, NFC makes ";", "`" and "K" of other characters, and joins marks that follow to letters and to "<=>".
_INERT = frozenset(map(chr, range(128))) - frozenset("K;`")
_JOINED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz<=>")
_MOST_NESTED = 8


def read_normalizer(node: Any, name: str) -> tuple[str, ...]:
    """The steps of a normalizer; FormatError for one that is no Unicode form."""
    steps = tuple(_steps(node, name, 0))
    if len(steps) > len(_FORMS):
        raise FormatError(f"{name}: normalizer has {len(steps)} steps; at most {len(_FORMS)} are allowed")
    return steps


def _steps(node: Any, name: str, depth: int) -> list[str]:
    if node is None:
        return []
    if type(node) is not dict or depth > _MOST_NESTED:
        raise FormatError(f"{name}: normalizer must be an object or null, not {shown(node)}")
    kind = take(node, "type", str, f"{name}: normalizer")
    if kind == "Sequence":
        parts = take(node, "normalizers", list, f"{name}: normalizer")
        return [step for part in parts for step in _steps(part, name, depth + 1)]
    if kind not in _FORMS:
        raise FormatError(
            f"{name}: normalizer {shown(kind)} changes the text before it is split in a way that pairloom does not know"
            f" (it knows {', '.join(_FORMS)}): change texts so yourself and set normalizer to null"
        )
    return [_FORMS[kind]]


def write_normalizer(steps: tuple[str, ...]) -> Any:
    """The value of the key `normalizer`; a space before the text is the pre-tokenizer's."""
    nodes = [{"type": _NAMES[step]} for step in steps if step in _NAMES]
    return None if not nodes else nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}


def is_unchanged(literal: str, forms: tuple[str, ...]) -> bool:
    """Whether the forms neither make nor unmake an occurrence of the literal, whatever the text."""
    is_inert = _INERT.issuperset(literal) and literal[-1] not in _JOINED
    return not forms or (set(forms) <= {"nfc", "nfd"} and is_inert)
