"""The post-processor of a tokenizer.json, which puts special tokens such as BOS and EOS around one text or a pair.

It is given as the parsed JSON of that key; None adds nothing. ByteLevel changes offsets only.
"""

from collections.abc import Sequence
from typing import Any


def template_of(node: Any, is_pair: bool) -> list[str | int]:
    """Returns the template: "A" and "B" stand for the texts, numbers are ids of special tokens.

    >>> template_of({"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}, is_pair=True)
    [1, 'A', 2, 'B', 2]
    """
    plain: list[str | int] = ["A", "B"] if is_pair else ["A"]
    if node is None or node["type"] == "ByteLevel":
        return plain
    if node["type"] == "Sequence":
        found = [template_of(step, is_pair) for step in node["processors"]]
        return next((template for template in found if template != plain), plain)
    if node["type"] in ("BertProcessing", "RobertaProcessing"):
        begin, end = node["cls"][1], node["sep"][1]
        between = [end] if node["type"] == "BertProcessing" else [end, end]
        return [begin, "A", *between, "B", end] if is_pair else [begin, "A", end]
    template: list[str | int] = []
    for piece in node["pair" if is_pair else "single"]:
        if "Sequence" in piece:
            template.append(piece["Sequence"]["id"])
        else:
            template += node["special_tokens"][piece["SpecialToken"]["id"]]["ids"]
    return template


def surrounded(node: Any, ids: Sequence[int], pair: Sequence[int] | None = None) -> list[int]:
    """Returns the ids of a text or a pair, with the special tokens that the post-processor adds.

    >>> surrounded({"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}, [7, 8])
    [1, 7, 8, 2]
    """
    texts = {"A": list(ids), "B": list(pair or [])}
    result: list[int] = []
    for piece in template_of(node, pair is not None):
        result += texts[piece] if isinstance(piece, str) else [piece]
    return result
