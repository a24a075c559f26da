"""Runs the post_processor of a tokenizer.json, which puts special tokens around the ids of one text or a pair.

Defined in `reference.post_processor`. Supports ByteLevel (offsets only), TemplateProcessing, BertProcessing,
RobertaProcessing, and a Sequence with at most one of the last three.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairloom.errors import FormatError


@dataclass(frozen=True, slots=True)
class Text:
    """A template's placeholder for a text; index 0 is the first text, 1 the second."""

    index: int
    type_id: int


@dataclass(frozen=True, slots=True)
class Special:
    """Special tokens that a template inserts."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    type_id: int


Template = tuple[Text | Special, ...]


@dataclass(frozen=True, slots=True)
class PostProcessor:
    """The templates for one text and for a pair, and how offsets are trimmed.

    trims: one entry for each step that trims spaces off the offsets: its add_prefix_space, which treats the first space
    of a text as added.
    types_overflowing: whether the parts that truncation cut off get the type ids of their text, too.
    """

    single: Template
    pair: Template
    trims: tuple[bool, ...] = ()
    types_overflowing: bool = False

    def n_added(self, is_pair: bool) -> int:
        """Returns the number of special tokens that it adds."""
        return sum(len(piece.ids) for piece in (self.pair if is_pair else self.single) if isinstance(piece, Special))

    def surrounded(self, ids: Sequence[int], pair: Sequence[int] | None = None, adds: bool = True) -> list[int]:
        """Returns the ids with the special tokens around them, or only in the template's order unless `adds`."""
        found: list[int] = []
        for piece in self.single if pair is None else self.pair:
            if isinstance(piece, Special):
                found += piece.ids if adds else ()
            else:
                found += ids if piece.index == 0 else pair or []
        return found


PLAIN = PostProcessor((Text(0, 0),), (Text(0, 0), Text(1, 1)))


def post_processor_of(text: str | None) -> PostProcessor:
    """Parses the post-processor that a Model keeps as JSON; FormatError for a type that pairloom does not know."""
    if text is None:
        return PLAIN
    try:
        return _read(json.loads(text))
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FormatError(
            f"the post-processor {text[:200]} cannot be applied: it lacks {error}; drop it with "
            "without_post_processor()"
        ) from None


def _read(node: Any) -> PostProcessor:
    kind = node["type"]
    if kind == "ByteLevel":
        trimmed = (node.get("add_prefix_space", True),) if node.get("trim_offsets", True) else ()
        return PostProcessor(PLAIN.single, PLAIN.pair, trimmed)
    if kind == "TemplateProcessing":
        return _template(node)
    if kind in ("BertProcessing", "RobertaProcessing"):
        return _surrounding(node)
    if kind != "Sequence":
        raise FormatError(
            f"post-processor {kind!r} is not supported (only ByteLevel, TemplateProcessing, BertProcessing, "
            "RobertaProcessing and Sequence); drop it with without_post_processor()"
        )
    steps = [_read(step) for step in node["processors"]]
    adding = [step for step in steps if (step.single, step.pair) != (PLAIN.single, PLAIN.pair)]
    if len(adding) > 1:
        raise FormatError("a post-processor that adds special tokens twice is not supported; keep one of the steps")
    main = adding[0] if adding else PLAIN
    trims: tuple[bool, ...] = tuple(trim for step in steps for trim in step.trims)
    return PostProcessor(main.single, main.pair, trims, main.types_overflowing)


def _template(node: Any) -> PostProcessor:
    known = node["special_tokens"]

    def piece_of(piece: Any) -> Text | Special:
        if "Sequence" in piece:
            return Text("AB".index(piece["Sequence"]["id"]), piece["Sequence"]["type_id"])
        special = piece["SpecialToken"]
        token = known[special["id"]]
        return Special(tuple(token["ids"]), tuple(token["tokens"]), special["type_id"])

    single, pair = (tuple(map(piece_of, node[key])) for key in ("single", "pair"))
    for piece in (*single, *pair):
        if isinstance(piece, Special) and not all(type(token_id) is int for token_id in piece.ids):
            raise TypeError("ids")
    return PostProcessor(single, pair)


def _surrounding(node: Any) -> PostProcessor:
    is_bert = node["type"] == "BertProcessing"
    (begin, begin_id), (end, end_id) = node["cls"], node["sep"]
    second = 1 if is_bert else 0
    first_special, last_special = Special((begin_id,), (begin,), 0), Special((end_id,), (end,), 0)
    between = (last_special,) if is_bert else (last_special, last_special)
    trims: tuple[bool, ...] = (
        (node.get("add_prefix_space", True),) if not is_bert and node.get("trim_offsets", True) else ()
    )
    return PostProcessor(
        (first_special, Text(0, 0), last_special),
        (first_special, Text(0, 0), *between, Text(1, second), Special((end_id,), (end,), second)),
        trims,
        types_overflowing=not is_bert,
    )
